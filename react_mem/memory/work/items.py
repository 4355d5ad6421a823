"""Work items: a task for a conversation with its due time, written with the turn that makes it necessary, in one batch.

Equal work is one item, and asking again moves its due time (debounce). A worker claims an item by a compare-and-set and
renews the lease while it is at work; the lease of a dead worker runs out. Any number of processes may run a worker.
"""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Self

from langgraph.store.base import BaseStore, PutOp
from pydantic import BaseModel, Field

from react_mem.memory.model.namespaces import Namespace, work_namespace
from react_mem.memory.model.records import now, record_id

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
    """Subscribe to pairs of owner and work that this process writes, from any thread; return what unsubscribes."""
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
