"""Episodes and preferences covered by a summary, found through its sources without a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langgraph.store.base import GetOp, Item

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.graph.links import FOUNDS, Direction, reader
from react_mem.memory.language.standing import states_preference
from react_mem.memory.model.concepts import ContextChain
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import EPISODE, FACT, SUMMARY
from react_mem.memory.model.receipt import Change, put
from react_mem.memory.model.records import Fact, Summary

_MOST = 50
"""Most episodes, and preferences, that a summary names, the latest: a master covers a conversation of any length."""


async def stands_for(
    memory: MemoryFacade, user_id: str, messages: Sequence[str], below: Iterable[Mapping[str, Any]]
) -> dict[str, tuple[str, ...]]:
    """Return the episodes and preferences of a summary, as its fields.

    Args:
        messages: The messages that it covers.
        below: The summaries that it covers, as JSON.
    """
    said = await reader(memory.store, user_id)(messages)
    drawn = [
        edge.to
        for document in said.values()
        for edge in document.edges.values()
        if edge.direction is Direction.IN and edge.kind in FOUNDS
    ]
    told = [id_ for value in below for name in ("episodes", "task_preferences") for id_ in value.get(name, ())]
    ids = list(dict.fromkeys((*drawn, *told)))
    if not ids:
        return {}
    wanted = [GetOp(kind.namespace(user_id), id_) for kind in (EPISODE, FACT) for id_ in ids]
    found = [item for item in await memory.store.abatch(wanted) if isinstance(item, Item)]
    return {
        "episodes": _latest((str(one.value["created_at"]), one.key) for one in found if EPISODE.matches(one.value)),
        "task_preferences": preferences_among(Fact.from_value(one.value) for one in found if FACT.matches(one.value)),
    }


def preferences_among(facts: Iterable[Fact]) -> tuple[str, ...]:
    """Return the ids of the believed facts that state a preference, the latest last."""
    preferred = (fact for fact in facts if fact.current and states_preference(fact.text))
    return _latest((fact.said_at.isoformat(), fact.id) for fact in preferred)


async def told_of_in_chain(
    memory: MemoryFacade, user_id: str, chain: ContextChain | None, episode_id: str
) -> list[Change]:
    """Return the writes that name a conversation's episode in the summaries of its chain."""
    ids = [entry.id for entry in chain.entries if not entry.is_message] if chain is not None else []
    found = await memory.records(user_id, MemoryScope.DIALOG, ids) if ids else {}
    summaries = [Summary.from_value(value) for value in found.values() if SUMMARY.matches(value)]
    return [
        put(user_id, summary.model_copy(update={"episodes": (*summary.episodes, episode_id)[-_MOST:]}))
        for summary in summaries
        if episode_id not in summary.episodes
    ]


def _latest(dated: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(id_ for _, id_ in sorted(dated)[-_MOST:])
