"""Reads of one owner's items that other stores do item by item: pages, lists, links, sizes and revisions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, LiteralString

from psycopg.rows import DictRow

from react_mem.errors import SealError
from react_mem.memory.model.namespaces import Namespace, owner_namespace, owner_of, owner_of_path
from react_mem.memory.store.capabilities import OwnedPage, StoreCapabilities
from react_mem.memory.store.key_ring import OwnerKey
from react_mem.memory.store.reading import rows_of
from react_mem.memory.store.room import SCOPES, Stored
from react_mem.memory.store.row_codec import Keys, RowCodec
from react_mem.memory.store.row_security import Pool, confined, has_row_security
from react_mem.memory.store.sealed_entries import ALIKE, LINKS, SEALED, opened_value
from react_mem.memory.store.searches import (
    CONVERSATIONS,
    UTC_TEXT,
    ConversationPlace,
    Listed,
    ListedConversations,
    ListPlace,
    PlacedConversation,
    Wanted,
)
from react_mem.memory.store.stored_text import storable

_PAGE: LiteralString = """
    SELECT s.prefix, s.key, s.value::text AS value, s.created_at, s.updated_at FROM store s
    WHERE s.owner = %s AND (s.prefix = %s OR starts_with(s.prefix, %s)) AND (s.prefix, s.key) > (%s, %s)
        AND (NOT %s OR s.expires_at IS NULL OR s.expires_at > now())
    ORDER BY s.prefix, s.key LIMIT %s
"""
# One pass over the owner's records counts those that are meant and finds the first of them; only these are read whole.
_LISTED: LiteralString = f"""
    WITH found AS MATERIALIZED (
        SELECT s.prefix COLLATE "C" AS prefix, s.key COLLATE "C" AS key, {UTC_TEXT} AS at FROM store s
        WHERE s.owner = %(owner)s AND s.prefix = ANY(%(prefixes)s::text[])
            AND (%(keys)s::text[] IS NULL OR s.key = ANY(%(keys)s::text[]))
            AND {UTC_TEXT} >= %(since)s AND (%(before)s::text IS NULL OR {UTC_TEXT} < %(before)s)
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
# Sizes, not values: nothing of them is sent.
_MEASURE: LiteralString = """
    SELECT count(*) FILTER (WHERE s.prefix = ANY(%s::text[])) AS memories,
        coalesce(sum(octet_length(s.value::text)), 0)::bigint AS bytes
    FROM store s WHERE s.owner = %s
"""

_MOST = 2_000
"""Records that one step follows at most, the latest: a record that everything leads to says little."""

_ROW = ("id", "kind", "level", "session_id", "turn", "created_at", *LINKS, ALIKE)
"""The fields that the function `memory_linked` of the database returns, behind the prefix."""


_LINKED: LiteralString = "SELECT memory_linked(%s, %s, %s, %s)::text AS found"
_SEALED: LiteralString = "SELECT memory_linked_sealed(%s, %s, %s, %s)::text AS found"
_WITHIN: Mapping[LiteralString, LiteralString] = {
    _LINKED: "SELECT memory_linked_within(%s, %s, %s, %s)::text AS found",
    _SEALED: "SELECT memory_linked_sealed_within(%s, %s, %s, %s)::text AS found",
}
"""The same statements under row-level security: see `row_security`."""


class OwnerReads(StoreCapabilities):
    """Reads of one owner's items by the database, each confined to that owner (row-level security)."""

    pool: Pool
    codec: RowCodec
    _omit_expired: bool

    def refused_rows(self, user_id: str) -> list[str]:
        """Return the stored keys of an owner's rows that reads left out, since they do not open."""
        return self.codec.refused(owner_of(owner_namespace(user_id)))

    async def apage(self, namespace: Namespace, behind: tuple[str, str], limit: int) -> OwnedPage:
        """Return the next items of a namespace and those below it."""
        path = ".".join(namespace)
        owner = owner_of_path(path)
        asked = (owner, path, f"{path}.", *behind, self._omit_expired, limit)
        rows = await self._opened(owner, _PAGE, lambda key: asked)
        found = [row["item"] for row in rows if "item" in row]
        return OwnedPage(found, (rows[-1]["prefix"], rows[-1]["key"]) if rows else behind)

    async def ameasure(self, user_id: str) -> Stored:
        scopes = [".".join((*owner_namespace(user_id), scope)) for scope in SCOPES]
        owner = owner_of_path(scopes[0])
        [row] = await self._rows(owner, _MEASURE, (scopes, owner))
        return Stored(**row)

    async def arevision(self, owner: str) -> str:
        """Return a token that changes with every write of an owner; "0" for an owner without rows."""
        rows = await self._rows(owner, _REVISION, (owner,))
        return format(rows[0]["revision"], "x") if rows else "0"

    async def alisted(self, wanted: Wanted, behind: ListPlace | None, limit: int) -> Listed:
        """Return the next of an owner's records, the latest first: see `memory.store.searches`."""
        owner = owner_of(wanted.namespaces[0])
        session = None if wanted.session_id is None else storable(wanted.session_id)
        asked = {
            "owner": owner,
            "prefixes": [".".join(namespace) for namespace in wanted.namespaces],
            "kinds": None if wanted.kinds is None else storable(wanted.kinds),
            "without": list(wanted.without),
            "current": wanted.current,
            "origins": None if wanted.origins is None else storable(wanted.origins),
            "since": wanted.since,
            "before": wanted.before or None,
            "omit_expired": self._omit_expired,
            "behind": None if behind is None else list(behind),
            # one beyond the page, which shows if there is another page
            "limit": limit + 1,
        }

        def with_key(key: OwnerKey | None) -> dict[str, Any]:
            def stored(names: Sequence[str] | None) -> list[str] | None:
                return None if names is None else [*names, *(map(key.keyed, names) if key is not None else ())]

            sessions = stored(None if session is None else [session])
            return {**asked, "sessions": sessions, "keys": stored(wanted.ids), "sealed": key is not None}

        rows = await self._opened(owner, _LISTED, with_key)
        items = [(ListPlace(row["at"], row["prefix"], row["key"]), row["item"]) for row in rows if "item" in row]
        return Listed(items[:limit], rows[0]["total"], len(items) > limit)

    async def aconversations(
        self, namespace: Namespace, behind: ConversationPlace | None, limit: int
    ) -> ListedConversations | None:
        """Return the next of an owner's conversations; None if only some rows are encrypted."""
        asked = {
            "owner": owner_of(namespace),
            "prefix": ".".join(namespace),
            "seal": SEALED,
            "omit_expired": self._omit_expired,
            "behind": None if behind is None else list(behind),
            # one beyond the page, which shows if there is another page
            "limit": limit + 1,
        }
        rows = await self._opened(owner_of(namespace), CONVERSATIONS, lambda key: asked)
        if rows[0]["mixed"]:
            return None
        found: dict[ConversationPlace, PlacedConversation] = {}
        for row in (row for row in rows if "item" in row):
            place = ConversationPlace(row["last"], row["session"])
            new = PlacedConversation(place, row["messages"], row["first"], [])
            found.setdefault(place, new).items.append(row["item"])
        return ListedConversations([*found.values()][:limit], rows[0]["total"], len(found) > limit)

    async def alinked(
        self, namespaces: Sequence[Namespace], ids: Sequence[str]
    ) -> list[tuple[Namespace, dict[str, Any]]]:
        """Return records by id with the fields that their links come from."""
        owner, spaces = owner_of(namespaces[0]), {".".join(namespace): namespace for namespace in namespaces}

        async def read(keys: Keys) -> list[tuple[Namespace, dict[str, Any]]]:
            key = keys.get(owner)
            stored = list(ids) if key is None else [*ids, *map(key.keyed, ids)]
            # as text, which is parsed beside the event loop
            [row] = await self._rows(owner, _LINKED if key is None else _SEALED, (owner, list(spaces), stored, _MOST))
            takes_plain = not self.codec.refuses_plain
            return await asyncio.to_thread(_parsed, row["found"], spaces, key, keys.sure, takes_plain)

        return await self.codec.with_keys([owner], read)

    async def _opened(
        self, owner: str, statement: LiteralString, asked: Callable[[OwnerKey | None], Any]
    ) -> list[DictRow]:
        """Return rows with their items; read again with a fresh key if the owner's has changed meanwhile."""

        async def read(keys: Keys) -> list[DictRow]:
            rows = await self._rows(owner, statement, asked(keys.get(owner)))
            await self.codec.open_items([row for row in rows if row["key"] is not None], keys)
            return rows

        return await self.codec.with_keys([owner], read)

    async def _rows(self, owner: str, statement: LiteralString, asked: Any) -> list[DictRow]:
        async with self.pool.connection() as conn:
            async with confined(conn, [owner]):
                found = await conn.execute(
                    _WITHIN.get(statement, statement) if has_row_security(conn) else statement, asked
                )
            return await rows_of(found)


def _parsed(
    found: str | None, spaces: Mapping[str, Namespace], key: OwnerKey | None, sure: bool, takes_plain: bool
) -> list[tuple[Namespace, dict[str, Any]]]:
    rows: list[Any] = json.loads(found or "[]")
    if key is not None:
        rows = [opened for row in rows if (opened := _opened(row, key, sure, takes_plain)) is not None]
    elif not takes_plain:
        return []
    # in one order, however they were found
    rows.sort(key=lambda row: (row[0], str(row[1])))
    return [(spaces[prefix], dict(zip(_ROW, values, strict=True))) for prefix, *values in rows]


def _opened(row: list[Any], key: OwnerKey, sure: bool, takes_plain: bool) -> list[Any] | None:
    *fields, stored, sealed = row
    if sealed is None:
        return fields if takes_plain else None
    try:
        _, value = opened_value(key, row[0], stored, {SEALED: sealed})
    except SealError as error:
        if error.version is not None and not sure:
            raise
        return None
    return [row[0], *(value.get(name) for name in _ROW)]
