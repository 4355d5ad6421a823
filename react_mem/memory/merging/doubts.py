"""Doubts of a fact, told beside it: a fact that may contradict it, or one it needed that has ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory.model.interface import Doubt, MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import FACT
from react_mem.memory.model.namespaces import scope_namespace


async def with_doubts(store: BaseStore, user_id: str, results: Sequence[MemoryResultItem]) -> list[MemoryResultItem]:
    """Return results of which each fact in doubt says about what; the store is asked only where there is one.

    Args:
        store: The store.
        user_id: The owner.
        results: What was found.
    """
    facts = {item.id: item.payload for item in results if item.source == FACT.name}
    if not any(_of(value) for value in facts.values()):
        return list(results)
    others = await others_of(store, user_id, facts)
    return [_with_doubts(item, others) if item.id in facts else item for item in results]


def _with_doubts(item: MemoryResultItem, others: Mapping[str, Mapping[str, Any]]) -> MemoryResultItem:
    told = doubts_of(item.payload, others)
    forgotten = [id_ for id_ in _of(item.payload) if id_ not in others]
    payload = {**item.payload, "doubts": [*(doubt.id for doubt in told), *forgotten]}
    return item.model_copy(update={"doubts": told, "payload": payload})


async def others_of(
    store: BaseStore, user_id: str, facts: Mapping[str, Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """Return the facts that some facts are in doubt about, by id, with those themselves.

    Args:
        store: The store.
        user_id: The owner.
        facts: Facts as JSON, by id.
    """
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    missing = dict.fromkeys(id_ for value in facts.values() for id_ in _of(value) if id_ not in facts)
    found = cast("list[Item | None]", await store.abatch([GetOp(namespace, id_) for id_ in missing]) if missing else [])
    return {**facts, **{item.key: item.value for item in found if item is not None}}


def doubts_of(value: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]]) -> tuple[Doubt, ...]:
    """Return what a fact is in doubt about now; of what has been forgotten nothing is told.

    A fact that it needs speaks against it while that is over, any other one while that is believed: either may have
    changed since, as when a branch of the conversation is left.

    Args:
        value: The fact, as JSON.
        others: Facts, by id.
    """
    needs = set(value.get("needs") or ())
    told = [
        (id_, others[id_])
        for id_ in _of(value)
        if id_ in others and bool(others[id_].get("current", True)) is (id_ not in needs)
    ]
    return tuple(Doubt(id=id_, text=str(other["text"]), since=_since(value, other)) for id_, other in told)


def _of(value: Mapping[str, Any]) -> Iterable[str]:
    return value.get("doubts") or () if value.get("current", True) else ()


def _since(value: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    over = other.get("valid_to") or other.get("retired_at")
    # two that may contradict each other do so since the second was said
    at = over if over and not other.get("current", True) else max(str(one.get("said_at", "")) for one in (value, other))
    return str(at)[:10]
