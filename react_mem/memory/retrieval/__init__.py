"""Retrieval for a question: graph links, standing instructions, outline, reranking, and stores without an index."""
