"""The memory page: its document, its parts, and the command that opens it."""
