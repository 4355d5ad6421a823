"""The meta graph: memories as nodes, and how they hang together: what supports what, what follows on what."""
