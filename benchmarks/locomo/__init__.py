"""Retrieval, measured: does a question find the turns that hold its answer, and what does that cost."""
