"""Pages of an owner's records, the latest first, from a store that lists by itself or from any other.

A page begins behind a place that no write moves: the record's first date, its namespace and its key. So a write in
between neither repeats nor hides a record on the pages that follow.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, LiteralString, NamedTuple

from langgraph.store.base import BaseStore, Item
from langgraph.store.memory import InMemoryStore
from psycopg import AsyncConnection
from psycopg.rows import DictRow

from react_mem.memory.model.namespaces import Namespace, meta_namespace, owner_namespace, owner_of
from react_mem.memory.store.capabilities import capabilities
from react_mem.memory.store.keys.owner_key import OwnerKey
from react_mem.memory.store.owned import WHOLE, everything
from react_mem.memory.store.row_security import confined, has_row_security
from react_mem.memory.store.sealing.sealed_entries import SEALED, opened_value
from react_mem.memory.store.stored_text import storable
from react_mem.memory.store.transactions import REVISION

# Text in UTC is compared as it is: to read the dates of ten thousand records takes three times as long as all the rest.
# What has another zone is put into UTC, unless PostgreSQL knows no such zone. Without the letter of the zone, a time
# comes before those of the same second that have a fraction.
UTC_TEXT: LiteralString = """
    CASE WHEN right(s.value ->> 'created_at', 1) = 'Z' THEN left(s.value ->> 'created_at', -1)
        WHEN s.value ->> 'created_at'
            ~ '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?[+-](0\\d|1[0-4]):[0-5]\\d$'
            THEN to_char((s.value ->> 'created_at')::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')
        ELSE coalesce(s.value ->> 'created_at', '') END COLLATE "C"
"""
"""Creation time of a record `s` in UTC, as text."""

# One pass over the owner's records counts those that are meant and finds the first of them; only these are read whole.
_LISTED: LiteralString = f"""
    WITH found AS MATERIALIZED (
        SELECT s.prefix COLLATE "C" AS prefix, s.key COLLATE "C" AS key, {UTC_TEXT} AS at FROM store s
        WHERE s.owner = %(owner)s AND s.prefix = ANY(%(prefixes)s::text[])
            AND (%(kinds)s::text[] IS NULL OR s.value ->> 'kind' = ANY(%(kinds)s::text[]))
            AND NOT (coalesce(s.value ->> 'kind', '') = ANY(%(without)s::text[]))
            AND (%(current)s::boolean IS NULL OR coalesce(s.value -> 'current' <> 'false', TRUE) = %(current)s
                OR NOT %(current)s AND s.value ->> 'kind' = 'fact'
                    AND (%(sealed)s OR s.value ->> 'valid_to' IS NOT NULL))
            AND (%(sessions)s::text[] IS NULL OR s.value ->> 'session_id' = ANY(%(sessions)s::text[]))
            AND (%(origins)s::text[] IS NULL OR %(sealed)s OR s.value ->> 'origin' = ANY(%(origins)s::text[]))
            AND (NOT %(omit_expired)s OR s.expires_at IS NULL OR s.expires_at > now())
    )
    SELECT counted.total, page.at, s.prefix, s.key, s.value::text AS value, s.created_at, s.updated_at
    FROM (SELECT count(*) AS total FROM found) counted LEFT JOIN (
        SELECT * FROM found
        WHERE %(behind)s::text[] IS NULL
            OR (at, prefix, key) < ((%(behind)s::text[])[1], (%(behind)s::text[])[2], (%(behind)s::text[])[3])
        ORDER BY at DESC, prefix DESC, key DESC LIMIT %(limit)s
    ) page ON TRUE
    LEFT JOIN store s ON s.owner = %(owner)s AND s.prefix = page.prefix AND s.key = page.key
    ORDER BY page.at DESC, page.prefix DESC, page.key DESC
"""  # noqa: S608 - of literals
_REVISION: LiteralString = "SELECT o.revision FROM memory_owners o WHERE o.owner = %s"

_AHEAD = 1
"""Records read beyond a page, which shows if there is another page."""


class ListPlace(NamedTuple):
    """Position of a record in a list.

    Args:
        at: The record's creation time in UTC, as text.
        prefix: Its namespace, the labels joined by dots.
        key: The key of its row: for an encrypted record not its own.
    """

    at: str
    prefix: str
    key: str


@dataclass(frozen=True)
class Wanted:
    """Conditions on the records of a list.

    Args:
        namespaces: Namespaces, of one owner.
        kinds: Kinds; None for all.
        without: Excluded kinds.
        current: Whether the records are believed; None for either. Facts with an end date are among both.
        session_id: The conversation; None for any.
        origins: Origins; None for any. A store that cannot tell ignores this.
    """

    namespaces: Sequence[Namespace]
    kinds: Sequence[str] | None = None
    without: Sequence[str] = ()
    current: bool | None = None
    session_id: str | None = None
    origins: Sequence[str] | None = None


class Listed(NamedTuple):
    """Page of a list.

    Args:
        items: The records, each with its place.
        total: The number of records of the whole list.
        more: Whether others follow.
    """

    items: list[tuple[ListPlace, Item]]
    total: int
    more: bool


async def listed(store: BaseStore, user_id: str, wanted: Wanted, behind: ListPlace | None, limit: int) -> Listed:
    """Return the next of an owner's records behind a place (None for the first page), the latest first.

    A store that cannot list reads all of the owner's records for each page.
    """
    if (found := await capabilities(store).alisted(wanted, behind, limit)) is not None:
        return found
    items = await everything(store, user_id)
    return await asyncio.to_thread(_listed, items, wanted, behind, limit)


async def revision_of(store: BaseStore, user_id: str) -> str:
    """Return a token that changes with every write of an owner's memory, the same in all processes.

    On a store without revisions it comes from memory's own steps and from the last write.
    """
    if (known := await capabilities(store).arevision(owner_of(owner_namespace(user_id)))) is not None:
        return known
    done = await store.aget(meta_namespace(user_id), REVISION, refresh_ttl=False)
    # PostgreSQL answers with what was written last, LangGraph's InMemoryStore with what was written first
    room = WHOLE if isinstance(store, InMemoryStore) else 1
    latest = await store.asearch(owner_namespace(user_id), limit=room, refresh_ttl=False)
    told = repr((done.value if done is not None else None, [(item.key, item.updated_at) for item in latest]))
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def latest_first(items: Iterable[Item]) -> list[Item]:
    """Return records in the order of the pages."""
    return sorted(items, key=place_of, reverse=True)


def place_of(item: Item) -> ListPlace:
    """Return the position of a record in a list, for a store that keeps each record under its own key."""
    return ListPlace(_in_utc(str(item.value.get("created_at") or "")), ".".join(item.namespace), item.key)


async def read_listed(
    conn: AsyncConnection[DictRow],
    wanted: Wanted,
    behind: ListPlace | None,
    limit: int,
    *,
    omit_expired: bool,
    key: OwnerKey | None = None,
) -> tuple[list[DictRow], list[ListPlace], int]:
    """Return the rows of a page (one more if others follow), their places, and the total.

    The values are text. `key` is the owner's key, where records may be encrypted.
    """
    owner, sessions = owner_of(wanted.namespaces[0]), None
    if wanted.session_id is not None:
        named = storable(wanted.session_id)
        sessions = [named, *([key.keyed(named)] if key is not None else [])]
    asked: dict[str, Any] = {
        "owner": owner,
        "prefixes": [".".join(namespace) for namespace in wanted.namespaces],
        "kinds": None if wanted.kinds is None else storable(wanted.kinds),
        "without": list(wanted.without),
        "current": wanted.current,
        "sessions": sessions,
        "origins": None if wanted.origins is None else storable(wanted.origins),
        "sealed": key is not None,
        "omit_expired": omit_expired,
        "behind": None if behind is None else list(behind),
        "limit": limit + _AHEAD,
    }
    async with confined(conn, [owner]):
        page = await conn.execute(_LISTED, asked)
    rows = await page.fetchall()
    held = [row for row in rows if row["key"] is not None]
    return held, [ListPlace(row["at"], row["prefix"], row["key"]) for row in held], rows[0]["total"]


def page_of(places: Sequence[ListPlace], items: Sequence[Item], total: int, limit: int) -> Listed:
    """Return a page from the records that were read for it."""
    together = list(zip(places, items, strict=True))
    return Listed(together[:limit], total, len(together) > limit)


async def read_revision(conn: AsyncConnection[DictRow], owner: str) -> str:
    """Return an owner's revision; "0" for an owner without rows."""
    async with confined(conn, [owner]):
        found = await conn.execute(_REVISION, (owner,))
    row = await found.fetchone()
    return format(row["revision"], "x") if row is not None else "0"


def _listed(items: Sequence[Item], wanted: Wanted, behind: ListPlace | None, limit: int) -> Listed:
    meant = [(place_of(item), item) for item in items if _is_wanted(item, wanted)]
    meant.sort(key=lambda one: one[0], reverse=True)
    left = meant if behind is None else [one for one in meant if one[0] < behind]
    return Listed(left[:limit], len(meant), len(left) > limit)


def _is_wanted(item: Item, wanted: Wanted) -> bool:
    value = item.value
    kind = value.get("kind") or ""
    if item.namespace not in wanted.namespaces or kind in wanted.without:
        return False
    if wanted.kinds is not None and kind not in wanted.kinds:
        return False
    if wanted.session_id is not None and value.get("session_id") != wanted.session_id:
        return False
    if wanted.origins is not None and value.get("origin") not in wanted.origins:
        return False
    current = value.get("current") is not False
    return wanted.current is None or current is wanted.current or (not wanted.current and bool(value.get("valid_to")))


def _in_utc(at: str) -> str:
    """Return a time in the form that the database compares."""
    if at.endswith("Z"):
        return at[:-1]
    try:
        told = datetime.fromisoformat(at)
    except ValueError:
        return at
    return at if told.tzinfo is None else told.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


# Records with what they are linked with, by an index of what a record names.

_MOST = 2_000
"""Records that one step follows at most, the latest: a record that everything leads to says little."""

FIELDS = (
    *("source_ids", "linked_steps", "depends_on", "needs", "superseded_by", "links", "episodes", "task_preferences"),
    "alike",
)
"""The fields of a record that name others, as in the database's function `memory_target_keys`."""

_ROW = ("id", "kind", "level", "session_id", "turn", "created_at", *FIELDS)
"""The fields that the function `memory_linked` of the database returns, behind the prefix."""


_LINKED: LiteralString = "SELECT memory_linked(%s, %s, %s, %s)::text AS found"
_SEALED: LiteralString = "SELECT memory_linked_sealed(%s, %s, %s, %s)::text AS found"
_WITHIN: Mapping[LiteralString, LiteralString] = {
    _LINKED: "SELECT memory_linked_within(%s, %s, %s, %s)::text AS found",
    _SEALED: "SELECT memory_linked_sealed_within(%s, %s, %s, %s)::text AS found",
}
"""The same statements under row-level security: see `row_security`."""


async def read_linked(
    conn: AsyncConnection[DictRow], namespaces: Sequence[Namespace], ids: Sequence[str], key: OwnerKey | None = None
) -> list[tuple[Namespace, dict[str, Any]]]:
    """Return records by id with the fields that their links come from.

    `key` is the owner's key, where records may be encrypted.

    Raises:
        SealError: If one does not open.
    """
    stored = list(ids) if key is None else [*ids, *map(key.keyed, ids)]
    asked = (owner_of(namespaces[0]), [".".join(namespace) for namespace in namespaces], stored, _MOST)
    # as text, which is read beside the event loop
    async with confined(conn, asked[:1]):
        statement = _LINKED if key is None else _SEALED
        read = await conn.execute(_WITHIN[statement] if has_row_security(conn) else statement, asked)
    rows = await read.fetchall()
    spaces = {".".join(namespace): namespace for namespace in namespaces}
    return await asyncio.to_thread(_parsed, rows[0]["found"], spaces, key)


def _parsed(
    found: str | None, spaces: Mapping[str, Namespace], key: OwnerKey | None
) -> list[tuple[Namespace, dict[str, Any]]]:
    rows: list[Any] = json.loads(found or "[]")
    if key is not None:
        rows = [_opened(row, key) for row in rows]
    # in one order, however they were found
    rows.sort(key=lambda row: (row[0], str(row[1])))
    return [(spaces[prefix], dict(zip(_ROW, values, strict=True))) for prefix, *values in rows]


def _opened(row: list[Any], key: OwnerKey) -> list[Any]:
    *fields, stored, sealed = row
    if sealed is None:
        return fields
    _, value = opened_value(key, row[0], stored, {SEALED: sealed})
    return [row[0], *(value.get(name) for name in _ROW)]
