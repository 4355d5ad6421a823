"""Facts shown with what they are linked with: 40 conversations, and 120 questions of which half need a link."""
