"""Retrieval for a question: graph links, relevance, standing instructions, reranking, and stores without an index."""
