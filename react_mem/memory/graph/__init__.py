"""The meta graph: memories as nodes, and links between them: what supports what, what follows on what."""
