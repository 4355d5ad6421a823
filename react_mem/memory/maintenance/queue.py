"""Work queue in a store: due items, and claim, renewal, release and completion by compare-and-set."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import Any, Literal

from langgraph.store.base import BaseStore, GetOp, Item, SearchOp

from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import CONVERSATION, PENDING
from react_mem.memory.model.namespaces import WORK, decode, scope_namespace
from react_mem.memory.store.owned import users_with
from react_mem.memory.store.transactions import Guard, compare_and_set
from react_mem.memory.work.items import Place, Work, is_dead, put_work

LEASE_SECONDS = 30.0
"""Lease without renewal after which a worker is taken for dead."""

_FIRST_RETRY, _LAST_RETRY = 15.0, 3600.0
"""Seconds until work that failed is tried again, doubling."""

_OVERDUE_MS = (3_600_000, 600_000, 60_000, 0)
"""Search order when more is due than is read: the longest overdue first. A store lists the latest written first."""

_MANY = 1_000
"""Items read where the due ones of few owners fill a page."""

_ALL = 100_000

Clock = Callable[[], float]


@dataclass(frozen=True)
class Held:
    """Work item as stored: place, owner and content."""

    place: Place
    user_id: str
    work: Work


class WorkQueue:
    """Work of all owners in one store; the clock gives seconds since 1970."""

    def __init__(self, store: BaseStore, clock: Clock = time.time, lease_seconds: float = LEASE_SECONDS) -> None:
        self._store = store
        self._clock = clock
        self.lease_seconds = lease_seconds

    def now(self) -> int:
        """Return the time, in milliseconds."""
        return int(self._clock() * 1000)

    async def due(self, agents: Sequence[str], limit: int, owners: int = 1) -> list[Held]:
        """Return the due items of some agents, the longest overdue first, at least `limit` of each if there are.

        `owners` is the number of owners to find, by reading more: an owner's items are done one by one.
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
        """Take a lease on an item for a worker; None if it has changed since, as when another worker was faster."""
        return await self._change(held, due_at=self._lease_end(), lease_by=worker)

    async def renew(self, held: Held) -> Held | None:
        """Prolong a lease; None if the item is not ours any more."""
        return await self._change(held, due_at=self._lease_end())

    def is_leased(self, held: Held) -> bool:
        """Return true if a living worker has the item."""
        return bool(held.work.lease_by) and held.work.due_at > self.now() and not is_dead(held.work.lease_by)

    async def again(self, held: Held, due_at: int) -> Held | None:
        """End a lease on an item that is due again; None if it has changed since."""
        return await self._change(held, due_at=due_at, lease_by="", attempts=0, last_error="")

    async def failed(self, held: Held, error: str, not_before: int = 0) -> Held | None:
        """End a lease on a failed item, due again after a delay; None if it has changed since."""
        wait = min(_FIRST_RETRY * 2 ** min(held.work.attempts, 10), _LAST_RETRY)
        due_at = max(self.now() + int(wait * 1000), not_before)
        attempts = held.work.attempts + 1
        return await self._change(held, due_at=due_at, lease_by="", attempts=attempts, last_error=error)

    async def release(self, held: Held) -> None:
        """End a lease on an unfinished item: any worker may take it at once."""
        await self._change(held, due_at=self.now(), lease_by="")

    async def finish(self, held: Held) -> bool:
        """Remove an item unless it has changed since; return true if it was removed."""
        return await self._swap(held, None) is not None

    async def abandoned(self, agents: Sequence[str]) -> None:
        """Release the items of dead workers, so that nobody waits for their leases to run out."""
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


# Work that a worker knows of without asking its store: what this process wrote, and what a look found to be due.

_SPARE = 100
"""Entries beyond twice the valid ones, before the heap is rebuilt."""


class KnownWork:
    """Cache of work items as last seen; another process may have changed them since."""

    def __init__(self) -> None:
        self._items: dict[Place, Held] = {}
        # what is dropped or put off stays in both until it is come to
        self._later: list[tuple[int, Place]] = []
        self._due: dict[str, list[tuple[int, Place]]] = {}

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._items)

    def places(self) -> Iterable[Place]:
        """Return the places of the items."""
        return self._items.keys()

    def add(self, held: Held) -> None:
        """Add or replace an item."""
        before, self._items[held.place] = self._items.get(held.place), held
        if before is not None and before.work.due_at == held.work.due_at:
            return  # it is in its place already, however often it is found
        if len(self._later) > 2 * len(self._items) + _SPARE:
            # every turn puts the work of its conversation off
            self._later = [(one.work.due_at, place) for place, one in self._items.items()]
            self._due.clear()
            heapify(self._later)
        else:
            heappush(self._later, (held.work.due_at, held.place))

    def drop(self, place: Place) -> None:
        """Remove an item that is in progress, done, or another worker's."""
        self._items.pop(place, None)

    def get(self, place: Place) -> Held | None:
        """Return an item; None for an unknown one."""
        return self._items.get(place)

    def next(self, at: int, without: Collection[str]) -> Held | None:
        """Return the next item due at a time in milliseconds, or None; it stays until it is dropped.

        Its owner is served last from now on; the owners of `without` have to wait.
        """
        while self._later and self._later[0][0] <= at:
            due_at, place = heappop(self._later)
            if self._is_there(due_at, place):
                heappush(self._due.setdefault(self._items[place].user_id, []), (due_at, place))
        while (owner := next((one for one in self._due if one not in without), None)) is not None:
            waiting = self._due.pop(owner)
            while waiting and not self._is_there(*waiting[0]):
                heappop(waiting)
            if waiting:
                self._due[owner] = waiting
                return self._items[waiting[0][1]]
        return None

    def next_due(self) -> int | None:
        """Return the earliest due time after the last call of `next`; None where there is none."""
        while self._later and not self._is_there(*self._later[0]):
            heappop(self._later)
        return self._later[0][0] if self._later else None

    def _is_there(self, due_at: int, place: Place) -> bool:
        held = self._items.get(place)
        return held is not None and held.work.due_at == due_at


# The lease on an item of work, renewed while somebody is at it.

log = logging.getLogger(__name__)


class RenewedLease:
    """Lease renewed until its end, or until the item is not ours any more."""

    def __init__(self, queue: WorkQueue, held: Held) -> None:
        self._queue = queue
        self._held = held
        self._over = asyncio.Event()
        self._task = asyncio.create_task(self._renew(), name="memory:lease")

    async def end(self) -> Held:
        """Stop renewing, and return the item as last seen, the expected value of the next compare-and-set."""
        # not cancelled: what the store holds must be known, and a renewal may be under way
        self._over.set()
        await asyncio.wait([self._task])
        return self._held

    async def _renew(self) -> None:
        while not self._over.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._queue.lease_seconds / 3):
                    await self._over.wait()
                return
            try:
                renewed = await self._queue.renew(self._held)
            except Exception as error:  # the store may be back before the lease runs out
                log.debug("a lease could not be renewed: %s", cause_of(error))
                continue
            if renewed is None:
                return
            self._held = renewed


# Work for what waits without any: turns and conversations that were stored before there was a queue, or imported.

_MARK = (("memory_worker",), "swept")
_EVERY_MS = 24 * 3_600_000
_USERS_AT_ONCE = 50
_OPEN_MS = 120_000
"""Delay for an open turn, whose work must not begin before its end."""


async def sweep(store: BaseStore, at: int) -> None:
    """Add work for every pending turn and every open conversation without any; once a day for a database."""
    mark = await store.aget(*_MARK, refresh_ttl=False)
    before = mark.value if mark is not None else None
    if before is not None and before["at"] + _EVERY_MS > at:
        return
    users = await users_with(store, PENDING.place, MemoryScope.STATE)
    for start in range(0, len(users), _USERS_AT_ONCE):
        await _sweep_users(store, users[start : start + _USERS_AT_ONCE], at)
    # marked at the end: a crash leaves it to the next worker
    await compare_and_set(store, Guard(*_MARK, before), {"at": at})


async def _sweep_users(store: BaseStore, users: Sequence[str], at: int) -> None:
    open_ = {"kind": CONVERSATION.name, "ended": False}
    pending = await store.abatch([SearchOp(PENDING.namespace(u), limit=_ALL, refresh_ttl=False) for u in users])
    talks = await store.abatch(
        [SearchOp(scope_namespace(u, MemoryScope.STATE), filter=open_, limit=_ALL, refresh_ttl=False) for u in users]
    )
    wanted: list[tuple[str, Work]] = []
    for user, turns, conversations in zip(users, pending, talks, strict=True):
        works = [_work("extract", item, max(at, _created_at(item) + _OPEN_MS)) for item in _items(turns)]
        works += [_work("maintain", item, at) for item in _items(conversations)]
        # of equal work the latest counts
        latest = {work.key: work for work in sorted(works, key=lambda work: work.due_at)}
        wanted += [(user, work) for work in latest.values()]
    known = await store.abatch([GetOp(*work.place(user), refresh_ttl=False) for user, work in wanted])
    missing = [pair for pair, item in zip(wanted, known, strict=True) if item is None]
    changes = [put_work(user, work) for user, work in missing]
    if changes:
        await store.abatch(changes)


def _items(found: Any) -> list[Item]:
    return [item for item in found if isinstance(item, Item)] if isinstance(found, list) else []


def _created_at(item: Item) -> int:
    try:
        return int(datetime.fromisoformat(str(item.value.get("created_at"))).timestamp() * 1000)
    except ValueError:
        # a record that nobody can read is not to keep the others from their work
        return 0


def _work(kind: Literal["extract", "maintain"], item: Item, at: int) -> Work:
    return Work(kind=kind, agent=str(item.value.get("agent_id")), session=str(item.value.get("session_id")), due_at=at)
