"""Branches of a conversation, left by an edit, a regenerated answer or an earlier checkpoint, perhaps to return later.

Each message knows its predecessor, so that the messages of a conversation form a tree. The current branch is the path
to the latest message; messages off the path, and facts that only they support, are not believed. Messages removed from
the thread stay on the path: trimming retracts nothing.
"""
