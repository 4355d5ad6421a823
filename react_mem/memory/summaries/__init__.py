"""Hierarchical summaries of a conversation: messages become summaries, summaries become higher ones, up to a master."""
