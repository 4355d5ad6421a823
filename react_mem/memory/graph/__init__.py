"""The meta graph: memories as nodes, with links for support, order and similarity."""
