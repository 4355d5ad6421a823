"""Hierarchical summaries of a conversation: messages become summaries, summaries become higher ones, up to a master."""

from react_mem.memory.summaries.chain import ChainEntry, ContextChain, shown

__all__ = ["ChainEntry", "ContextChain", "shown"]
