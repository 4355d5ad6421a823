"""Read-decide-write steps with optimistic concurrency, on stores without transactions and across processes.

Every step of an owner bumps the owner's revision. On a store with guarded writes, the write goes through only if the
revision is still the one that was read; otherwise the step runs again on the new state. The database holds no lock
meanwhile, so a slow embedder stops no other process; within one process, the steps of an owner queue.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from cachetools import TTLCache
from langgraph.store.base import BaseStore, PutOp
from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow

from react_mem.errors import EmbeddingMismatch, WriteConflict
from react_mem.memory import telemetry
from react_mem.memory.model.namespaces import Namespace, meta_namespace
from react_mem.memory.model.operations import Change, write
from react_mem.memory.store.capabilities import capabilities
from react_mem.memory.store.process_state import kept_with, lock_of
from react_mem.memory.store.row_security import REFUSALS, Connection, Pool


class SeenRevisions(TTLCache[Namespace, dict[str, Any]]):
    """Revisions written by this process in the last seconds: a write expects to find them, and checks it itself.

    Later another process has probably written, and the step would run in vain.
    """

    def __init__(self) -> None:
        super().__init__(10_000, 30.0)


REVISION = "revision"
MAX_TRIES = 20
"""Five writers at once on one owner, with the waits below, need a few tries; so many lost races are a fault."""

_FIRST_WAIT, _LONGEST_WAIT = 0.005, 0.2
"""Seconds at most before the second try, doubled with each try: an immediate retry loses to the same others."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Guard:
    """Precondition of a batch: the present value of one item (optimistic concurrency); None if it must not exist."""

    namespace: Namespace
    key: str
    value: dict[str, Any] | None


async def compare_and_set(store: BaseStore, guard: Guard, value: dict[str, Any] | None) -> bool:
    """Replace an unindexed item if the guard holds, and return true if so; the value None deletes it.

    On a store without guarded writes it is atomic only among callers on this event loop.
    """
    change = PutOp(guard.namespace, guard.key, value, index=False)
    if capabilities(store).guards:
        return await capabilities(store).abatch_if([change], guard)
    lock = lock_of(guard.namespace, guard.key)
    async with lock:
        item = await store.aget(guard.namespace, guard.key, refresh_ttl=False)
        if (item.value if item is not None else None) != guard.value:
            return False
        await store.abatch([change])
        return True


async def transact(
    store: BaseStore,
    user_id: str,
    step: Callable[[], Awaitable[tuple[Result, Sequence[Change]]]],
    *,
    erases: bool = False,
) -> Result:
    """Do a step of reading, deciding and writing as if no one else wrote, and return its result.

    On a store without guarded writes this holds within the process; between processes, records have the same ids
    everywhere, so that none is written twice. The step may be called again. `erases` says that the writes delete
    everything of the owner, which a store with `aerase_if` does at once.

    Raises:
        WriteConflict: If others were faster every time.
    """
    namespace = meta_namespace(user_id)

    async def revised(before: dict[str, Any] | None) -> tuple[Result, Sequence[Change]]:
        result, changes = await step()
        # where no row of an owner opens, there is something to erase all the same
        if not changes and not (erases and capabilities(store).refused_rows(user_id)):
            return result, ()
        after = {"revision": (before or {}).get("revision", 0) + 1}
        return result, [*changes, PutOp(namespace, REVISION, after, index=False)]

    return await transact_on(
        store, namespace, REVISION, revised, what="memory of this user", unread=not erases, erases=erases
    )


async def transact_on(
    store: BaseStore,
    namespace: Namespace,
    key: str,
    step: Callable[[dict[str, Any] | None], Awaitable[tuple[Result, Sequence[Change]]]],
    *,
    what: str,
    unread: bool = False,
    erases: bool = False,
) -> Result:
    """Do a step of reading, deciding and writing as if no one else changed one item meanwhile. See `transact`.

    The step takes the item's value, None if absent, and returns its result with the writes, one of which changes the
    item. `what` is the subject of the error message. With `unread` the step decides nothing by the item: the value that
    this process wrote last is assumed without a read, and the guarded write finds out if it has changed.
    """
    can, seen = capabilities(store), kept_with(store, SeenRevisions)
    write_if = can.aerase_if if erases else can.abatch_if
    lock = lock_of(namespace, key)
    async with lock:
        for attempt in range(MAX_TRIES):
            before = seen.get(namespace) if unread and can.guards else None
            if before is None:
                item = await store.aget(namespace, key)
                before = item.value if item is not None else None
            result, changes = await step(before)
            if not changes:
                return result
            if not can.guards:
                await write(store, changes)
                return result
            with telemetry.span("write") as measured:
                measured.set(changes=len(changes))
                written = await write_if(changes, Guard(namespace, key, before))
            if unread:
                seen.pop(namespace, None)
                now = [change.value for change in changes if (change.namespace, change.key) == (namespace, key)]
                if written and now and now[-1] is not None:
                    seen[namespace] = dict(now[-1])
            if written:
                return result
            await asyncio.sleep(random.uniform(0, min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt)))  # noqa: S311 - no secret
    raise WriteConflict(f"{what} is being written by others all the time, gave up after {MAX_TRIES} tries")


# Writes that are sent again where the database ended them for reasons that are over.

_ATTEMPTS = 3
"""A batch can deadlock with LangGraph's own store, which locks items before their owner."""


async def until_no_deadlock(
    pool: Pool,
    carry_out: Callable[[Connection], Awaitable[Result]],
) -> Result:
    """Carry out a write in a transaction of its own and return its result.

    It is called again after a deadlock, or after a refusal by row-level security that is gone since.
    """
    attempts = itertools.count(1)
    while True:
        had_row_security = getattr(pool, "has_row_security", False)
        try:
            async with pool.connection() as conn:
                return await carry_out(conn)
        except errors.DeadlockDetected:
            if next(attempts) == _ATTEMPTS:
                raise
        except REFUSALS:
            # the tables were distributed meanwhile, of which the pool knows now
            if not had_row_security or getattr(pool, "has_row_security", False):
                raise


# Guard against comparing vectors of different models while a database moves from one to another.


async def check_model(conn: AsyncConnection[DictRow], model: str) -> None:
    """Raise EmbeddingMismatch if the database's vectors are not of a model."""
    row = await (await conn.execute("SELECT name FROM memory_embedding")).fetchone()
    if row is None or row["name"] != model:
        stored = row["name"] if row else "another model"
        raise EmbeddingMismatch(
            f"The memories in this database have been re-embedded with {stored} since this process started, which "
            f"embeds with {model}. Start it again with EMBEDDING_MODEL={stored}."
        )
