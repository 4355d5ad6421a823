"""Extraction of memories from a transcript: two engines behind one contract."""
