"""Recalls on a store that compares vectors only, such as LangGraph's own: by all arms all the same.

The store says how near its items are to the question, and `stock_index` knows their words, places and times. Of an item
that is not among the nearest the cosine is not known: it gets nothing for it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from langgraph.store.base import BaseStore, GetOp, Item, Op, Result, SearchItem, SearchOp

from react_mem.memory.index.ranked_hits import KnownCosines
from react_mem.memory.index.recall import PARTNER_FIELDS, HitsToShow, Recall, RecallHit, RecallOp, scored
from react_mem.memory.index.scorer import score_compared
from react_mem.memory.index.texts import IndexedTexts
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.interface import Arm
from react_mem.memory.model.namespaces import Namespace
from react_mem.memory.retrieval.stock import calibration_of, cosine_of, similarity_of
from react_mem.memory.retrieval.stock_index import MOST, KnownItems, ListedItems, first_page
from react_mem.memory.store.calibration import Calibration
from react_mem.memory.store.process_state import kept_with
from react_mem.memory.store.scale import UNMEASURED

_NEAREST = 200
"""Items whose cosines are asked for: beyond them none is proposed for its vector, which thirty are."""

log = logging.getLogger(__name__)

Nearest = Mapping[int, Sequence[SearchItem]]
"""Items that the store says are nearest, by the place of the recall."""


@dataclass
class _Found:
    """Results of one recall, as far as they have been read."""

    op: RecallOp
    shown: HitsToShow
    unscored: Sequence[SearchItem] = ()

    def next_keys(self) -> set[str]:
        """Return the keys of what is looked at next; nothing when there is enough."""
        return {key for hit, partners in self.shown.advance() for key in (hit.key, *partners)}

    def take(self, items: Mapping[str, Item | None], calibration: Calibration | None) -> None:
        """Take what is there by now and is what was asked for."""

        def partner(key: str) -> Mapping[str, Any] | None:
            if (other := items[key]) is None:
                return None
            return {"id": key, **{name: other.value.get(name) for name in PARTNER_FIELDS}}

        self.shown.take(items.__getitem__, partner, lambda cosine: similarity_of(cosine, calibration))

    def fill_up(self) -> None:
        """Take what the store lists where it has no vectors: there may be no word in common with what is asked."""
        found = self.shown.found
        known = {one.item.key for one in found} | set(self.op.without)
        left = [item for item in self.unscored if item.key not in known and item.namespace == self.op.namespace]
        room = max(self.op.limit - len(found), 0)
        found += [RecallHit(scored(item, None), arms={}, similarity=None) for item in left[:room]]


async def recall_stock(store: BaseStore, ops: Sequence[Op | RecallOp]) -> list[Result | Recall]:
    """Run reads and recalls together.

    Args:
        store: The store.
        ops: Reads and recalls, no writes.

    Returns:
        Their results, in order.
    """
    recalls = {place: op for place, op in enumerate(ops) if isinstance(op, RecallOp)}
    read, pages, nearest, failure = await _read(store, ops, recalls)
    listed = kept_with(store, ListedItems)
    known = {space: await listed.follow(store, space, page) for space, page in pages.items()}
    calibration = calibration_of(store) if any(Arm.VECTOR in op.arms for op in recalls.values()) else None
    fresh: dict[Namespace, dict[str, Item | None]] = {space: {} for space in pages}
    for items in (*pages.values(), *nearest.values()):
        for item in items:
            fresh.setdefault(item.namespace, {})[item.key] = item
    found = {
        place: _scored(store, op, known[op.namespace].texts, nearest.get(place, ()), calibration)
        for place, op in recalls.items()
    }
    await _show(store, list(found.values()), fresh, calibration)
    answers: list[Result | Recall] = []
    for place in range(len(ops)):
        if place in found:
            missing = _missing(known[recalls[place].namespace], failure)
            causes = {arm: cause for arm, cause in missing.items() if arm in recalls[place].arms}
            answers.append(Recall(found[place].shown.found, causes))
        else:
            answers.append(read[place])
    return answers


async def _read(
    store: BaseStore, ops: Sequence[Op | RecallOp], recalls: Mapping[int, RecallOp]
) -> tuple[dict[int, Result], dict[Namespace, list[SearchItem]], Nearest, str]:
    """Return other reads by place, the first page of each namespace, what is nearest, and why that is not known."""
    others = [place for place in range(len(ops)) if place not in recalls]
    spaces = list(dict.fromkeys(op.namespace for op in recalls.values()))
    needed: list[Op] = [*(cast("Op", ops[place]) for place in others), *(first_page(store, space) for space in spaces)]
    near = [place for place, op in recalls.items() if Arm.VECTOR in op.arms and op.question.text.strip()]
    searches = [_nearest_to(recalls[place]) for place in near]
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


def _nearest_to(op: RecallOp) -> SearchOp:
    room = max(_NEAREST, op.limit + len(op.without))
    return SearchOp(op.namespace, dict(op.conditions) or None, room, 0, op.question.text, refresh_ttl=False)


def _scored(
    store: BaseStore,
    op: RecallOp,
    texts: IndexedTexts,
    nearest: Sequence[SearchItem],
    calibration: Calibration | None,
) -> _Found:
    cosines = np.full(texts.size, np.nan)
    for item in nearest:
        if item.namespace == op.namespace and item.score is not None:
            cosines[texts.texts_of([item.key])] = cosine_of(store, item.score)
    ranked = score_compared(KnownCosines(texts, cosines), op, calibration or UNMEASURED)
    has_vectors = any(item.score is not None for item in nearest)
    return _Found(op, HitsToShow(op, ranked), () if has_vectors else nearest)


async def _show(
    store: BaseStore,
    found: Sequence[_Found],
    fresh: dict[Namespace, dict[str, Item | None]],
    calibration: Calibration | None,
) -> None:
    """Take what was found as it is by now, until there is enough of each."""
    left = list(found)
    while left:
        wanted = {one.op.namespace: set[str]() for one in left}
        for one in left:
            wanted[one.op.namespace] |= one.next_keys()
        left = [one for one in left if one.shown.waiting]
        lacking = [(space, key) for space, keys in wanted.items() for key in keys if key not in fresh[space]]
        if lacking:
            items = await store.abatch([GetOp(space, key, refresh_ttl=False) for space, key in lacking])
            for (space, key), item in zip(lacking, items, strict=True):
                fresh[space][key] = cast("Item | None", item)
        for one in left:
            one.take(fresh[one.op.namespace], calibration)
    for one in found:
        one.fill_up()


def _missing(known: KnownItems, failure: str) -> dict[Arm, str]:
    missing = {Arm.VECTOR: failure} if failure else {}
    if known.cut:
        missing[Arm.LEXICAL] = f"this store has no index of words, and only {MOST} of a namespace's items are read"
    return missing
