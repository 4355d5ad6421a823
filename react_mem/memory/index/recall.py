"""A recall: the operation that finds memories by all arms at once, where a `SearchOp` compares vectors only."""

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
        question: What is asked.
        conditions: What a field must hold, or must not: {"kind": "fact"}, {"status": {"$ne": "archived"}}; of the
            fields that the index knows (`memory.model.kinds.filter_marks`).
        limit: How many items.
        without: Keys that the caller has already.
        similarity: How similar, from 0 to 1, a text must be for the vector arm to propose it.
        arms: The arms that count.
        pairs: Whether a message brings the answer or the question that belongs to it.
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
    """Return an item as a search returns it, with how well it was found."""
    return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)


PARTNER_FIELDS = ("role", "text", "created_at")
"""Fields of a message that are read of the partner of another one, beside its id."""


@dataclass(frozen=True)
class RecallHit:
    """One item that was recalled.

    Args:
        item: The item; its score is the sum of the arms' parts.
        arms: What each arm contributed.
        similarity: How similar its nearest text is, from 0 to 1 and calibrated; None without vectors.
        passage: The part of a long text that matched; empty where the whole text did.
        partner: The message before or after it that belongs to it, with its id and at least `PARTNER_FIELDS` of its
            value; None where there is none.
    """

    item: SearchItem
    arms: Mapping[Arm, float]
    similarity: float | None
    passage: str = ""
    partner: Mapping[str, Any] | None = None

    @property
    def key(self) -> str:
        """Key of its item."""
        return self.item.key

    @property
    def text(self) -> str:
        """Text of the hit: of a long text, the passage that matched."""
        return self.passage or str(self.item.value.get("text", ""))


@dataclass(frozen=True)
class Recall:
    """Recall results, the best first.

    Args:
        found: The items.
        missing: The arms that could not be asked, with the reason.
    """

    found: Sequence[RecallHit] = ()
    missing: Mapping[Arm, str] = field(default_factory=dict)

    def without(self, causes: Mapping[Arm, str]) -> Recall:
        """Return the same, with more arms that could not be asked, and why."""
        return replace(self, missing={**self.missing, **causes}) if causes else self


# Facts whose own last day has passed: they are read as history, though nobody has ended them.


def is_over(value: Mapping[str, Any], at: datetime) -> bool:
    """Return whether a fact that is believed tells of something that was over by a time.

    Args:
        value: A record, as JSON.
        at: The time; one with a zone.
    """
    until = value.get("valid_to")
    if not FACT.matches(value) or not value.get("current", True) or not until:
        return False
    return with_zone(datetime.fromisoformat(str(until))) < at


def as_read(value: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    """Return a record as it is read at a time: what is over by then is not current.

    Args:
        value: The record, as JSON.
        at: The time; one with a zone.
    """
    return {**value, "current": False} if is_over(value, at) else dict(value)


def only(answer: Any, wanted: Callable[[Mapping[str, Any]], bool]) -> Any:
    """Return a store's answer to a search with the items that are wanted.

    Args:
        answer: Items, or what a recall found.
        wanted: Returns whether the item with a value is.
    """
    if isinstance(answer, Recall):
        return Recall([one for one in answer.found if wanted(one.item.value)], answer.missing)
    return [item for item in answer if wanted(item.value)]


# Score fusion: a weighted sum of the arms' scores, with weights chosen by measurement.

LEXICAL = 1.0
"""BM25 in its own units: the sum of the words' rarities (natural logarithm), saturated."""

VECTOR = 48.0
"""A similarity, calibrated (0.5 unrelated, 0.9 nearest): the same whatever the embedder."""

WINDOW = 22.0
"""The mean similarity of the neighbours, on the same scale; of a text without any, its own."""

SPEAKER = 7.0
"""Said by whom the question names, or by the user where it says "I"."""

SPEAKS_OF_ITSELF = 1.0
"""Said in the first person: people are asked about, not what they remarked on."""

TIME = 7.5
"""Said in a time that the question names, falling with the distance."""

TIME_DECAY_DAYS = 14.0
"""Days after which that is down to a third: "yesterday" and "last weekend" are said some days later."""

TELLS_WHEN = 0.9
"""Has a time in it, where the question asks for one."""

HUB = 16.5
"""Nearness to others that are near to the question, on the vectors' scale, taken away: what is near to everything says
little ("cross-domain similarity local scaling", Conneau et al., 2018)."""

INSTRUCTS = 1.0
"""Weight of what the user told to be done from now on."""

INSTRUCTS_ON = 190.0
"""Weight of how much nearer it is than the user's instructions are in the mean, on the vectors' scale: it shares its
topic with the question at most, and no word, but of several it is the one that is meant."""

PREFERS = 5.0
"""Weight of what the user would rather have."""

PREFERS_ON = 190.0
"""Weight of how much nearer it is than the user's preferences are in the mean."""

SATURATION = 0.8
"""BM25's k1: how soon the same word again counts no more."""

LENGTH = 0.75
"""BM25's b: how much a long text's words count less. Firm: long answers mention everything."""

KERNEL = (0.25, 0.5, 1.0, 0.6, 0.3)
"""Weights of a word that stands two texts before, one before, in the text, one after, two after: an answer is found
by the words of its question. Measured on LoCoMo's conversations by BM25 alone: without 60.7 % recall@10, with 72."""

SEEDS = 30
"""Texts that an arm proposes. With their neighbours some 150 are scored; twice as many, or all of them, find no more
(measured: 83.0 % recall@10 over both sets with 30, 82.8 with 60)."""

GRAPH = 0.01
"""Cap of what links add, as a share of the best score, since it is added to scores of any scale. Measured
as above: 0.01 and 0.02 change one question in a thousand, 0.1 costs up to 1.4 points, the more links the more."""


# Hits of a recall on their way to be shown: each as its item is by then, if it still is what was asked for.

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
