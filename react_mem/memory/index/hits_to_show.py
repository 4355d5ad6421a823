"""Hits of a recall on their way to be shown: each as its item is by then, if it still is what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from langgraph.store.base import Item

from react_mem.memory.index.entries import meets, passage_of
from react_mem.memory.index.ranked_hits import Hit, RankedHits
from react_mem.memory.index.recall import RecallHit, RecallOp, scored

_AT_ONCE = 1_000
"""Hits whose items are read at once."""


class HitsToShow:
    """Hits of one recall, of which those are taken whose items are there and meet its conditions.

    Args:
        op: The recall.
        ranking: What an index holds for it; None for nothing.
    """

    def __init__(self, op: RecallOp, ranking: RankedHits | None = None) -> None:
        self._op = op
        self.begin(ranking)

    def begin(self, ranking: RankedHits | None) -> None:
        """Begin anew with what an index holds."""
        self._ranking = ranking
        self._hits: Iterator[Hit] = iter(ranking) if ranking is not None else iter(())
        self.waiting: list[tuple[Hit, list[str]]] = []
        self.found: list[RecallHit] = []

    def advance(self) -> list[tuple[Hit, list[str]]]:
        """Return the hits whose items are to be read next, with the keys of what may belong to each.

        There are none when enough has been found, or nothing is left.
        """
        room = min(max(self._op.limit - len(self.found), 0), _AT_ONCE)
        pairs = self._ranking if self._op.pairs else None
        self.waiting = [(hit, pairs.partners(hit) if pairs is not None else []) for hit in islice(self._hits, room)]
        return self.waiting

    def take(
        self,
        item_of: Callable[[str], Item | None],
        partner_of: Callable[[str], Mapping[str, Any] | None],
        similarity_of: Callable[[float | None], float | None],
    ) -> None:
        """Take those that `advance` returned.

        Args:
            item_of: Returns the item with a key; None where it is gone.
            partner_of: Returns what is read of the partner with a key (`RecallHit.partner`); None where it is gone.
            similarity_of: Returns what a cosine means.
        """
        for hit, partners in self.waiting:
            item = item_of(hit.key)
            if item is None or not meets(self._op.conditions, item.value):
                continue
            role = item.value.get("role")
            others = (partner_of(key) for key in partners)
            self.found.append(
                RecallHit(
                    scored(item, hit.score),
                    arms=hit.arms,
                    similarity=similarity_of(hit.cosine),
                    passage=passage_of(hit.field_name, item.value),
                    partner=next((other for other in others if other and other["role"] not in (None, role)), None),
                )
            )
