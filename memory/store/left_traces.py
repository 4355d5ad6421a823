"""Traces that a database still has of somebody who was erased: SQL over every table that there is, known here or not.

It shares nothing with what erases: the tables, and the columns that say whose a row is, are those of the catalogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, LiteralString, Protocol, runtime_checkable

from psycopg import AsyncConnection, Error
from psycopg.rows import DictRow
from psycopg.sql import SQL, Composed, Identifier

from react_mem.memory.store.distribution import is_distributed

_TABLES = """
    SELECT n.nspname AS schema, c.relname AS name,
           array_agg(a.attname::text) FILTER (WHERE a.attname IN ('owner', 'prefix', 'key', 'thread_id')) AS marks
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relkind IN ('r', 'm') AND c.relpersistence <> 't'
      AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
    GROUP BY 1, 2 ORDER BY 1, 2
"""

_STATISTICS: LiteralString = "SELECT count(*) AS rows FROM pg_stats AS t WHERE t::text LIKE ANY(%s)"
# The rows of a cluster are read from here, its statistics only on each node.
_STATISTICS_OF_NODES: LiteralString = """
    SELECT coalesce(sum((CASE WHEN success THEN result ELSE 'no answer' END)::bigint), 0) AS rows
    FROM run_command_on_workers(
        format('SELECT count(*) FROM pg_stats AS t WHERE t::text LIKE ANY(%%L::text[])', %s::text[])
    )
"""

_SECONDS = 60
"""Seconds that are spent on one table: of a very large one the receipt says that it could not be read."""

_MIN_WORDS = 16
"""Characters of what is looked for word by word: less may stand in anything."""

_MAX_PHRASES = 20


@dataclass(frozen=True)
class Traces:
    """Evidence that would give away that something was not erased.

    Args:
        owner: The label of the owner.
        user_id: The owner as runs name them.
        keys: The keys of the records that were removed.
        threads: The threads that were deleted.
        said: What the records said.
        whole: Whether all of the owner was erased.
    """

    owner: str
    user_id: str
    keys: tuple[str, ...]
    threads: tuple[str, ...]
    said: tuple[str, ...]
    whole: bool

    def patterns(self) -> list[str]:
        """Return what a row that is nobody's must not be like: the user as JSON has them, and what they said."""
        named = [f'"user_id": "{self.user_id}"', f"memory.{self.owner}."] if self.whole else []
        exact = [*named, *self.threads, *phrases(self.said)]
        # binary columns are shown in hexadecimal
        forms = [form for one in exact for form in (one, one.encode("utf-8", "surrogatepass").hex())]
        return [f"%{_escaped(form)}%" for form in forms]


@dataclass(frozen=True)
class TracesFound:
    """Rows of a table that tell of what was erased.

    Args:
        table: The table.
        rows: How many there are.
        problem: Why it could not be read; empty where it was.
    """

    table: str
    rows: int
    problem: str = ""


@runtime_checkable
class TracedStore(Protocol):
    """A store that can look through all that its database has."""

    async def atraces(self, traces: Traces) -> list[TracesFound]:
        """Return what each table has of something that was erased."""


async def find_traces(conn: AsyncConnection[DictRow], traces: Traces) -> list[TracesFound]:
    """Look at every row of every table, and at what the planner keeps of them.

    Rows of other owners and of other threads are theirs: they may well say the same.

    Args:
        conn: An autocommit connection of the role that owns the tables.
        traces: What is looked for.
    """
    tables = await (await conn.execute(_TABLES)).fetchall()
    found = []
    for table in tables:
        place = Identifier(table["schema"], table["name"])
        query, values = _asked(place, table["marks"] or [], traces)
        found.append(await _counted(conn, f"{table['schema']}.{table['name']}", query, values))
    said = [f"%{_escaped(one)}%" for one in phrases(traces.said)]
    found.append(await _counted(conn, "pg_stats", SQL(_STATISTICS), [said]))
    if await is_distributed(conn):
        found.append(await _counted(conn, "pg_stats of the nodes", SQL(_STATISTICS_OF_NODES), [said]))
    return found


async def _counted(
    conn: AsyncConnection[DictRow], name: str, query: SQL | Composed, values: Sequence[Any]
) -> TracesFound:
    try:
        async with conn.transaction():
            await conn.execute(SQL("SELECT set_config('statement_timeout', %s, TRUE)"), [f"{_SECONDS}s"])
            row = await (await conn.execute(query, values)).fetchone()
    except Error as error:
        return TracesFound(name, 0, type(error).__name__)
    return TracesFound(name, row["rows"] if row is not None else 0)


def _asked(place: Identifier, marks: Sequence[str], traces: Traces) -> tuple[Composed, list[Any]]:
    """Return the statement that counts the traces in a table, by the columns that say whose a row is."""
    counting = SQL("SELECT count(*) AS rows FROM {} AS t WHERE ").format(place)
    if "owner" in marks:
        if traces.whole or "key" not in marks:
            return counting + SQL("t.owner = %s AND %s"), [traces.owner, traces.whole]
        return counting + SQL("t.owner = %s AND t.key = ANY(%s)"), [traces.owner, list(traces.keys)]
    if "thread_id" in marks:
        if not traces.whole:
            return counting + SQL("t.thread_id = ANY(%s)"), [list(traces.threads)]
        named = f'%"user_id": "{_escaped(traces.user_id)}"%'
        return counting + SQL("t.thread_id = ANY(%s) OR t::text LIKE %s"), [list(traces.threads), named]
    return counting + SQL("t::text LIKE ANY(%s)"), [traces.patterns()]


def phrases(said: Sequence[str]) -> list[str]:
    """Return pieces of what was said that are long enough to be nobody else's, as any encoding of JSON has them.

    >>> phrases(['I keep a "zebrafish" in the blue tank', "Yes."])
    [' in the blue tank']
    """
    found: dict[str, None] = {}
    for text in said:
        plain = text.translate(dict.fromkeys(map(ord, '"\\\n\r\t\x00'), "\n"))
        longest = max(plain.split("\n"), key=len)
        if len(longest) >= _MIN_WORDS:
            found[longest[:200]] = None
        if len(found) == _MAX_PHRASES:
            break
    return list(found)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
