"""Stateless chat summary: from a conversation to its summary and a standalone wording of the newest message."""
