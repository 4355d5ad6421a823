"""Skills as files that agents read, and back."""
