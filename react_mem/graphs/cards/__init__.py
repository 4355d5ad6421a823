"""Cards of recalled and stored memories, for a chat that shows components of the server."""
