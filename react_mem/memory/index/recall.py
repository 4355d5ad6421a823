"""Recall: a search by all arms at once, where a `SearchOp` compares vectors only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from langgraph.store.base import Item, SearchItem

from react_mem.memory.index.entries import meets, passage_of
from react_mem.memory.index.question import Question
from react_mem.memory.index.ranked_hits import Hit, RankedHits
from react_mem.memory.model.interface import ALL_ARMS, Arm
from react_mem.memory.model.kinds import FACT
from react_mem.memory.model.records import with_zone

Namespace = tuple[str, ...]


class RecallOp(NamedTuple):
    """Recall request for one namespace.

    Args:
        namespace: The namespace itself; those below it are not searched.
        conditions: Required or refused values of indexed fields (`memory.model.kinds.filter_marks`): {"kind": "fact"},
            {"status": {"$ne": "archived"}}.
        without: Keys to leave out.
        similarity: Minimum similarity, from 0 to 1, for proposals of the vector arm.
        pairs: True to add to each message its question or answer.
    """

    namespace: Namespace
    question: Question
    conditions: Mapping[str, Any]
    limit: int
    without: tuple[str, ...] = ()
    similarity: float = 0.0
    arms: frozenset[Arm] = ALL_ARMS
    pairs: bool = False


def scored(item: Item, score: float | None) -> SearchItem:
    return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)


PARTNER_FIELDS = ("role", "text", "created_at")
"""Fields of a message's partner, beside its id."""


@dataclass(frozen=True)
class RecallHit:
    """One recalled item.

    Args:
        item: The item with its score, the sum of the arms.
        arms: Contribution of each arm.
        similarity: Calibrated similarity of its nearest text, from 0 to 1; None without vectors.
        passage: Matching part of a long text; empty for the whole text.
        partner: The question or answer that belongs to a message, as `id` and at least `PARTNER_FIELDS`; None for none.
    """

    item: SearchItem
    arms: Mapping[Arm, float]
    similarity: float | None
    passage: str = ""
    partner: Mapping[str, Any] | None = None

    @property
    def key(self) -> str:
        return self.item.key

    @property
    def text(self) -> str:
        """The matching passage, or else the whole text."""
        return self.passage or str(self.item.value.get("text", ""))


@dataclass(frozen=True)
class Recall:
    """Recall results, the best first.

    Args:
        missing: Arms that failed, with the reason.
    """

    found: Sequence[RecallHit] = ()
    missing: Mapping[Arm, str] = field(default_factory=dict)

    def without(self, causes: Mapping[Arm, str]) -> Recall:
        return replace(self, missing={**self.missing, **causes}) if causes else self


# Facts whose own last day has passed: they are read as history, though nobody has ended them.


def is_over(value: Mapping[str, Any], at: datetime) -> bool:
    """Return true if a believed fact's validity ended before a time, which has a zone."""
    until = value.get("valid_to")
    if not FACT.matches(value) or not value.get("current", True) or not until:
        return False
    return with_zone(datetime.fromisoformat(str(until))) < at


def as_read(value: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    """Return a record as of a time, which has a zone: not current if over by then."""
    return {**value, "current": False} if is_over(value, at) else dict(value)


def only(answer: Any, wanted: Callable[[Mapping[str, Any]], bool]) -> Any:
    """Filter a store's answer, items or a recall, by the values."""
    if isinstance(answer, Recall):
        return Recall([one for one in answer.found if wanted(one.item.value)], answer.missing)
    return [item for item in answer if wanted(item.value)]


# Hits of a recall on their way to be shown: each as its item is by then, if it still is what was asked for.

_AT_ONCE = 1_000
"""Hits of one read."""


class HitsToShow:
    """Hits of one recall on their way to results: items that still exist and meet the conditions.

    Args:
        ranking: The index's hits; None for nothing.
    """

    def __init__(self, op: RecallOp, ranking: RankedHits | None = None) -> None:
        self._op = op
        self.begin(ranking)

    def begin(self, ranking: RankedHits | None) -> None:
        """Restart with another ranking."""
        self._ranking = ranking
        self._hits: Iterator[Hit] = iter(ranking) if ranking is not None else iter(())
        self.waiting: list[tuple[Hit, list[str]]] = []
        self.found: list[RecallHit] = []

    def advance(self) -> list[tuple[Hit, list[str]]]:
        """Return the next hits to read, each with candidate partners; none when enough is found or nothing is left."""
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
        """Take the hits of the last `advance`.

        Args:
            item_of: Returns an item by key; None if gone.
            partner_of: Returns the partner fields by key (`RecallHit.partner`); None if gone.
            similarity_of: Calibrates a cosine.
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
