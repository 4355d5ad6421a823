"""Recalls by all arms on a store that compares vectors only, such as LangGraph's own.

The store returns the nearest items with their scores; words, places and times come from listing the items. Other items
have no cosine and get nothing for it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple, cast

import numpy as np
from cachetools import LRUCache
from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp
from langgraph.store.memory import InMemoryStore

from react_mem.memory.index.entries import Entry, term_number
from react_mem.memory.index.ranked_hits import KnownCosines
from react_mem.memory.index.recall import HitsToShow, Recall, RecallHit, RecallOp, microseconds, scored
from react_mem.memory.index.scorer import score_compared
from react_mem.memory.index.texts import NO_PLACE, NO_TIME, IndexedTexts, TextColumns
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.interface import Arm, MemoryScope
from react_mem.memory.model.kinds import kind_of
from react_mem.memory.model.namespaces import ABANDONED, ROOT, Namespace
from react_mem.memory.model.operations import write
from react_mem.memory.store.attachments import limit_of
from react_mem.memory.store.calibration import UNMEASURED, Calibration, MeasuredScale
from react_mem.memory.store.capabilities import WHOLE, StoreCapabilities, capabilities
from react_mem.memory.store.embeddings import LOCAL_MODEL, LocalEmbeddings
from react_mem.memory.store.process_state import kept_with, lock_of
from react_mem.memory.store.stored_text import index_entries
from react_mem.memory.store.transactions import Guard

# Scores of a store that only compares vectors, such as LangGraph's own, and what they mean.


class StockScale(dict[str, MeasuredScale]):
    """Calibration of a store's scores, by embedder: measured behind the first question."""


def calibration_of(store: BaseStore) -> Calibration | None:
    """Return the calibration measured so far; None without vectors or for scores other than cosines."""
    embeddings = getattr(store, "embeddings", None)
    if not isinstance(embeddings, Embeddings) or _distance(store) != "cosine":
        return None
    local = isinstance(embeddings, LocalEmbeddings)
    name = LOCAL_MODEL if local else str(getattr(embeddings, "name", "") or type(embeddings).__name__)
    return kept_with(store, StockScale).setdefault(name, MeasuredScale(name, embeddings)).known()


def _distance(store: BaseStore) -> str:
    return str((getattr(store, "index_config", None) or {}).get("distance_type", "cosine"))


# Words, places and times of what a store keeps that has no index of them: made of its items, and kept in the process.

MOST = 10_000
"""Items of a namespace that are read; listing them takes 20 ms in memory, and reading their words half a second."""

_FIRST = 100
"""Items of a listing's first page, which every question reads."""

_OVERLAP = timedelta(minutes=1)
"""Maximum duration of a write: until then an earlier one may still appear behind others."""

_READ_AGAIN = 600.0
"""Seconds after which everything is read again."""

_INLINE = 20
"""Items whose words are read on the event loop, in a millisecond; more are read in a thread."""

_INLINE_TEXTS = 1_000
"""Texts scanned for a change on the event loop, in some milliseconds; more are scanned in a thread."""

_BYTES = 64 * 2**20
"""Size of a store's cache; beyond, the least recently used namespaces go."""

_BYTES_A_KEY = 200


class KnownItems(NamedTuple):
    """Items of one namespace at the last listing, with their times of writing; `cut` if it has more than these.

    `read_at` is the time of the last full read, on the monotonic clock.
    """

    texts: IndexedTexts
    written: dict[str, datetime]
    read_at: float
    cut: bool


class ListedItems:
    """Cached items of a store's namespaces."""

    def __init__(self) -> None:
        self.known: LRUCache[Namespace, KnownItems] = LRUCache(
            _BYTES, getsizeof=lambda known: known.texts.nbytes + _BYTES_A_KEY * len(known.written)
        )

    async def follow(self, store: BaseStore, namespace: Namespace, page: Sequence[SearchItem]) -> KnownItems:
        """Update a namespace, without those below it, from its `first_page` on, and return its items."""
        async with lock_of(namespace, "listed items"):  # who comes second finds what the first has read
            known = self.known.get(namespace)
            if known is not None and time.monotonic() - known.read_at > _READ_AGAIN:
                known = None
            items, whole, cut = await _listed(store, namespace, page, known)
            if known is None:
                known, whole = KnownItems(IndexedTexts.of(_columns([])), {}, 0.0, cut), True
            texts, written = known.texts, known.written
            own = {item.key: item for item in items if item.namespace == namespace}
            changed = [item for key, item in own.items() if key not in written or item.updated_at > written[key]]
            gone = {key for key in written if key not in own} if whole else set()
            if changed or gone:
                if len(changed) + len(gone) > _INLINE or len(texts) > _INLINE_TEXTS:
                    texts = await asyncio.to_thread(_updated, texts, changed, gone)
                else:
                    texts = _updated(texts, changed, gone)
                written = {key: at for key, at in written.items() if key not in gone}
                written |= {item.key: item.updated_at for item in changed}
            known = KnownItems(texts, written, time.monotonic() if whole else known.read_at, cut)
            with suppress(ValueError):  # larger than all that is kept
                self.known[namespace] = known
            return known


def first_page(store: BaseStore, namespace: Namespace) -> SearchOp:
    """Return the listing that each question needs: in memory all items, elsewhere the latest."""
    return SearchOp(namespace, limit=MOST + 1 if isinstance(store, InMemoryStore) else _FIRST, refresh_ttl=False)


async def _listed(
    store: BaseStore, namespace: Namespace, page: Sequence[SearchItem], known: KnownItems | None
) -> tuple[Sequence[SearchItem], bool, bool]:
    """Return items, true if these are all, and true if there are more than can be read."""
    if len(page) < first_page(store, namespace).limit:
        return page, True, False
    if known is not None and _has_caught_up(page, known):
        return page, False, known.cut
    # at once, since not every store keeps its order from page to page
    op = SearchOp(namespace, limit=MOST + 1, refresh_ttl=False)
    [items] = cast("list[list[SearchItem]]", await store.abatch([op]))
    return items[:MOST], len(items) <= MOST, len(items) > MOST


def _has_caught_up(page: Sequence[SearchItem], known: KnownItems) -> bool:
    """Return true if a page, the latest first, has reached the cached items."""
    times = [item.updated_at for item in page]
    newest = max(known.written.values(), default=None)
    if newest is None or any(one < other for one, other in pairwise(times)):
        return False
    return times[-1] < newest - _OVERLAP or all(known.written.get(item.key) == item.updated_at for item in page)


def _updated(texts: IndexedTexts, changed: Sequence[SearchItem], gone: Collection[str]) -> IndexedTexts:
    """Apply changes to an index. Blocking: some 0.05 ms an item."""
    left_out = {*gone, *(item.key for item in changed)}
    there = ((texts.key(text), texts.field_name(text)) for text in texts.order.tolist())
    left = [(key, field_name) for key, field_name in there if key not in left_out]
    # a text that has been written again may have fewer pieces
    return texts.with_changes(_columns(changed), left)


def _columns(items: Sequence[SearchItem]) -> TextColumns:
    entries: list[tuple[str, Entry]] = [
        (item.key, entry)
        for item in items
        for entry in index_entries(item.value, kind_of(item.value).index(item.value))
    ]
    words = [sorted({term_number(term) for term in entry.terms}) for _, entry in entries]
    times = [NO_TIME if entry.said_at is None else microseconds(entry.said_at) for _, entry in entries]
    return TextColumns(
        keys=[key for key, _ in entries],
        field_names=[entry.field_name for _, entry in entries],
        vectors=np.zeros((len(entries), 0), dtype=np.float16),
        embedded=np.zeros(len(entries), dtype=bool),
        places=np.array([NO_PLACE if entry.place is None else entry.place for _, entry in entries], dtype=np.int64),
        said_at=np.array(times, dtype=np.int64),
        lengths=np.array([entry.length for _, entry in entries], dtype=np.float32),
        unread=np.zeros(len(entries), dtype=bool),
        words=np.array([number for numbers in words for number in numbers], dtype=np.int32),
        word_ends=np.cumsum([len(numbers) for numbers in words], dtype=np.int64),
    )


_NEAREST = 200
"""Items with a requested cosine; the vector arm proposes thirty at most."""

log = logging.getLogger(__name__)

_Fresh = dict[Namespace, dict[str, Item | None]]


async def recall_stock(store: BaseStore, ops: Sequence[Op | RecallOp]) -> list[Result | Recall]:
    """Run reads and recalls, no writes, together; return their results in order."""
    recalls = {place: op for place, op in enumerate(ops) if isinstance(op, RecallOp)}
    read, pages, nearest, failure = await _read(store, ops, recalls)
    listed = kept_with(store, ListedItems)
    known = {space: await listed.follow(store, space, page) for space, page in pages.items()}
    calibration = calibration_of(store) if any(Arm.VECTOR in op.arms for op in recalls.values()) else None
    fresh: _Fresh = {space: {} for space in pages}
    for items in (*pages.values(), *nearest.values()):
        for item in items:
            fresh.setdefault(item.namespace, {})[item.key] = item
    shown: dict[int, HitsToShow] = {}
    for place, op in recalls.items():
        texts = known[op.namespace].texts
        cosines = np.full(texts.size, np.nan)
        for item in nearest.get(place, ()):
            if item.namespace == op.namespace and item.score is not None:
                # of distances of unnormalised vectors an approximation, which falls with the distance
                near = 1 - item.score**2 / 2 if _distance(store) == "l2" else item.score
                cosines[texts.texts_of([item.key])] = min(max(near, -1.0), 1.0)
        ranking = score_compared(KnownCosines(texts, cosines), op, calibration or UNMEASURED)
        shown[place] = HitsToShow(op, ranking)
    # the hits' present items, until each recall has enough
    while asked := [one for one in shown.values() if one.advance()]:
        wanted = {
            (one.op.namespace, key) for one in asked for hit, partners in one.waiting for key in (hit.key, *partners)
        }
        if lacking := [(space, key) for space, key in wanted if key not in fresh[space]]:
            got = await store.abatch([GetOp(space, key, refresh_ttl=False) for space, key in lacking])
            for (space, key), there in zip(lacking, got, strict=True):
                fresh[space][key] = cast("Item | None", there)
        for one in asked:
            items_there = fresh[one.op.namespace]
            one.take(items_there, items_there, calibration)
    answers: dict[int, Result | Recall] = {**read}
    for place, op in recalls.items():
        found, others = shown[place].found, nearest.get(place, ())
        if all(item.score is None for item in others):
            # without vectors a question may share no word with its answer
            taken = {one.item.key for one in found} | set(op.without)
            left = [item for item in others if item.key not in taken and item.namespace == op.namespace]
            room = max(op.limit - len(found), 0)
            found += [RecallHit(scored(item, None), arms={}, similarity=None) for item in left[:room]]
        missing = {Arm.VECTOR: failure} if failure else {}
        if known[op.namespace].cut:
            missing[Arm.LEXICAL] = f"this store has no index of words, and only {MOST} of a namespace's items are read"
        answers[place] = shown[place].recall(missing)
    return [answers[place] for place in range(len(ops))]


async def _read(
    store: BaseStore, ops: Sequence[Op | RecallOp], recalls: Mapping[int, RecallOp]
) -> tuple[dict[int, Result], dict[Namespace, list[SearchItem]], dict[int, list[SearchItem]], str]:
    """Return the other reads by position, the first pages, the nearest items, and the cause of a failed search."""
    others = [place for place in range(len(ops)) if place not in recalls]
    spaces = list(dict.fromkeys(op.namespace for op in recalls.values()))
    needed: list[Op] = [*(cast("Op", ops[place]) for place in others), *(first_page(store, space) for space in spaces)]
    near = [place for place, op in recalls.items() if Arm.VECTOR in op.arms and op.question.text.strip()]
    searches = [
        SearchOp(
            op.namespace,
            dict(op.conditions) or None,
            max(_NEAREST, op.limit + len(op.without)),
            query=op.question.text,
            refresh_ttl=False,
        )
        for op in map(recalls.__getitem__, near)
    ]
    failure = ""
    try:
        results = await store.abatch([*needed, *searches])
    except Exception as error:
        if not searches:
            raise
        # it may be the embedder; words need none
        results = await store.abatch(needed)
        near, failure = [], cause_of(error)
        log.warning("memory is searched without vectors: %s", failure)
    pages = cast("list[list[SearchItem]]", results[len(others) :])
    return (
        dict(zip(others, results, strict=False)),
        dict(zip(spaces, pages, strict=False)),
        dict(zip(near, pages[len(spaces) :], strict=True)),
        failure,
    )


# Several stores as one: each scope of memory in a store of its own, everything else in the first.

# Recalls on any LangGraph store, by all arms, whether it takes them itself or not.


async def recall(store: BaseStore, ops: Sequence[Op | RecallOp]) -> list[Result | Recall]:
    """Run reads and recalls in one batch, on any store; return their results in order."""
    if not ops:
        return []
    can = capabilities(store)
    answers = await (can.arecall(ops) if can.recalls else recall_stock(store, ops))
    return [
        answer.without({arm: cause for arm, cause in op.question.missing.items() if arm in op.arms})
        if isinstance(op, RecallOp) and isinstance(answer, Recall)
        else answer
        for op, answer in zip(ops, answers, strict=True)
    ]


class DividedStore(BaseStore, StoreCapabilities):
    """Stores of single scopes as one (see `divided`), with the first for everything else.

    A batch becomes one batch per store. No transaction spans the stores: the first is written last, since it holds the
    work queue. A crash in between is repaired by running again; the ids of records make that idempotent.
    """

    recalls = True

    def __init__(self, first: BaseStore, parts: Mapping[MemoryScope, BaseStore]) -> None:
        self.first = first
        can = capabilities(first)
        self.guards, self.audit, self.receipt_key = can.guards, can.audit, can.receipt_key
        self._parts = {str(scope): store for scope, store in parts.items()}
        self._stores = list({id(store): store for store in (first, *parts.values())}.values())
        self.attachment_bytes = limit_of(first)
        self.supports_ttl = all(store.supports_ttl for store in self._stores)
        # of LangGraph's async stores; sync code has to know where they are used
        loops = (getattr(store, name, None) for store in self._stores for name in ("loop", "_loop"))
        self.loop = next((loop for loop in loops if isinstance(loop, asyncio.AbstractEventLoop)), None)
        self.embeddings = getattr(self._parts.get(MemoryScope.SEMANTIC, first), "embeddings", None)

    # LangGraph's interface

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        wanted = list(ops)
        shares = self._shares(wanted)
        return _together(wanted, shares, [store.batch(asked.values()) for store, asked in shares])

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self._run(list(ops), _batch)

    async def arecall(self, ops: Sequence[Op | RecallOp]) -> list[Result | Recall]:
        return await self._run(ops, recall)

    async def amake_up_vectors(self, namespace: Namespace = ()) -> int:
        return sum([await capabilities(store).amake_up_vectors(namespace) for store in self.stores_of(namespace)])

    async def abatch_if(self, ops: Sequence[Op], guard: Guard) -> bool:
        """Write the batch and return true if the guard holds; otherwise write nothing.

        The store of the guarded item comes last: it says that the rest is done.
        """
        [last] = self.stores_of(guard.namespace)
        others = [op for op in ops if self.stores_of(_place_of(op)) != [last]]
        if others:
            item = await last.aget(guard.namespace, guard.key, refresh_ttl=False)
            if (item.value if item is not None else None) != guard.value:
                return False
            await self.abatch(others)
        own = [op for op in ops if self.stores_of(_place_of(op)) == [last]]
        if capabilities(last).guards:
            return await capabilities(last).abatch_if(own, guard)
        await self.abatch(own)
        return True

    def stores_of(self, namespace: Namespace) -> list[BaseStore]:
        """Return the stores of a namespace and those below it."""
        place = namespace[3:4] if namespace[2:3] == (ABANDONED,) else namespace[2:3]
        if namespace[:1] not in ((), (ROOT,)):
            return [self.first]
        return [self._parts.get(place[0], self.first)] if place else self._stores

    async def _run(
        self, ops: Sequence[Any], run: Callable[[BaseStore, Sequence[Any]], Awaitable[Sequence[Any]]]
    ) -> list[Any]:
        shares = self._shares(ops)
        answers = await asyncio.gather(*(run(store, list(asked.values())) for store, asked in shares))
        return _together(ops, shares, answers)

    def _shares(self, ops: Sequence[Any]) -> list[_Share]:
        shares: list[_Share] = [(store, {}) for store in self._stores]
        for place, op in enumerate(ops):
            concerned = self._stores if isinstance(op, ListNamespacesOp) else self.stores_of(_place_of(op))
            for store, asked in shares:
                if any(store is one for one in concerned):
                    asked[place] = _asked_of(store, op, alone=len(concerned) == 1)
        return [(store, asked) for store, asked in shares if asked]


_Share = tuple[BaseStore, dict[int, Any]]
"""One store's share of a batch, by position in the batch."""


def divided(first: BaseStore, parts: Mapping[MemoryScope, BaseStore]) -> BaseStore:
    """Return several stores as one, as `DividedStore` takes them; the first itself if there is no other."""
    return first if all(store is first for store in parts.values()) else DividedStore(first, parts)


def _place_of(op: Any) -> Namespace:
    return cast("Namespace", op.namespace_prefix if isinstance(op, SearchOp) else op.namespace)


def _asked_of(store: BaseStore, op: Any, *, alone: bool) -> Any:
    """Return the operation for one store; each of several returns the full prefix, since the merge orders and cuts."""
    if isinstance(op, SearchOp) and isinstance(store, InMemoryStore) and not op.query:
        # it answers with what was written first, every other store with what was written last
        return op._replace(limit=WHOLE, offset=0)
    if alone or not isinstance(op, SearchOp | ListNamespacesOp):
        return op
    return op._replace(limit=op.offset + op.limit, offset=0)


def _together(ops: Sequence[Any], shares: Sequence[_Share], answers: Sequence[Sequence[Any]]) -> list[Any]:
    found: list[Any] = [None] * len(ops)
    shared: dict[int, list[Any]] = {}
    for (_, of_store), answered in zip(shares, answers, strict=True):
        for (place, asked), answer in zip(of_store.items(), answered, strict=True):
            if asked is ops[place]:
                found[place] = answer
            else:
                shared.setdefault(place, []).extend(answer)
    for place, answer in shared.items():
        op = ops[place]
        if isinstance(op, ListNamespacesOp):
            answer = sorted(set(answer))
        else:
            answer.sort(key=(lambda one: one.score or 0.0) if op.query else attrgetter("updated_at"), reverse=True)
        found[place] = answer[op.offset : op.offset + op.limit]
    return found


async def _batch(store: BaseStore, ops: Sequence[Op]) -> list[Result]:
    if isinstance(store, InMemoryStore) and all(isinstance(op, PutOp) for op in ops):
        await write(store, cast("Sequence[PutOp]", ops))
        return [None] * len(ops)
    return await store.abatch(ops)
