"""Cards of what was recalled and remembered, for a chat that shows components of the server's."""
