"""Finding what a question needs: what it says, how near a memory is, and which come first."""
