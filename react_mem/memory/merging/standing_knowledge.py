"""Knowledge that still stands: what goes when the facts it was drawn from have ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory.language.comparison import Vocabulary, content_words, missing
from react_mem.memory.model.changes import Change, delete, put
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import KNOWLEDGE
from react_mem.memory.model.knowledge import MIN_SOURCES, Knowledge, confidence
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.records import Fact

SCOPES = (MemoryScope.SEMANTIC, MemoryScope.EPISODIC)
"""Scopes of the memories that knowledge is drawn from."""

_MAX_KNOWLEDGE = 500


async def load_knowledge(store: BaseStore, user_id: str) -> dict[str, Knowledge]:
    """Return what has been drawn from a user's memories, by id.

    Args:
        store: The store.
        user_id: The owner.
    """
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    found = await store.asearch(namespace, filter={"kind": KNOWLEDGE.name}, limit=_MAX_KNOWLEDGE, refresh_ttl=False)
    return {item.key: Knowledge.from_value(item.value) for item in found}


async def stale_knowledge(store: BaseStore, user_id: str, facts: Sequence[Fact]) -> list[Change]:
    """Return what facts that have ended change of knowledge, for the batch that ends them.

    What speaks of what has ended is dropped, and drawn again by the next run; the rest loses a proof. The store is
    asked only where a fact has ended.

    Args:
        store: The store.
        user_id: The owner.
        facts: The facts, as they are about to be written.
    """
    ended = {fact.id: fact for fact in facts if not fact.current}
    if not ended:
        return []
    changes: list[Change] = []
    known = [one for one in (await load_knowledge(store, user_id)).values() if ended.keys() & {*one.source_ids}]
    values = await sources_of(store, user_id, {source for one in known for source in one.source_ids} - ended.keys())
    standing = {id_: str(value["text"]) for id_, value in values.items()}
    for one in known:
        left = without(one, ended, standing)
        if left is None:
            changes.append(delete(user_id, KNOWLEDGE, one.id))
        elif left != one:
            changes.append(put(user_id, left))
    return changes


async def sources_of(
    store: BaseStore, user_id: str, ids: Iterable[str], scopes: Iterable[MemoryScope] = SCOPES
) -> dict[str, dict[str, Any]]:
    """Return memories by id. What is not among them was forgotten, perhaps just now: it must not come back."""
    wanted = sorted(set(ids))
    spaces = [scope_namespace(user_id, scope) for scope in scopes]
    ops = [GetOp(space, id_, refresh_ttl=False) for space in spaces for id_ in wanted]
    found = cast("list[Item | None]", await store.abatch(ops)) if ops else []
    return {item.key: item.value for item in found if item is not None}


def without(one: Knowledge, ended: Mapping[str, Fact], standing: Mapping[str, str]) -> Knowledge | None:
    """Return knowledge as it is without facts that have ended; None where it speaks of them, or too little is left.

    Args:
        one: The knowledge.
        ended: Facts that have ended, by id.
        standing: The texts of the memories that have not.
    """
    over = [ended[source] for source in one.source_ids if source in ended]
    if not over:
        return one
    proofs = one.proofs - len(over)
    left = tuple(source for source in one.source_ids if source not in ended)
    others = [standing[source] for source in left if source in standing]
    if min(len(left), proofs) < MIN_SOURCES or any(_speaks_of(fact, one.text, others) for fact in over):
        return None
    update = {"source_ids": left, "proofs": proofs, "confidence": confidence(proofs, len(over))}
    return one.model_copy(update=update)


def _speaks_of(fact: Fact, text: str, others: Sequence[str]) -> bool:
    """Return whether a text has a word that only this fact has, or, where others have them all, any of its words."""
    own = missing(fact.text, others) or content_words(fact.text)
    return len(Vocabulary([text]).missing(" ".join(own))) < len(own)
