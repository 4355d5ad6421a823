"""Recalls on any LangGraph store: one that takes none itself is searched by vectors, and says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from langgraph.store.base import BaseStore, Op, Result, SearchItem, SearchOp

from react_mem.memory.index.recall import Recall, RecallHit, RecallOp, RecallStore
from react_mem.memory.model.arms import Arm
from react_mem.memory.retrieval.stock import calibration_of, near_enough, similarity_of
from react_mem.memory.store.calibration import Calibration


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
        calibration = calibration_of(store) if filtered else None
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
            RecallHit(
                item,
                arms={} if item.score is None else {Arm.VECTOR: item.score},
                similarity=similarity_of(item, calibration),
            )
            for item in found
        ]
    )
