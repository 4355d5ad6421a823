"""A store whose lists have another order for each page, as those have that order by a time which many items share."""

from __future__ import annotations

from collections.abc import Iterable

from langgraph.store.base import BaseStore, Op, Result, SearchItem, SearchOp
from langgraph.store.memory import InMemoryStore

_ALL = 1_000_000


class ShuffledStore(BaseStore):
    """Keeps its items in memory; the first page of a list goes by one order, those behind it by another."""

    def __init__(self) -> None:
        self._inner = InMemoryStore()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations."""
        given = list(ops)
        whole = [op._replace(limit=_ALL, offset=0) if isinstance(op, SearchOp) else op for op in given]
        done = self._inner.batch(whole)
        return [_page(op, found) if isinstance(op, SearchOp) else found for op, found in zip(given, done, strict=True)]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations."""
        return self.batch(ops)


def _page(op: SearchOp, found: Result) -> list[SearchItem]:
    assert isinstance(found, list)
    items: list[SearchItem] = list(found)  # type: ignore[arg-type]
    return (items[::-1] if op.offset else items)[op.offset : op.offset + op.limit]
