"""Merging, deduplication and entity resolution: new records against known ones, for facts, episodes and concepts."""
