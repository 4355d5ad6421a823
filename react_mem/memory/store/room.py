"""Quotas of an owner: stored memories and bytes, and messages and model calls a day.

One query over the owner's rows counts the stored memories and bytes. No turn waits for it twice: the process
adds its own writes, and counts again when the count is old (its lifetime grows with its size), or before it
refuses anything. So an owner costs the database about a thousandth of its time, at any size.

Data derived from stored messages (facts, summaries, skills) is counted but never refused: a bound is exceeded
by at most that much.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_quotas
from typing import Any
from weakref import WeakKeyDictionary

from cachetools import LRUCache
from langgraph.store.base import BaseStore, Item, PutOp
from psycopg.rows import DictRow
from pydantic import BaseModel

from react_mem.errors import MemoryFull, QuotaExceeded
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import KINDS
from react_mem.memory.model.namespaces import PENDING, ROOT, decode, meta_namespace, owner_namespace
from react_mem.memory.model.operations import Change
from react_mem.memory.model.policy import QuotaSettings
from react_mem.memory.model.records import now
from react_mem.memory.model.states import MAX_FAILURES
from react_mem.memory.model.views import MemoryUsage, QueueHealth
from react_mem.memory.store.attachments import sizes
from react_mem.memory.store.capabilities import WHOLE, capabilities
from react_mem.memory.store.migrations import table_exists
from react_mem.memory.store.process_state import kept_with, lock_of
from react_mem.memory.store.row_security import Connection
from react_mem.memory.store.transactions import transact_on

_FRESH_SECONDS = 5.0
_SECONDS_A_MEMORY = 0.002
"""Seconds of a count's lifetime for each memory: counting one takes the database about two microseconds."""

_A_VALUE = 8
"""Assumed bytes of a number, a boolean or a name."""

SCOPES = tuple(map(str, MemoryScope))

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Stored:
    """Usage of an owner's quotas: records in all scopes, and bytes of these, their attachments and bookkeeping."""

    memories: int
    bytes: int


@dataclass
class Count:
    """Cached usage of an owner: a count at a time of the monotonic clock, and the amount stored by this process since.

    `refused` is true if a write has been refused since the last accepted one. `writing` has the amounts of the tasks
    that may not have written yet: the database does not count these.
    """

    at: float
    stored: Stored
    memories: int = 0
    bytes: int = 0
    refused: bool = False
    writing: WeakKeyDictionary[asyncio.Task[Any], tuple[int, int]] = field(default_factory=WeakKeyDictionary)

    async def again(self, store: BaseStore, user_id: str) -> Count:
        """Return a count of now, with the amounts that other tasks are writing."""
        own = asyncio.current_task()
        others = {task: more for task, more in self.writing.items() if task is not own and not task.done()}
        writing = WeakKeyDictionary(others)
        memories, size = (sum(part) for part in zip(*writing.values(), strict=True)) if writing else (0, 0)
        at, stored = time.monotonic(), await stored_of(store, user_id)
        return Count(at, stored, memories, size, self.refused, writing)

    @property
    def is_old(self) -> bool:
        """Return true if the count has expired."""
        return time.monotonic() - self.at > _FRESH_SECONDS + _SECONDS_A_MEMORY * self.stored.memories

    def over(self, quotas: QuotaSettings, memories: int, size: int) -> MemoryFull | None:
        """Return the error of the exceeded quota if this much is added, or None."""
        held = (
            ("memories", quotas.memories, self.stored.memories + self.memories, memories),
            ("bytes", quotas.bytes, self.stored.bytes + self.bytes, size),
        )
        for name, limit, has, more in held:
            if limit is not None and has + more > limit:
                return MemoryFull(name, limit, has)
        return None


class Counts(LRUCache[str, Count]):
    """Counts by owner."""

    def __init__(self) -> None:
        super().__init__(10_000)


async def make_room(
    store: BaseStore, user_id: str, quotas: QuotaSettings, records: Sequence[Any], attached: Sequence[Any] = ()
) -> None:
    """Check that records to be stored, with their attachments, fit within an owner's quotas, and count them.

    MemoryFull says that they do not fit; none of them is to be stored.
    """
    if (quotas.memories is None and quotas.bytes is None) or not records:
        return
    counts, size = kept_with(store, Counts), _size(records) + _size(attached)
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine runs in one
    # one after the other: all who count at once would each find the last place free
    async with lock_of(("memory_room",), user_id):
        count = counts.get(user_id)
        adds = count is not None and count.memories > 0
        if count is None or count.is_old or (adds and count.over(quotas, len(records), size)):
            count = await (count or Count(0.0, Stored(0, 0))).again(store, user_id)
        counts[user_id] = count
        full = count.over(quotas, len(records), size)
        refused, count.refused = count.refused, full is not None
        if full is None:
            count.memories += len(records)
            count.bytes += size
            before = count.writing.get(task, (0, 0))
            count.writing[task] = (before[0] + len(records), before[1] + size)
    if full is not None:
        if not refused:
            log.warning("what a user says is not remembered any more: %s", full)
        raise full


def forget_count(store: BaseStore, user_id: str) -> None:
    """Invalidate the cached usage of an owner after a removal."""
    kept_with(store, Counts).pop(user_id, None)


async def stored_of(store: BaseStore, user_id: str) -> Stored:
    """Return an owner's usage, counted now."""
    if (measured := await capabilities(store).ameasure(user_id)) is not None:
        return measured
    items = await store.asearch(owner_namespace(user_id), limit=WHOLE, refresh_ttl=False)
    attached = await sizes(store, user_id)
    memories = sum(item.namespace[2] in SCOPES for item in items)
    return Stored(memories, await asyncio.to_thread(_bytes, items) + sum(attached.values()))


def _bytes(items: Sequence[Item]) -> int:
    return sum(len(json.dumps(item.value, ensure_ascii=False, default=str).encode()) for item in items)


def _size(value: Any) -> int:
    """Return the approximate size of a value in bytes, without serialising it."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, BaseModel):
        return _size(vars(value))
    if isinstance(value, Mapping):
        return sum(_A_VALUE + _size(part) for part in value.values())
    if isinstance(value, Sequence | set | frozenset):
        return sum(map(_size, value))
    return _A_VALUE


# Quotas of a user: counted in the store, so that they survive restarts and hold over all processes.

_KEY = "quotas"
_MESSAGES, _MODEL_CALLS = "messages_a_day", "model_calls_a_day"
_DAY = timedelta(days=1)


async def take_message(store: BaseStore, user_id: str, quotas: QuotaSettings) -> None:
    """Count a message, or raise QuotaExceeded, also if no model call is left for the answer."""
    await _take(store, user_id, quotas, needed=(_MESSAGES, _MODEL_CALLS), taken=_MESSAGES)


async def take_model_call(store: BaseStore, user_id: str, quotas: QuotaSettings) -> None:
    """Count a call of the chat model before it is made, or raise QuotaExceeded."""
    if quotas.model_calls_a_day is not None:
        await _take(store, user_id, quotas, needed=(_MODEL_CALLS,), taken=_MODEL_CALLS)


async def _take(store: BaseStore, user_id: str, quotas: QuotaSettings, *, needed: Sequence[str], taken: str) -> None:
    namespace = meta_namespace(user_id)
    limits: dict[str, int | None] = quotas.model_dump()

    async def counted(before: dict[str, Any] | None) -> tuple[None, Sequence[Change]]:
        # without the owner's revision: a count changes no memory
        day, used = _used(before)
        for name in needed:
            limit = limits[name]
            if limit is not None and used.get(name, 0) >= limit:
                raise QuotaExceeded(name, limit, datetime.combine(day + _DAY, time_of_quotas(), UTC))
        if limits[taken] is None:
            return None, ()
        after = {"day": day.isoformat(), **used, taken: used.get(taken, 0) + 1}
        return None, [PutOp(namespace, _KEY, after, index=False)]

    await transact_on(store, namespace, _KEY, counted, what="the count of this user's quotas")


def _used(value: dict[str, Any] | None) -> tuple[date, dict[str, int]]:
    """Return the current day of the quotas, and the usage of that day."""
    today = now().date()
    if value is None:
        return today, {}
    day = date.fromisoformat(value["day"])
    # the clocks of two processes differ around midnight: a slow one must not reset the new day
    if day not in (today, today + _DAY):
        return today, {}
    return day, {name: number for name, number in value.items() if name != "day"}


# Statistics of a database, of one owner or of all, without reading contents.

# The rows of one owner, or of all, are a range of prefixes in any collation.
_RECORDS = """
    SELECT value ->> 'kind' AS kind, count(*) AS count, sum(pg_column_size(value))::bigint AS bytes
    FROM store WHERE prefix ~>=~ %(first)s AND prefix ~<~ %(past)s AND split_part(prefix, '.', 3) = ANY(%(scopes)s)
    GROUP BY 1
"""
_HOLDERS = """
    SELECT split_part(prefix, '.', 2) AS owner, count(*) AS count, max(updated_at) AS latest FROM store
    WHERE prefix ~>=~ %(first)s AND prefix ~<~ %(past)s
      AND split_part(prefix, '.', 3) = ANY(%(scopes)s) AND value ->> 'kind' = ANY(%(kinds)s)
    GROUP BY 1 ORDER BY latest DESC
"""
_WAITING = """
    SELECT count(*) AS waiting,
           count(*) FILTER (WHERE (value ->> 'attempts')::int > 0) AS failed,
           count(*) FILTER (WHERE (value ->> 'failures')::int >= %(parked)s) AS parked,
           min((value ->> 'created_at')::timestamptz) AS oldest
    FROM store WHERE prefix ~>=~ %(first)s AND prefix ~<~ %(past)s AND split_part(prefix, '.', 3) = %(pending)s
"""
_VECTORS = "SELECT count(*) AS count FROM store_vectors WHERE prefix ~>=~ %(first)s AND prefix ~<~ %(past)s"
_SERVER = """
    SELECT current_setting('server_version') AS version, current_setting('max_connections')::int AS limit,
           coalesce((SELECT extversion FROM pg_extension WHERE extname = 'vector'), '') AS pgvector,
           (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections
"""


@dataclass(frozen=True)
class Server:
    """The database server, the connections of all clients and their limit, and the duration of a round trip.

    The version of pgvector is empty if it is not installed.
    """

    version: str
    pgvector: str
    connections: int
    limit: int
    seconds: float


async def server_of(conn: Connection) -> Server:
    started = time.perf_counter()
    await conn.execute("SELECT 1")
    seconds = time.perf_counter() - started
    return Server(**await _row(conn, _SERVER, {}), seconds=seconds)


async def waiting_of(conn: Connection, user_id: str | None = None) -> QueueHealth:
    """Count the waiting turns of an owner, or of all owners for None."""
    if not await table_exists(conn, "store"):
        return QueueHealth(waiting=0, failed=0, parked=0, oldest=None)
    return QueueHealth(**await _row(conn, _WAITING, {**_owned(user_id), "parked": MAX_FAILURES, "pending": PENDING}))


async def usage_of(conn: Connection, user_id: str) -> MemoryUsage:
    """Count the records, bytes, vectors and pending turns of an owner, without reading contents."""
    asked = _owned(user_id)
    rows = await (await conn.execute(_RECORDS, {**asked, "scopes": [*MemoryScope]})).fetchall()
    has_vectors = await table_exists(conn, "store_vectors")
    turns = await waiting_of(conn, user_id)
    return MemoryUsage(
        kinds={row["kind"] or "": row["count"] for row in rows},
        texts=(await _row(conn, _VECTORS, asked))["count"] if has_vectors else 0,
        bytes=sum(row["bytes"] for row in rows),
        waiting=turns.waiting,
        parked=turns.parked,
    )


@dataclass(frozen=True)
class Holder:
    """A user with memories: the number that a list shows, and the time of the last write."""

    user: str
    count: int
    latest: datetime


async def holders(conn: Connection) -> list[Holder]:
    """Return the users with memories that a list shows, the latest first."""
    if not await table_exists(conn, "store"):
        return []
    kinds = [kind.name for kind in KINDS.values() if kind.listed]
    asked = {**_owned(), "scopes": [*MemoryScope], "kinds": kinds}
    rows = await (await conn.execute(_HOLDERS, asked)).fetchall()
    return [Holder(decode(row["owner"]), row["count"], row["latest"]) for row in rows]


def _owned(user_id: str | None = None) -> dict[str, object]:
    prefix = ".".join(owner_namespace(user_id) if user_id is not None else (ROOT,))
    # "/" follows "." in ASCII, and neither stands in a part
    return {"first": f"{prefix}.", "past": f"{prefix}/"}


async def _row(conn: Connection, statement: str, parameters: dict[str, object]) -> DictRow:
    row = await (await conn.execute(statement.encode(), parameters)).fetchone()
    assert row is not None  # noqa: S101 - an aggregate has one row
    return row
