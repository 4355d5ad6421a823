"""Cut of irrelevant facts: 60 facts of one user, and 120 questions that need none to three of them."""
