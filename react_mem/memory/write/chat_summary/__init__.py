"""The stateless chat summary: a conversation in, its summary and the standalone wording of the newest message out."""
