"""Concepts by the names that they go by."""

from __future__ import annotations

from langgraph.store.base import BaseStore

from react_mem.memory.language.folding import name_key
from react_mem.memory.merging.concept_store import load_concepts
from react_mem.memory.model.concepts import Concept


async def concepts_named(store: BaseStore, user_id: str, name: str) -> list[Concept]:
    """Return the concepts that go by a name: mostly one; two people may share a first name."""
    kept = (await load_concepts(store, user_id)).values()
    return [one for one in kept if name_key(name) in {name_key(alias.name) for alias in one.aliases}]
