"""Cache of the last reads in the process: a fallback while the database is down.

It is bounded, separate for each owner, and its results are marked as old.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from typing import cast

from cachetools import LRUCache
from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from react_mem.memory.graph.links import in_utc
from react_mem.memory.index.recall import Question, Recall, RecallOp, is_over
from react_mem.memory.model.interface import Arm, MemoryQuery, MemoryResultItem, MemoryResults, MemoryScope
from react_mem.memory.model.kinds import CHAIN, FACT, MESSAGE, SUMMARY, kind_of
from react_mem.memory.model.namespaces import meta_namespace, scope_namespace
from react_mem.memory.model.operations import Change
from react_mem.memory.model.records import BELIEVED, Fact, with_zone
from react_mem.memory.retrieval.stock_recall import recall as recall_of_alike
from react_mem.memory.store.capabilities import WHOLE
from react_mem.memory.store.process_state import kept_with
from react_mem.memory.store.transactions import Guard, compare_and_set, transact

DATABASE = "database"
"""Mark of cached results."""

_MAX_READS = 500
"""Cached reads: a few kilobytes each."""

_MAX_AGE = 3600.0
"""Seconds of validity: another process may have deleted something meanwhile."""

_Key = tuple[str, str, tuple[str, ...]]


class LastReads:
    """Last reads of a store with their times, the latest last, and the times of its owners' last deletions."""

    def __init__(self) -> None:
        self.kept: LRUCache[_Key, tuple[float, MemoryResults]] = LRUCache(_MAX_READS)
        self.forgotten: dict[str, float] = {}


def keep(store: BaseStore, query: MemoryQuery, results: MemoryResults, *, since: float) -> None:
    """Cache the results of a read in place of earlier ones of the user, agent and scopes, unless the owner has deleted
    something `since` its start, on the monotonic clock.
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
    reads.kept[_key(query)] = time.monotonic(), MemoryResults(items, results.missing)


def recall(store: BaseStore, query: MemoryQuery) -> MemoryResults | None:
    """Return the last results of the same user, agent and scopes; None for none."""
    at, results = kept_with(store, LastReads).kept.get(_key(query), (0.0, None))
    age = round(time.monotonic() - at)
    if results is None or age > _MAX_AGE:
        return None
    # the current state of another conversation is not shown
    asks = bool(query.query and query.query.strip())
    items = [
        item
        for item in results
        if item.scope is not MemoryScope.DIALOG
        or item.payload.get("session_id") == query.session_id
        or (asks and (item.score is not None or item.source not in (MESSAGE.name, SUMMARY.name, CHAIN.name)))
        if not is_over(item.payload, with_zone(query.asked_at))
    ]
    cause = f"could not be read; this was read {age} seconds ago, for another question"
    return MemoryResults(items, {**results.missing, DATABASE: cause})


def kept(store: BaseStore, user_id: str) -> list[MemoryResultItem]:
    reads = kept_with(store, LastReads).kept
    return [item for key, (_, results) in reads.items() if key[0] == user_id for item in results]


def forget(store: BaseStore, user_id: str) -> None:
    """Drop a user's cached results, and cancel the caching of reads in progress."""
    now = time.monotonic()
    reads = kept_with(store, LastReads)
    reads.forgotten = {user: at for user, at in reads.forgotten.items() if now - at < _MAX_AGE} | {user_id: now}
    for key in [key for key in reads.kept if key[0] == user_id]:
        del reads.kept[key]


def _key(query: MemoryQuery) -> _Key:
    return (query.user_id, query.agent_id, tuple(sorted(set(map(str, query.scopes)))))


# Facts as they were believed at a time: what is stored keeps since when each is believed, and until when.


def as_of(fact: Fact, at: datetime) -> Fact | None:
    """Return a fact as believed at a time with a zone; None if it was not believed.

    Believed means written by then and not retired; a turn counts from its extraction. A fact of an abandoned branch was
    believed until the branch was abandoned; a resumed branch counts as never abandoned. A fact forgotten since was
    never known. Doubts are left out, as they have no dates, and so is an end that was unknown then.
    """
    if with_zone(fact.created_at) > at or any(lapse.since <= at < lapse.until for lapse in fact.lapses):
        return None
    if fact.current:
        ended = {}
    elif fact.retired_at is None or with_zone(fact.retired_at) <= at:
        # without a date it was said to be over from the beginning
        return None
    else:
        # of what something else took the place of later, its own last day was known
        own = {"valid_to": fact.valid_to} if fact.superseded_by and fact.end_said_at else {}
        ended = {**BELIEVED, **own}
    return fact.model_copy(
        update={
            **ended,
            "said_at": max((w.said_at for w in fact.wordings if w.said_at <= at), default=fact.created_at)
            if with_zone(fact.said_at) > at
            else fact.said_at,
            "wordings": tuple(wording for wording in fact.wordings if wording.said_at <= at),
            "lapses": tuple(lapse for lapse in fact.lapses if lapse.until <= at),
            "suspended": (),
            "doubts": (),
        }
    )


# Memories that say something like each other: noted in one of the two, by which they are linked.

NEAREST = 3
"""Similar memories linked with one: more make everything a neighbour."""

ALIKE = 0.95
"""Minimum similarity of linked memories. Texts are nearer to each other than to a question: of the three nearest
messages of any other, in conversations of two people, half are above 0.925 and one in twenty above this.
"""

_AT_ONCE = 5
"""Records compared in one round trip: each costs an embedding, and a read waits three seconds for them at most."""

MAX_COMPARED = 100
"""Facts compared in one run of maintenance: seconds of the local model, which turns need too."""

_COMPARED_UP_TO = "compared"
"""Key, in the user's bookkeeping, for the last compared fact."""

_BELIEVED = {"kind": FACT.name, "current": True}

_COMPARED_CHARS = 600
"""Characters of a record that are compared; the local model needs 0.1 s for 2,000."""


async def note_new_alike(store: BaseStore, user_id: str) -> int:
    """Link similar facts among those new since the last run; return the number of new pairs.

    Each fact costs an embedding; a run takes `MAX_COMPARED` at most, and the next run continues.
    """
    mark = await store.aget(meta_namespace(user_id), _COMPARED_UP_TO, refresh_ttl=False)
    since = str(mark.value["up_to"]) if mark is not None else ""
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    facts = await store.asearch(namespace, filter=_BELIEVED, limit=WHOLE, refresh_ttl=False)
    # facts of one turn are of one moment: their ids tell them apart
    places = {f"{in_utc(item.value['created_at'])} {item.key}": item.key for item in facts}
    new = sorted(place for place in places if place > since)[:MAX_COMPARED]
    if not new:
        return 0
    noted = await note_alike(store, user_id, [places[place] for place in new])
    held = Guard(meta_namespace(user_id), _COMPARED_UP_TO, mark.value if mark is not None else None)
    await compare_and_set(store, held, {"up_to": new[-1]})
    return noted


async def note_alike(store: BaseStore, user_id: str, ids: Sequence[str], *, similarity: float = ALIKE) -> int:
    """Link facts with the most similar ones; return the number of new pairs, none without a calibrated store."""
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    pairs: dict[tuple[str, str], float] = {}
    for start in range(0, len(ids), _AT_ONCE):
        some = dict.fromkeys(ids[start : start + _AT_ONCE])
        stored = cast("list[Item | None]", await store.abatch([GetOp(namespace, id_) for id_ in some]))
        items = [item for item in stored if item is not None and str(item.value.get("text") or "").strip()]
        questions = [Question(str(item.value["text"])[:_COMPARED_CHARS], (), "", (), asks_when=False) for item in items]
        ops = [
            RecallOp(namespace, question, _BELIEVED, NEAREST, (item.key,), similarity, frozenset({Arm.VECTOR}))
            for item, question in zip(items, questions, strict=True)
        ]
        for item, answer in zip(items, await recall_of_alike(store, ops), strict=True):
            for one in answer.found if isinstance(answer, Recall) else ():
                if one.similarity is not None and one.similarity >= similarity:
                    pair = (min(item.key, one.key), max(item.key, one.key))
                    pairs[pair] = max(pairs.get(pair, 0.0), round(one.similarity, 4))

    async def step() -> tuple[int, list[Change]]:
        wanted = [GetOp(namespace, id_) for id_ in sorted({id_ for pair in pairs for id_ in pair})]
        found = cast("list[Item | None]", await store.abatch(wanted))
        noted = {item.key: dict(item.value) for item in found if item is not None}
        before = {id_: value.get("alike", {}) for id_, value in noted.items()}
        new = [(one, other) for one, other in pairs if {one, other} <= noted.keys() and other not in before[one]]
        for one, other in new:
            noted[one]["alike"] = {**noted[one].get("alike", {}), other: pairs[one, other]}
        return len(new), [
            PutOp(namespace, id_, noted[id_], kind_of(noted[id_]).index(noted[id_]))
            for id_ in sorted({one for one, _ in new})
        ]

    return await transact(store, user_id, step) if pairs else 0
