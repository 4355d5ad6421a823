"""Branches of a conversation: an edit, another answer or an earlier checkpoint leave one behind, and may return to it.

Each message knows the one before it, so that a conversation's messages form a tree. What is said now stands on its
ancestors; a message that does not is on a branch that is no longer followed, and what only such messages say is not
believed. Messages that were removed from the thread are ancestors all the same: trimming retracts nothing.
"""
