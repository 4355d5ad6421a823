"""Background work: items with a due time, their queue in the store, and the leases on them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from typing import Any, Literal, Self, cast

from langgraph.store.base import BaseStore, Item, PutOp, SearchOp
from pydantic import BaseModel, Field

from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.namespaces import WORK, Namespace, decode, work_namespace
from react_mem.memory.model.records import now, record_id
from react_mem.memory.store.transactions import Guard, compare_and_set

Kind = Literal["extract", "conclude", "maintain", "erase", "retain"]
Place = tuple[Namespace, str]  # address of an item: its namespace and its key
_ALL = 100_000  # limit above the items of any owner, which are at most three for each conversation in progress


class Work(BaseModel, extra="ignore", frozen=True):
    """Work item.

    Times are whole milliseconds since 1970: LangGraph's own PostgreSQL store compares them as text, which is right for
    numbers of the same length.

    Args:
        kind: `extract`: extract from the messages. `maintain`: the same for a turn that was never closed, and once the
            conversation is quiet, conclude it and reflect. `conclude`: do so now. `erase`: erase hidden memories that
            are due. `retain`: a round of retention, of no owner.
        session: The conversation; of hidden memories, the wish.
        due_at: When it is due; while leased, the end of the lease.
        lease_by: The worker that has it.
        last_error: The type of the last failure; never its text, which may quote the user.
    """

    kind: Kind
    agent: str
    session: str
    due_at: int
    lease_by: str = ""
    attempts: int = Field(0, ge=0)
    last_error: str = ""

    @property
    def key(self) -> str:
        """Key of the item, the same for equal work."""
        return record_id("work", self.kind, self.agent, self.session)

    def place(self, user_id: str) -> Place:
        """Return the place of the item."""
        return work_namespace(user_id), self.key

    def to_value(self) -> dict[str, Any]:
        """Return the item as the store's JSON object."""
        return self.model_dump(mode="json")

    @classmethod
    def from_value(cls, value: dict[str, Any]) -> Self:
        """Read an item back from the store."""
        return cls.model_validate(value)


def upkeep(agent: str, session: str, quiet_after: float) -> Work:
    """Return the work that learns from an agent's steps once the conversation has been quiet for some seconds."""
    due_at = int((now().timestamp() + quiet_after) * 1000)
    return Work(kind="maintain", agent=agent, session=session, due_at=due_at)


def put_work(user_id: str, work: Work) -> PutOp:
    """Return the write of an item, without an index."""
    namespace, key = work.place(user_id)
    return PutOp(namespace, key, work.to_value(), index=False)


async def forgotten_work(store: BaseStore, user_id: str, session_id: str | None = None) -> list[PutOp]:
    """Return the removals of an owner's work, of one conversation or, for None, of all."""
    namespace = work_namespace(user_id)
    chosen = {"session": session_id} if session_id is not None else None
    found = await store.asearch(namespace, filter=chosen, limit=_ALL, refresh_ttl=False)
    return [PutOp(item.namespace, item.key, None) for item in found]


Listener = Callable[[Sequence[tuple[str, Work]]], None]

_lock = threading.Lock()
_listeners: set[Listener] = set()
"""Running workers of this process, in any event loop and on any store: a worker that hears of work in another database
finds nothing there.
"""


def listen(listener: Listener) -> Callable[[], None]:
    """Subscribe, from any thread, to pairs of owner and work written by this process; return the way to unsubscribe."""
    with _lock:
        _listeners.add(listener)

    def end() -> None:
        with _lock:
            _listeners.discard(listener)

    return end


def announce(user_id: str, works: Iterable[Work]) -> None:
    """Notify the workers of this process about work that has just been written."""
    pairs = [(user_id, work) for work in works]
    with _lock:
        listeners = list(_listeners)
    for listener in listeners:
        listener(pairs)


# Names of workers, and the test whether one of them is surely dead.

_HOST = socket.gethostname()


def worker_name() -> str:
    """Return a name for a new worker with its host and process."""
    return f"{_HOST}/{os.getpid()}/{uuid.uuid4().hex}"


def is_dead(name: str) -> bool:
    """Return true if the worker's process is gone; false where the test is impossible, as on another machine.

    >>> is_dead(worker_name()), is_dead("elsewhere/1/abc"), is_dead("")
    (False, False, False)
    """
    host, _, rest = name.partition("/")
    pid, _, _ = rest.partition("/")
    if host != _HOST or not pid.isdecimal() or os.name != "posix":
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        # it is there, and somebody else's
        return False
    return False


# Work queue in a store: due items, and claim, renewal, release and completion by compare-and-set.

LEASE_SECONDS = 30.0  # lease without renewal after which a worker is taken for dead
_FIRST_RETRY, _LAST_RETRY = 15.0, 3600.0  # seconds until work that failed is tried again, doubling
_OVERDUE_MS = (3_600_000, 600_000, 60_000, 0)
"""Pages of a search: where more is due than is read, a store lists the latest written, not the longest overdue."""

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

    async def due(self, agents: Sequence[str], limit: int) -> list[Held]:
        """Return the due items of some agents, the longest overdue first, at least `limit` of each if there are."""
        at = self.now()
        wanted = [{"due_at": {"$lte": at - late}, "agent": agent} for agent in agents for late in _OVERDUE_MS]
        asked = [SearchOp((WORK,), filter=one, limit=limit, refresh_ttl=False) for one in wanted]
        pages = await self._store.abatch(asked)
        found = {(item.namespace, item.key): item for page in cast("list[list[Item]]", pages) for item in page}
        return sorted(map(_held, found.values()), key=lambda one: one.work.due_at)

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

_SPARE = 100  # entries beyond twice the valid ones, before the heap is rebuilt


class KnownWork(dict[Place, Held]):
    """Cache of work items as last seen, by place; another process may have changed them since."""

    def __init__(self) -> None:
        super().__init__()
        # what is removed or put off stays in both until it is come to
        self._later: list[tuple[int, Place]] = []
        self._due: dict[str, list[tuple[int, Place]]] = {}

    def add(self, held: Held) -> None:
        """Add or replace an item."""
        before, self[held.place] = self.get(held.place), held
        if before is not None and before.work.due_at == held.work.due_at:
            return  # it is in its place already, however often it is found
        if len(self._later) > 2 * len(self) + _SPARE:
            # every turn puts the work of its conversation off
            self._later = [(one.work.due_at, place) for place, one in self.items()]
            self._due.clear()
            heapify(self._later)
        else:
            heappush(self._later, (held.work.due_at, held.place))

    def next(self, at: int, without: Collection[str]) -> Held | None:
        """Return the next item due at a time in milliseconds, or None; it stays until it is removed.

        Its owner is served last from now on; the owners of `without` have to wait.
        """
        while self._later and self._later[0][0] <= at:
            due_at, place = heappop(self._later)
            if self._is_there(due_at, place):
                heappush(self._due.setdefault(self[place].user_id, []), (due_at, place))
        while (owner := next((one for one in self._due if one not in without), None)) is not None:
            waiting = self._due.pop(owner)
            while waiting and not self._is_there(*waiting[0]):
                heappop(waiting)
            if waiting:
                self._due[owner] = waiting
                return self[waiting[0][1]]
        return None

    def next_due(self) -> int | None:
        """Return the earliest due time after the last call of `next`; None where there is none."""
        while self._later and not self._is_there(*self._later[0]):
            heappop(self._later)
        return self._later[0][0] if self._later else None

    def _is_there(self, due_at: int, place: Place) -> bool:
        held = self.get(place)
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
