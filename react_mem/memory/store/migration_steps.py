"""Online migrations: steps that run beside reads and writes, each resumed after an interruption.

A file has steps if lines such as `-- step: batches` divide it. Kinds of steps:

- `batches`: a statement that changes the next rows and returns the `place` that it reached, until it returns nothing.
  Each batch is a transaction that also stores the place.
- `index`: a `CREATE INDEX CONCURRENTLY name`. The invalid index of an interrupted one is dropped and built again.
- `transaction`: statements in one transaction. It waits for a lock on a table only briefly, since all others queue
  behind it, and then tries again.

Several processes may run them: they queue for a step's row in `memory_migration_steps`, and for no other lock.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow
from psycopg.sql import SQL, Identifier

from react_mem.errors import DatabaseUnavailable

Connection = AsyncConnection[DictRow]
_Result = TypeVar("_Result")

_STEP = re.compile(r"^-- step: (batches|index|transaction)$", re.MULTILINE)
_QUOTED_OR_END = re.compile(r"\$(\w*)\$.*?\$\1\$|'(?:[^']|'')*'|--[^\n]*|;", re.DOTALL)
_INDEX = re.compile(r"INDEX CONCURRENTLY (\w+)")

_WAIT, _LONGEST_WAIT = 0.2, 2.0
"""Seconds that others may have to queue behind a change that waits for a table, doubled each time: an autovacuum gives
way after one second."""
_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
"""Seconds between two attempts, doubled each time."""
_PATIENCE = 600.0
"""Seconds of all attempts together."""
_POLL = 0.5
"""Seconds between two looks at an index that another process builds."""

_TAKE = "SELECT step, place FROM memory_migration_steps WHERE v = %s FOR UPDATE"
# In one statement: what belongs together is of one time. Who builds an index holds this lock on the table; so does a
# vacuum, and then an invalid index is left for later.
_STATE = """
    SELECT p.step, i.indisvalid AS valid, i.indrelid::regclass::text AS of_table, EXISTS (
        SELECT FROM pg_locks l WHERE l.relation = i.indrelid AND l.mode = 'ShareUpdateExclusiveLock'
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ) AS busy
    FROM memory_migration_steps p
    LEFT JOIN pg_index i ON i.indexrelid = to_regclass(format('%%I.%%I', current_schema(), %s::text))
    WHERE p.v = %s
"""

_LEFT_BEHIND = """
    SELECT NOT indisvalid AS left_behind FROM pg_index
    WHERE indexrelid = to_regclass(format('%%I.%%I', current_schema(), %s::text))
"""

log = logging.getLogger(__name__)


def steps_of(text: str) -> list[tuple[str, str]]:
    """Return the steps of a file, each with its kind and its SQL."""
    _, *parts = _STEP.split(text)
    return list(zip(parts[::2], parts[1::2], strict=True))


def has_steps(text: str) -> bool:
    """Return true if a file is an online migration."""
    return _STEP.search(text) is not None


def statements_of(text: str) -> list[str]:
    r"""Split a text of SQL into statements: Citus propagates a multi-statement string as a whole.

    >>> statements_of("SELECT ';'; -- one; two\nDO $$ BEGIN; END $$;")
    ["SELECT ';';", '-- one; two\nDO $$ BEGIN; END $$;']
    """
    ends = [match.end() for match in _QUOTED_OR_END.finditer(text) if match[0] == ";"]
    parts = [text[start:end].strip() for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    return [part for part in parts if part]


async def run_steps(conn: Connection, number: int, text: str) -> None:
    """Run the remaining steps of a file on an autocommit connection, and record the file as done: see `patiently`."""
    await conn.execute("INSERT INTO memory_migration_steps (v) VALUES (%s) ON CONFLICT DO NOTHING", (number,))
    found = await (await conn.execute("SELECT step FROM memory_migration_steps WHERE v = %s", (number,))).fetchone()
    assert found is not None  # noqa: S101 - it stays
    for place, (kind, sql) in list(enumerate(steps_of(text)))[found["step"] :]:
        run = {"batches": _run_batches, "index": _build, "transaction": _run_at_once}[kind]
        await run(conn, number, place, sql)
    # the row stays: a late process finds nothing left to do
    await conn.execute("INSERT INTO memory_migrations (v) VALUES (%s) ON CONFLICT DO NOTHING", (number,))


async def patiently(
    conn: Connection, queue: Callable[[], Awaitable[object]], work: Callable[[], Awaitable[_Result]]
) -> _Result:
    """Run a transaction that waits for locks only briefly, and run it again until it gets them.

    `queue` waits for other migrations, however long they take, and `work` may be called again. The connection is in
    autocommit. A table that stays locked raises DatabaseUnavailable.
    """
    give_up, pause, wait = time.monotonic() + _PATIENCE, _PAUSE, _WAIT
    while True:
        try:
            async with conn.transaction():
                await queue()
                await conn.execute("SELECT set_config('lock_timeout', %s, TRUE)", (f"{wait * 1000:.0f}ms",))
                return await work()
        except (errors.LockNotAvailable, errors.DeadlockDetected) as error:
            if time.monotonic() >= give_up:
                raise DatabaseUnavailable(
                    "The database's tables could not be brought up to date: for ten minutes a transaction of somebody "
                    "else has held one of them. End it (pg_stat_activity tells), and start again."
                ) from error
            log.warning("a change of the database's tables waits for a transaction of somebody else")
        await asyncio.sleep(pause)
        pause, wait = min(2 * pause, _LONGEST_PAUSE), min(2 * wait, _LONGEST_WAIT)


async def _run_batches(conn: Connection, number: int, place: int, text: str) -> None:
    async def run() -> bool:
        found = await (await conn.execute(_TAKE, (number,))).fetchone()
        if found is None or found["step"] > place:
            return False
        row = await (await conn.execute(text.encode(), {"place": found["place"]})).fetchone()
        if row is None:
            await _finish(conn, number, place)
        else:
            await conn.execute("UPDATE memory_migration_steps SET place = %s WHERE v = %s", (row["place"], number))
        return row is not None

    while await patiently(conn, _nothing, run):
        pass


async def _run_at_once(conn: Connection, number: int, place: int, text: str) -> None:
    async def run() -> None:
        found = await (await conn.execute(_TAKE, (number,))).fetchone()
        if found is not None and found["step"] == place:
            for statement in statements_of(text):
                await conn.execute(statement.encode())
            await _finish(conn, number, place)

    await patiently(conn, lambda: conn.execute(_TAKE, (number,)), run)


async def _build(conn: Connection, number: int, place: int, text: str) -> None:
    match = _INDEX.search(text)
    assert match is not None, text  # noqa: S101 - a released file has one
    name = match[1]
    while True:
        state = await (await conn.execute(_STATE, (name, number))).fetchone()
        if state is None or state["step"] > place:
            return
        if state["valid"]:
            async with conn.transaction():
                await _finish(conn, number, place)
            return
        if state["valid"] is False:
            if state["busy"]:
                await asyncio.sleep(_POLL)
            else:
                await patiently(conn, _nothing, partial(_drop_left_behind, conn, state["of_table"], name))
            continue
        try:
            await conn.execute(text.encode())
        except (errors.DuplicateTable, errors.UniqueViolation, errors.DeadlockDetected):
            await asyncio.sleep(_POLL)  # another process has just begun it


async def _drop_left_behind(conn: Connection, table: str, name: str) -> None:
    """Drop the invalid index of a dead process, unless it was just finished."""
    await conn.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE".encode())  # the database's own spelling
    row = await (await conn.execute(_LEFT_BEHIND, (name,))).fetchone()
    if row is not None and row["left_behind"]:
        await conn.execute(SQL("DROP INDEX {}").format(Identifier(name)))


async def _finish(conn: Connection, number: int, place: int) -> None:
    await conn.execute(
        "UPDATE memory_migration_steps SET step = %s, place = NULL WHERE v = %s AND step = %s",
        (place + 1, number, place),
    )


async def _nothing() -> None:
    return None
