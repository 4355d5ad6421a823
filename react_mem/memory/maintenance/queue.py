"""The queue of work in a store: what is due, and claiming, renewing, releasing and finishing it by compare-and-set."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from langgraph.store.base import BaseStore, Item, SearchOp

from react_mem.memory.model.namespaces import WORK, decode
from react_mem.memory.store.transactions import Guard, compare_and_set
from react_mem.memory.work.items import Place, Work, is_dead

LEASE_SECONDS = 30.0
"""A worker that has not renewed its lease for so long is taken for dead."""

_FIRST_RETRY, _LAST_RETRY = 15.0, 3600.0
"""Seconds until work that failed is tried again, doubling."""

_OVERDUE_MS = (3_600_000, 600_000, 60_000, 0)
"""Order when more is due than is looked at: the longest overdue first. A store lists the latest written first."""

_MANY = 1_000
"""Items that are read where the due ones of few owners fill a page."""

_ALL = 100_000

Clock = Callable[[], float]


@dataclass(frozen=True)
class Held:
    """An item as it stands in the store.

    Args:
        place: Where.
        user_id: The owner.
        work: What is stored.
    """

    place: Place
    user_id: str
    work: Work


class WorkQueue:
    """The work of all owners in one store.

    Args:
        store: The store.
        clock: Seconds since 1970.
        lease_seconds: How long a claim lasts without being renewed.
    """

    def __init__(self, store: BaseStore, clock: Clock = time.time, lease_seconds: float = LEASE_SECONDS) -> None:
        self._store = store
        self._clock = clock
        self.lease_seconds = lease_seconds

    def now(self) -> int:
        """Return the time, in milliseconds."""
        return int(self._clock() * 1000)

    async def due(self, agents: Sequence[str], limit: int, owners: int = 1) -> list[Held]:
        """Return what is due for some agents, the longest overdue first.

        Args:
            agents: The agents.
            limit: How many of each agent, at least, if there are as many.
            owners: Of how many owners, if more is read to find as many: an owner's items are done one by one.
        """
        at = self.now()
        found = await self._search([(agent, at) for agent in agents], limit)
        # where a page is full, what has waited longest may not be on it
        full = [agent for agent, page in zip(agents, found, strict=True) if len(page) == limit]
        if full:
            found += await self._search([(agent, at - late) for agent in full for late in _OVERDUE_MS[:-1]], limit)
        if full and len({one.user_id for page in found for one in page}) < owners:
            found += await self._search([(agent, at) for agent in full], _MANY)
        held = {one.place: one for page in found for one in page}
        return sorted(held.values(), key=lambda one: one.work.due_at)

    async def _search(self, asked: Sequence[tuple[str, int]], limit: int) -> list[list[Held]]:
        if not asked:
            return []
        results = await self._store.abatch(
            [
                SearchOp((WORK,), filter={"due_at": {"$lte": until}, "agent": agent}, limit=limit, refresh_ttl=False)
                for agent, until in asked
            ]
        )
        return [[_held(item) for item in page if isinstance(item, Item)] for page in results if isinstance(page, list)]

    async def get(self, user_id: str, place: Place) -> Held | None:
        """Return an item; None if it is done."""
        item = await self._store.aget(*place, refresh_ttl=False)
        return Held(place, user_id, Work.from_value(item.value)) if item is not None else None

    async def claim(self, held: Held, worker: str) -> Held | None:
        """Take a lease on an item.

        Args:
            held: The item as it was read.
            worker: Who takes it.

        Returns:
            The item, leased; None if it has changed meanwhile, as when another worker was faster.
        """
        return await self._change(held, due_at=self._lease_end(), lease_by=worker)

    async def renew(self, held: Held) -> Held | None:
        """Prolong a lease; None if the item is not ours any more."""
        return await self._change(held, due_at=self._lease_end())

    def is_leased(self, held: Held) -> bool:
        """Return whether somebody is at work on an item."""
        return bool(held.work.lease_by) and held.work.due_at > self.now() and not is_dead(held.work.lease_by)

    async def again(self, held: Held, due_at: int) -> Held | None:
        """End a lease on an item that is due again; None if it has changed meanwhile."""
        return await self._change(held, due_at=due_at, lease_by="", attempts=0, last_error="")

    async def failed(self, held: Held, error: str, not_before: int = 0) -> Held | None:
        """End a lease on an item that failed: it is due again after a while; None if it has changed meanwhile."""
        wait = min(_FIRST_RETRY * 2 ** min(held.work.attempts, 10), _LAST_RETRY)
        due_at = max(self.now() + int(wait * 1000), not_before)
        attempts = held.work.attempts + 1
        return await self._change(held, due_at=due_at, lease_by="", attempts=attempts, last_error=error)

    async def release(self, held: Held) -> None:
        """End a lease on an item that was not finished: anybody may take it at once."""
        await self._change(held, due_at=self.now(), lease_by="")

    async def finish(self, held: Held) -> bool:
        """Remove an item, unless it has changed meanwhile; tell whether it was removed."""
        return await self._swap(held, None) is not None

    async def abandoned(self, agents: Sequence[str]) -> None:
        """Make due what workers have leased that are known to be dead: nobody waits for their leases to run out."""
        if not agents:
            return
        asked = [
            SearchOp((WORK,), filter={"lease_by": {"$ne": ""}, "agent": agent}, limit=_ALL, refresh_ttl=False)
            for agent in agents
        ]
        for page in await self._store.abatch(asked):
            for item in page if isinstance(page, list) else ():
                if isinstance(item, Item) and is_dead((held := _held(item)).work.lease_by):
                    await self.release(held)

    def _lease_end(self) -> int:
        return self.now() + int(self.lease_seconds * 1000)

    async def _change(self, held: Held, **changes: object) -> Held | None:
        return await self._swap(held, held.work.model_copy(update=changes))

    async def _swap(self, held: Held, work: Work | None) -> Held | None:
        guard = Guard(*held.place, held.work.to_value())
        after = work.to_value() if work is not None else None
        if not await compare_and_set(self._store, guard, after):
            return None
        return replace(held, work=work or held.work)


def _held(item: Item) -> Held:
    return Held((item.namespace, item.key), decode(item.namespace[1]), Work.from_value(item.value))
