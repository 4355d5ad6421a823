"""A recall: the operation that finds memories by all arms at once, where a `SearchOp` compares vectors only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

from langgraph.store.base import BaseStore, Op, Result, SearchItem, SearchOp

from react_mem.memory.retrieval.fusion import ALL_ARMS, Arm
from react_mem.memory.retrieval.question import Question
from react_mem.memory.retrieval.stock import StockScales, near_enough, similarity_of
from react_mem.memory.storage.calibration import Calibration

Namespace = tuple[str, ...]

_SCALES = StockScales()
"""Of the embedders of this process; what is measured of one holds wherever it is used."""


class RecallOp(NamedTuple):
    """What to recall from one namespace.

    Args:
        namespace: The namespace itself; those below it are not searched.
        question: What is asked.
        conditions: What a field must hold, or must not: {"kind": "fact"}, {"status": {"$ne": "archived"}}; of the
            fields that the index knows (`memory.retrieval.entries.FILTERED`).
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


@dataclass(frozen=True)
class Recalled:
    """One item that was recalled.

    Args:
        item: The item; its score is the sum of the arms' parts.
        arms: What each arm contributed.
        similarity: How similar its nearest text is, from 0 to 1 and calibrated; None without vectors.
        passage: The part of a long text that matched; empty where the whole text did.
        partner: The message before or after it that belongs to it, as its value; None where there is none.
    """

    item: SearchItem
    arms: Mapping[Arm, float]
    similarity: float | None
    passage: str = ""
    partner: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """What it says: of a long text, the part that matched."""
        return self.passage or str(self.item.value.get("text", ""))


@dataclass(frozen=True)
class Recall:
    """What was recalled, the best first.

    Args:
        found: The items.
        missing: The arms that could not be asked, with the reason.
    """

    found: Sequence[Recalled] = ()
    missing: Mapping[Arm, str] = field(default_factory=dict)

    def without(self, causes: Mapping[Arm, str]) -> Recall:
        """Return the same, with more arms that could not be asked, and why."""
        return replace(self, missing={**self.missing, **causes}) if causes else self


@runtime_checkable
class RecallStore(Protocol):
    """A store whose batches take recalls, in the same round trip as its other operations."""

    async def arecall(self, ops: Sequence[Op | RecallOp]) -> list[Result | Recall]:
        """Run reads and recalls together; return their results, in order."""


async def recall(store: BaseStore, ops: Sequence[Op | RecallOp]) -> list[Result | Recall]:
    """Run reads and recalls in one batch, on any store.

    Args:
        store: One that is no `RecallStore` compares vectors only: that is its one arm, not one that is missing.
        ops: Reads and recalls.

    Returns:
        Their results, in order.
    """
    if not ops:
        return []
    if isinstance(store, RecallStore):
        answers = await store.arecall(ops)
    else:
        filtered = any(isinstance(op, RecallOp) and op.similarity for op in ops)
        calibration = _SCALES.calibration(store) if filtered else None
        found = await store.abatch([_as_search(op) if isinstance(op, RecallOp) else op for op in ops])
        answers = [
            _as_recall(op, cast("list[SearchItem]", answer), calibration) if isinstance(op, RecallOp) else answer
            for op, answer in zip(ops, found, strict=True)
        ]
    return [
        answer.without({arm: cause for arm, cause in op.question.missing.items() if arm in op.arms})
        if isinstance(op, RecallOp) and isinstance(answer, Recall)
        else answer
        for op, answer in zip(ops, answers, strict=True)
    ]


def _as_search(op: RecallOp) -> SearchOp:
    room = op.limit + len(op.without)
    return SearchOp(op.namespace, dict(op.conditions) or None, room, 0, op.question.text)


def _as_recall(op: RecallOp, items: Sequence[SearchItem], calibration: Calibration | None) -> Recall:
    new = [item for item in items if item.key not in op.without]
    found = near_enough(new, (term for term, _ in op.question.terms), op.similarity, calibration)[: op.limit]
    return Recall(
        [
            Recalled(
                item,
                arms={} if item.score is None else {Arm.VECTOR: item.score},
                similarity=similarity_of(item, calibration),
            )
            for item in found
        ]
    )
