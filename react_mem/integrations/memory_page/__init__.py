"""The memory page: its document, its parts, and how a developer opens it."""
