"""Cache of the last reads in the process: better than nothing while the database is down.

It is bounded, belongs to one owner each, and is never taken for fresh: what is missing from it is said.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass

from langgraph.store.base import BaseStore

from react_mem.memory.index.recall import is_over
from react_mem.memory.model.interface import MemoryQuery, MemoryResultItem, MemoryResults, MemoryScope
from react_mem.memory.model.kinds import CHAIN, MESSAGE, SUMMARY
from react_mem.memory.model.records import with_zone
from react_mem.memory.store.process_state import kept_with

DATABASE = "database"
"""Mark of results that are the last ones known."""

_MAX_READS = 500
"""Reads kept: a few kilobytes each."""

_MAX_AGE = 3600.0
"""Seconds after which what was read is no longer of use: another process may have forgotten it meanwhile."""

_Key = tuple[str, str, tuple[str, ...]]


@dataclass(frozen=True)
class _Read:
    at: float
    results: MemoryResults


class LastReads:
    """Last reads of a store, the latest last, and when its owners were last forgotten."""

    def __init__(self) -> None:
        self.kept: OrderedDict[_Key, _Read] = OrderedDict()
        self.forgotten: dict[str, float] = {}


def keep(store: BaseStore, query: MemoryQuery, results: MemoryResults, *, since: float) -> None:
    """Keep what was read, in place of what was kept before for the same user, agent and scopes.

    Args:
        store: Where it was read from.
        query: What was asked for.
        results: What was found.
        since: When the read began, on the monotonic clock: what was forgotten after that is not kept.
    """
    reads = kept_with(store, LastReads)
    if reads.forgotten.get(query.user_id, since) > since:
        return
    if set(query.scopes) == {MemoryScope.FILES}:
        # a search of an agent's, and not what a turn begins with
        return
    # without files, which may be large, and the whole of long messages, of which the matched part is in the fragments
    items = [
        item.model_copy(update={"payload": {name: v for name, v in item.payload.items() if name != "content"}})
        if "content" in item.payload
        else item
        for item in results
        if item.scope is not MemoryScope.FILES
    ]
    reads.kept[_key(query)] = _Read(time.monotonic(), MemoryResults(items, results.missing))
    reads.kept.move_to_end(_key(query))
    while len(reads.kept) > _MAX_READS:
        reads.kept.popitem(last=False)


def recall(store: BaseStore, query: MemoryQuery) -> MemoryResults | None:
    """Return what was last read for the same user, agent and scopes; None if nothing is kept.

    Args:
        store: Where it was read from.
        query: What is asked for now.
    """
    read = kept_with(store, LastReads).kept.get(_key(query))
    age = 0 if read is None else round(time.monotonic() - read.at)
    if read is None or age > _MAX_AGE:
        return None
    items = [i for i in read.results if _is_of_use(i, query) and not is_over(i.payload, with_zone(query.asked_at))]
    return MemoryResults(
        items,
        {**read.results.missing, DATABASE: f"could not be read; this was read {age} seconds ago, for another question"},
    )


def _is_of_use(item: MemoryResultItem, query: MemoryQuery) -> bool:
    """Return whether a result may be shown: where another conversation stands is of no use in this one."""
    if item.scope is not MemoryScope.DIALOG or item.payload.get("session_id") == query.session_id:
        return True
    stands_there = item.score is None and item.source in (MESSAGE.name, SUMMARY.name, CHAIN.name)
    return bool(query.query and query.query.strip()) and not stands_there


def kept(store: BaseStore, user_id: str) -> list[MemoryResultItem]:
    """Return everything that is kept of a user, whatever it was read for."""
    reads = kept_with(store, LastReads).kept
    return [item for key, read in reads.items() if key[0] == user_id for item in read.results]


def forget(store: BaseStore, user_id: str) -> None:
    """Drop what is kept of a user, and what is being read right now."""
    now = time.monotonic()
    reads = kept_with(store, LastReads)
    reads.forgotten = {user: at for user, at in reads.forgotten.items() if now - at < _MAX_AGE} | {user_id: now}
    for key in [key for key in reads.kept if key[0] == user_id]:
        del reads.kept[key]


def _key(query: MemoryQuery) -> _Key:
    return (query.user_id, query.agent_id, tuple(sorted(set(map(str, query.scopes)))))
