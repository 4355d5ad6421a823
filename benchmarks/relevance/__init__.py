"""Cut of what is relevant: 60 facts of one user, and 120 questions that need none to three of them."""
