"""Several stores as one: each scope of memory in a store of its own, everything else in the first.

A batch becomes one batch per store, run concurrently. No transaction spans the stores: the first store is written last,
since it holds the work queue. A crash in between is repaired by running again; the ids of records make that idempotent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, cast

from langgraph.store.base import BaseStore, ListNamespacesOp, Op, PutOp, Result, SearchOp
from langgraph.store.memory import InMemoryStore

from react_mem.memory.index.recall import Recall, RecallOp
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import ABANDONED, ROOT, Namespace
from react_mem.memory.model.receipt import write
from react_mem.memory.retrieval.stock_recall import recall_stock
from react_mem.memory.store.attachments import limit_of
from react_mem.memory.store.capabilities import StoreCapabilities, capabilities
from react_mem.memory.store.owned import WHOLE
from react_mem.memory.store.transactions import Guard

# Recalls on any LangGraph store, by all arms, whether it takes them itself or not.


async def recall(store: BaseStore, ops: Sequence[Op | RecallOp]) -> list[Result | Recall]:
    """Run reads and recalls in one batch, on any store; return their results in order."""
    if not ops:
        return []
    can = capabilities(store)
    return await (can.arecall(ops) if can.recalls else recall_stock(store, ops))


class DividedStore(BaseStore, StoreCapabilities):
    """Stores of single scopes as one (see `divided`), with the first for everything else."""

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
