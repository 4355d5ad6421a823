"""A recall: the operation that finds memories by all arms at once, where a `SearchOp` compares vectors only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

from langgraph.store.base import Item, Op, Result, SearchItem

from react_mem.memory.index.question import Question
from react_mem.memory.model.arms import ALL_ARMS, Arm

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


@runtime_checkable
class RecallStore(Protocol):
    """A store whose batches take recalls, in the same round trip as its other operations."""

    async def arecall(self, ops: Sequence[Op | RecallOp]) -> list[Result | Recall]:
        """Run reads and recalls together; return their results, in order."""
