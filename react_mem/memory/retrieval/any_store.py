"""Recalls on any LangGraph store, by all arms, whether it takes them itself or not."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.store.base import BaseStore, Op, Result

from react_mem.memory.index.recall import Recall, RecallOp, RecallStore
from react_mem.memory.retrieval.stock_recall import recall_stock


async def recall(store: BaseStore, ops: Sequence[Op | RecallOp]) -> list[Result | Recall]:
    """Run reads and recalls in one batch, on any store.

    Args:
        store: The store.
        ops: Reads and recalls.

    Returns:
        Their results, in order.
    """
    if not ops:
        return []
    answers = await (store.arecall(ops) if isinstance(store, RecallStore) else recall_stock(store, ops))
    return [
        answer.without({arm: cause for arm, cause in op.question.missing.items() if arm in op.arms})
        if isinstance(op, RecallOp) and isinstance(answer, Recall)
        else answer
        for op, answer in zip(ops, answers, strict=True)
    ]
