"""Retrieval from one user's long chats with an assistant: the harness of LoCoMo on the questions of BEAM."""
