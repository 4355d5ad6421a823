"""Places where a fact was said, told beside it: a summary of summaries names its conversation and no message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory.model.interface import MemoryResultItem, SaidIn
from react_mem.memory.model.kinds import FACT, MESSAGE, SUMMARY

_FIRST_LEVEL = "1"

_MOST = 20
"""Messages of one fact that are looked up, the latest."""


async def with_places(store: BaseStore, user_id: str, results: Sequence[MemoryResultItem]) -> list[MemoryResultItem]:
    """Return results of which each fact of several messages says where these were said.

    The store is asked only where such a fact stands beside a summary of summaries.

    Args:
        store: The store.
        user_id: The owner.
        results: What was found.
    """
    several = [item for item in results if item.source == FACT.name and len(item.source_ids) > 1]
    if not several or not any(_is_higher(item) for item in results):
        return list(results)
    dialog = MESSAGE.namespace(user_id)
    ids = dict.fromkeys(id_ for item in several for id_ in item.source_ids[-_MOST:])
    found = cast("list[Item | None]", await store.abatch([GetOp(dialog, id_) for id_ in ids]))
    places = {item.key: _place(item.value) for item in found if item is not None and MESSAGE.matches(item.value)}

    def placed(item: MemoryResultItem) -> MemoryResultItem:
        said_in = dict.fromkeys(places[id_] for id_ in item.source_ids if id_ in places)
        return item.model_copy(update={"said_in": tuple(said_in)})

    return [placed(item) if item in several else item for item in results]


def _is_higher(item: MemoryResultItem) -> bool:
    return item.source == SUMMARY.name and item.payload.get("level", _FIRST_LEVEL) != _FIRST_LEVEL


def _place(message: Mapping[str, object]) -> SaidIn:
    turn = message.get("turn")
    return SaidIn(session_id=str(message.get("session_id") or ""), turn=turn if isinstance(turn, int) else None)
