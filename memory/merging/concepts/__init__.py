"""Concepts: who and what a user's facts are about, under one name each whatever they are called.

They follow the facts in the same batch; what names alone do not tell, a background run settles.
"""

from react_mem.memory.merging.concepts.concept_store import (
    concept_changes,
    concepts_without,
    find_concepts,
    load_concepts,
    merge,
    refresh_concepts,
    unmerge,
)

__all__ = [
    "Alias",
    "Concept",
    "Merge",
    "concept_changes",
    "concepts_without",
    "find_concepts",
    "load_concepts",
    "merge",
    "refresh_concepts",
    "unmerge",
]
