"""Check after an erasure: SQL that searches every table of a database, known or not, for traces of erased data.

It shares no code with the erasure: it reads the tables, and the columns that name an owner, from the
catalogue.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import AsyncConnection, Error
from psycopg.rows import DictRow
from psycopg.sql import SQL, Composed, Identifier, Literal

from react_mem.memory.model.operations import Check
from react_mem.memory.store.checkpointer import OWNER_OF_THREAD
from react_mem.memory.store.distribution import is_distributed

_TABLES = """
    SELECT n.nspname AS schema, c.relname AS name, bool_or(row_security_active(c.oid)) AS hidden,
           array_agg(a.attname::text) FILTER (
               WHERE a.attname IN ('owner', 'prefix', 'key', 'thread_id')
                  OR a.attname = 'metadata' AND a.atttypid = 'jsonb'::regtype
           ) AS marks
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relkind IN ('r', 'm') AND c.relpersistence <> 't'
      AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
    GROUP BY 1, 2 ORDER BY 1, 2
"""

_NAMED: LiteralString = f"""(
    {OWNER_OF_THREAD} = %(user)s OR {OWNER_OF_THREAD} IS NULL AND EXISTS (
        SELECT FROM jsonb_each_text(metadata) AS told
        WHERE told.value = %(user)s AND told.key !~ '^(agent|assistant|graph|run|source|step)'
    )
)"""
"""Condition: the checkpoint names the user, under whatever key, and no other user."""

# Threads without a user in their metadata and without a record.
_NOBODYS: LiteralString = f"""
    WITH nobodys AS MATERIALIZED (
        SELECT thread_id FROM {{checkpoints}} UNION SELECT thread_id FROM {{checkpoint_blobs}}
        UNION SELECT thread_id FROM {{checkpoint_writes}}
        EXCEPT SELECT thread_id FROM {{checkpoints}} WHERE {OWNER_OF_THREAD} IS NOT NULL
    )
    SELECT thread_id FROM nobodys WHERE thread_id <> ALL(%(threads)s) AND thread_id NOT IN (
        SELECT coalesce(value ->> 'session_id', value ->> 'thread_id', '') FROM {{store}}
    )
    LIMIT {{most}}
"""  # noqa: S608 - of literals

# Value by value: a name must not match within other values.
_STATISTICS: LiteralString = """
    SELECT t.* FROM pg_stats AS t WHERE t::text LIKE ANY(%(patterns)s) OR EXISTS (
        SELECT FROM unnest(t.most_common_vals::text::text[] || t.histogram_bounds::text::text[]) AS seen
        WHERE seen = ANY(%(exact)s)
    )
"""
# The rows of a cluster are read from here, its statistics only on each node.
_STATISTICS_OF_NODES: LiteralString = """
    SELECT coalesce(sum((CASE WHEN success THEN result ELSE 'no answer' END)::bigint), 0) AS rows
    FROM run_command_on_workers(
        format('SELECT count(*) FROM pg_stats AS t WHERE t::text LIKE ANY(%%L::text[])', %(patterns)s::text[])
    )
"""

_SECONDS = 60
"""Seconds for one table: a very large one is reported as not searched."""

_MIN_WORDS = 16
"""Least characters of a text to search for: a shorter one may occur anywhere."""

_MAX_PHRASES = 2_000
_MAX_THREADS = 10_000


@dataclass(frozen=True)
class Traces:
    """Evidence of erased data to search for: labels, ids, and texts of the removed records (`said`).

    `whole` is true if all data of the owner was erased.
    """

    owner: str
    user_id: str
    keys: tuple[str, ...]
    threads: tuple[str, ...]
    said: tuple[str, ...]
    whole: bool

    def patterns(self) -> list[str]:
        """Return the LIKE patterns that no row without an owner may match: the user as JSON, and removed texts."""
        plain = [
            json.dumps({"user_id": self.user_id}, ensure_ascii=False, separators=(",", s))[1:-1] for s in (":", ": ")
        ]
        # a row as text doubles these characters
        in_rows = [form.replace("\\", "\\\\").replace('"', '""') for form in plain]
        named = [*plain, *in_rows, f"memory.{self.owner}."]
        return _patterns([*(named if self.whole else []), *self.threads, *phrases(self.said)])


async def find_traces(conn: AsyncConnection[DictRow], traces: Traces) -> list[Check]:
    """Search every row of every table, and the planner's statistics, for traces of erased data.

    Rows of other owners and threads do not count: they may well have the same text. The connection is in
    autocommit, of the role that owns the tables. Places that were not searched are in the result too.
    """
    tables = await (await conn.execute(_TABLES)).fetchall()
    nobodys, found = await _nobodys_threads(conn, tables, traces)
    for table in tables:
        place = Identifier(table["schema"], table["name"])
        query, values = _asked(place, table["marks"] or [], traces, nobodys)
        found.append(await _counted(conn, f"table {table['schema']}.{table['name']}", query, values))
    found += await _in_statistics(conn, traces)
    hidden = [f"{table['schema']}.{table['name']}" for table in tables if table["hidden"]]
    short = len({text for text in traces.said if text and not phrases([text])})
    more = len(phrases(traces.said, None)) - _MAX_PHRASES
    limits = {
        "samples of the planner": f"of {', '.join(hidden)}: row-level security hides them" if hidden else "",
        "short texts": f"{short} of fewer than {_MIN_WORDS} characters in a row: they may stand in anything"
        if short
        else "",
        "other texts": f"{more} of {more + _MAX_PHRASES} in rows of no owner" if more > 0 else "",
        "rows of other owners": "they may well say the same",
        "files": "space that deleted rows left, the write-ahead log, backups",
    }
    return [*found, *(Check(name=f"unread {name}", problem=why) for name, why in limits.items() if why)]


async def _nobodys_threads(
    conn: AsyncConnection[DictRow], tables: Sequence[DictRow], traces: Traces
) -> tuple[list[str], list[Check]]:
    """Return the threads without an owner, which are searched for removed texts alone, and a remark about them."""
    threads: list[str] = []
    places = {(table["schema"], table["name"]) for table in tables}
    for schema in sorted({table["schema"] for table in tables if "metadata" in (table["marks"] or [])}):
        names = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "store")
        if not all((schema, name) in places for name in names):
            continue
        query = SQL(_NOBODYS).format(
            most=Literal(_MAX_THREADS + 1), **{name: Identifier(schema, name) for name in names}
        )
        try:
            rows = await _rows(conn, query, {"threads": list(traces.threads)})
        except Error as error:
            return [], [Check(name="unread threads", problem=f"those that name nobody: {type(error).__name__}")]
        threads += [row["thread_id"] for row in rows]
    if len(threads) > _MAX_THREADS:
        return [], [Check(name="unread threads", problem=f"more than {_MAX_THREADS} that name nobody")]
    remark = f"{len(threads)} that name nobody: looked through for what was said, which sealed ones do not show"
    return threads, [Check(name="unread threads", problem=remark)] if threads else []


async def _in_statistics(conn: AsyncConnection[DictRow], traces: Traces) -> list[Check]:
    """Search the planner's statistics, and renew those with traces."""
    asked = {"exact": [*traces.threads, *traces.keys], "patterns": _patterns(phrases(traces.said))}
    if traces.whole:
        asked["exact"] += [traces.owner, traces.user_id]
        asked["patterns"].append(f"%memory.{_escaped(traces.owner)}.%")
    try:
        for row in await _rows(conn, SQL(_STATISTICS), asked):
            # a failure shows in the search that follows
            place = [row[name] for name in ("schemaname", "tablename", "attname", "inherited")]
            with suppress(Error):
                # an empty table gets no new statistics in place of these
                await conn.execute("SELECT pg_clear_attribute_stats(%s, %s, %s, %s)", place)
            with suppress(Error):
                await conn.execute(SQL("ANALYZE {} ({})").format(Identifier(*place[:2]), Identifier(place[2])))
        rows = len(await _rows(conn, SQL(_STATISTICS), asked))
        found = [Check(name="table pg_stats", hits=rows)]
    except Error as error:
        found = [Check(name="table pg_stats", problem=type(error).__name__)]
    if await is_distributed(conn):
        found.append(await _counted(conn, "table pg_stats of the nodes", SQL(_STATISTICS_OF_NODES), asked))
    return found


async def _rows(conn: AsyncConnection[DictRow], query: SQL | Composed, values: Any) -> list[DictRow]:
    async with conn.transaction():
        await conn.execute(SQL("SELECT set_config('statement_timeout', %s, TRUE)"), [f"{_SECONDS}s"])
        return await (await conn.execute(query, values)).fetchall()


async def _counted(conn: AsyncConnection[DictRow], name: str, query: SQL | Composed, values: Any) -> Check:
    try:
        [row] = await _rows(conn, query, values)
    except Error as error:
        return Check(name=name, problem=type(error).__name__)
    return Check(name=name, hits=row["rows"])


def _asked(
    place: Identifier, marks: Sequence[str], traces: Traces, nobodys: Sequence[str]
) -> tuple[Composed, dict[str, Any]]:
    """Return the statement that counts the traces in a table, by the columns that name an owner."""
    values = {
        "owner": traces.owner,
        "user": traces.user_id,
        "whole": traces.whole,
        "keys": list(traces.keys),
        "prefix": f"memory.{_escaped(traces.owner)}.%",
        "threads": list(traces.threads),
        "nobodys": list(nobodys),
        "said": _patterns(phrases(traces.said)),
        "patterns": traces.patterns(),
    }
    if "owner" in marks:
        # a row may be in another's name, and below the namespace of this one
        theirs = "(t.owner = %(owner)s OR t.prefix LIKE %(prefix)s)" if "prefix" in marks else "t.owner = %(owner)s"
        which = f"{theirs} AND (%(whole)s OR {'t.key = ANY(%(keys)s)' if 'key' in marks else 'FALSE'})"
    elif "thread_id" in marks:
        named = f"OR %(whole)s AND {_NAMED}" if "metadata" in marks else ""
        said = "OR t.thread_id::text = ANY(%(nobodys)s) AND t::text LIKE ANY(%(said)s)"
        which = f"t.thread_id::text = ANY(%(threads)s) {named} {said}"
    else:
        which = "t::text LIKE ANY(%(patterns)s)"
    return SQL("SELECT count(*) AS rows FROM {} AS t WHERE " + which).format(place), values  # noqa: S608 - of literals


def phrases(said: Sequence[str], most: int | None = _MAX_PHRASES) -> list[str]:
    """Return pieces of texts that are long enough to be unique, and that every encoding of JSON leaves unchanged.

    >>> phrases(['I keep a "zebrafish" in the blue tank', "Yes."])
    [' in the blue tank']
    """
    found: dict[str, None] = {}
    for text in said:
        plain = text.translate(dict.fromkeys(map(ord, '"\\\n\r\t\x00'), "\n"))
        longest = max(plain.split("\n"), key=len)
        if len(longest) >= _MIN_WORDS:
            found[longest[:200]] = None
        if len(found) == most:
            break
    return list(found)


def _patterns(exact: Sequence[str]) -> list[str]:
    """Return LIKE patterns for rows with any of some texts, plain or in the hexadecimal form of bytes."""
    forms = [form for one in exact for form in (one, one.encode("utf-8", "surrogatepass").hex())]
    return [f"%{_escaped(form)}%" for form in forms]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
