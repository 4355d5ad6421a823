"""Branches of a conversation, left by an edit, a regenerated answer or a former checkpoint, perhaps to return later."""
