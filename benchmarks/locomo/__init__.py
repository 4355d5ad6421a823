"""Retrieval benchmark: evidence recall of questions about conversations, and its cost."""
