"""Reads of items: gets, searches and lists of namespaces, together with recalls in one round trip."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, LiteralString

from langgraph.store.base import GetOp, Item, ListNamespacesOp, Result, SearchOp
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from react_mem.memory.index.recall import scored
from react_mem.memory.index.scorer import nearest
from react_mem.memory.model.namespaces import Namespace, owner_namespace, owner_of, owner_of_path, owner_within
from react_mem.memory.store import serialisation as binary
from react_mem.memory.store.conversation_listing import (
    ConversationPlace,
    ListedConversations,
    conversations_of,
    read_conversations,
)
from react_mem.memory.store.large_namespaces import INDEX_SCAN, NamespaceIndexes
from react_mem.memory.store.listing import Listed, ListPlace, Wanted, page_of, read_listed
from react_mem.memory.store.model_guard import check_model
from react_mem.memory.store.owned import OwnedPage, read_page
from react_mem.memory.store.owner_texts import AT_ONCE, OwnerTexts
from react_mem.memory.store.room import SCOPES, Stored
from react_mem.memory.store.row_security import confined, has_row_security, unconfined
from react_mem.memory.store.sealing.row_codec import Keys, RowCodec, both_keys
from react_mem.memory.store.searches import Nearest, Target, candidates, search_statement
from react_mem.memory.store.serialisation import Binary
from react_mem.memory.store.stored_text import text_array

Pool = AsyncConnectionPool[AsyncConnection[DictRow]]
Statement = tuple[LiteralString | bytes, Any]

_ROWS_AT_ONCE = 200
"""Rows read before other tasks run: a millisecond."""

_GET: LiteralString = """
    SELECT wanted.place, s.prefix, s.key, s.value::text AS value, s.created_at, s.updated_at, s.ttl_minutes
    FROM unnest(%s::text[], %s::text[], %s::text[]) WITH ORDINALITY AS wanted (owner, prefix, key, place)
    JOIN store s ON s.owner = wanted.owner AND s.prefix = wanted.prefix AND s.key = wanted.key
    WHERE s.owner = ANY(%s::text[]) AND (NOT %s OR s.expires_at IS NULL OR s.expires_at > now())
    ORDER BY wanted.place
"""
# Sizes, not values: nothing of them is sent.
_MEASURE = """
    SELECT count(*) FILTER (WHERE s.prefix = ANY(%s::text[])) AS memories,
        coalesce(sum(octet_length(s.value::text)), 0)::bigint AS bytes
    FROM store s WHERE s.owner = %s
"""
# It continues after the row of an item: the plain one, if that is still there.
_UNINDEXED = """
    SELECT s.prefix, s.key, s.value::text AS value, s.created_at, s.updated_at FROM store s
    WHERE s.owner = %(owner)s AND s.prefix = %(prefix)s AND s.value ->> 'kind' = %(kind)s AND s.key > COALESCE((
            SELECT p.key FROM store p WHERE p.owner = %(owner)s AND p.prefix = %(prefix)s AND p.key = %(item)s
        ), %(stored)s)
        AND NOT EXISTS (
            SELECT FROM store_vectors v WHERE v.owner = s.owner AND v.prefix = s.prefix AND v.key = s.key
        )
    ORDER BY s.key LIMIT %(limit)s
"""
# Seconds are added, not an interval: a cluster runs in an update what means the same in every time zone.
_REFRESH = """
    UPDATE store s SET expires_at = to_timestamp(extract(epoch FROM now())::float8 + s.ttl_minutes * 60)
    FROM unnest(%s::text[], %s::text[], %s::text[]) AS seen (owner, prefix, key)
    WHERE s.owner = ANY(%s::text[]) AND s.owner = seen.owner AND s.prefix = seen.prefix AND s.key = seen.key
        AND s.ttl_minutes IS NOT NULL
"""


@dataclass(frozen=True)
class Reads:
    """Reads of a batch, each with its position in it.

    Args:
        gets: Lookups.
        searches: Searches.
        queries: The vectors of the searches' queries.
        lists: The lists of namespaces.
        listing: Their statements.
    """

    gets: Sequence[tuple[int, GetOp]]
    searches: Sequence[tuple[int, SearchOp]]
    queries: Mapping[str, Binary]
    lists: Sequence[tuple[int, ListNamespacesOp]] = ()
    listing: Sequence[tuple[str, Sequence[Any]]] = ()

    @property
    def owners(self) -> set[str]:
        """The owners of the namespaces that are searched by a query."""
        paths = (".".join(op.namespace_prefix) for _, op in self.searches if op.query)
        return {owner for path in paths if (owner := owner_within(path))}

    @property
    def owners_read(self) -> set[str]:
        """The owners of the items that are looked up, searched and listed, as far as the operations name them."""
        searched = (owner_within(".".join(op.namespace_prefix)) for _, op in self.searches)
        looked_up = (owner_of_path(".".join(op.namespace)) for _, op in self.gets)
        listed = (owner_of_list(op) for _, op in self.lists)
        return {*looked_up, *(owner for owner in (*searched, *listed) if owner is not None)}

    @property
    def crosses_owners(self) -> bool:
        """True if a search spans all owners."""
        return any(owner_within(".".join(op.namespace_prefix)) is None for _, op in self.searches)

    def again(self, nearest: Iterable[Nearest | None], owners: Container[str]) -> Reads:
        """Return the searches that were answered by the cached indexes of some owners."""
        redone = [
            search
            for search, found in zip(self.searches, nearest, strict=True)
            if found is not None and found.owner in owners
        ]
        return Reads((), redone, self.queries)


@dataclass(frozen=True)
class Reader:
    """Reads from one database.

    Args:
        codec: The codec of rows.
        keys: The keys of the owners that are read.
        indexes: The namespaces with indexes of their own.
        model: The embedding model's name.
        index_limit: Vectors of a namespace up to which a search compares all of them.
        omit_expired: Whether expired items are left out.
    """

    codec: RowCodec
    keys: Keys
    indexes: NamespaceIndexes
    model: str
    index_limit: int
    omit_expired: bool

    async def read(
        self,
        conn: AsyncConnection[DictRow],
        reads: Reads,
        results: list[Result],
        targets: Sequence[Target],
        known: Mapping[str, OwnerTexts] = MappingProxyType({}),
        *,
        beside: Sequence[tuple[LiteralString, Any]] = (),
    ) -> list[list[DictRow]]:
        """Put the results of reads in place, and return the rows of other statements.

        Args:
            results: The results, one place for each operation of the batch.
            targets: The plans of the searches, in their order.
            known: The owner indexes in this process.
            beside: Statements about these owners that are sent after the others; their rows are read in binary form.

        Raises:
            SealError: If a row does not open: its owner has another key by now.
        """
        gets = reads.gets
        whose = {*reads.owners_read, *known}
        searching = self._searching(targets, has_row_security(conn) and not reads.crosses_owners) if targets else []
        # Everything in one round trip; a pipeline of one statement would only cost.
        statements = len(beside) + bool(gets) + len(searching) + len(reads.lists)
        found: AsyncCursor[DictRow] | None = None
        async with confined(conn, whose, together=statements > 1):
            got = await self._send_gets(conn, gets) if gets else None
            async with unconfined(conn, whose) if reads.crosses_owners else nullcontext():
                for statement in searching:
                    found = await conn.execute(*statement)
            listed = await send_lists(conn, reads, whose)
            others = [await conn.cursor(binary=True).execute(*statement) for statement in beside]
        refreshed: list[DictRow] = []
        if got is not None:
            for row in await self._opened(conn, await rows_of(got)):
                index, get = gets[(row["place"] - 1) % len(gets)]
                results[index] = row["item"]
                refreshed += [row] if get.refresh_ttl else []
        if found is not None:
            rows = await self._found(conn, reads, targets, await rows_of(found), known)
            for (index, op), hits in zip(reads.searches, rows, strict=True):
                results[index] = [scored(row["item"], row["score"]) for row in hits]
                refreshed += hits if op.refresh_ttl else []
        for (index, _), cursor in zip(reads.lists, listed, strict=True):
            results[index] = [tuple(row["truncated_prefix"].split(".")) for row in await cursor.fetchall()]
        await refresh(conn, refreshed)
        return [await cursor.fetchall() for cursor in others]

    async def owners_searched(self, pool: Pool, reads: Reads) -> set[str]:
        """Return the owners whose indexes in this process a batch searches."""
        return reads.owners

    async def targets(self, reads: Reads, known: Mapping[str, OwnerTexts]) -> list[Target]:
        """Return the plans of a batch's searches."""
        return [
            await self._target(number, op, reads.queries[op.query] if op.query else None, known)
            for number, (_, op) in enumerate(reads.searches)
        ]

    async def page(
        self, conn: AsyncConnection[DictRow], namespace: Sequence[str], behind: tuple[str, str], limit: int
    ) -> OwnedPage:
        """Return the next items of an owner's namespace and those below it."""
        rows, last = await read_page(conn, namespace, behind, limit, omit_expired=self.omit_expired)
        return OwnedPage(await self._items(conn, rows), last)

    async def measure(self, conn: AsyncConnection[DictRow], user_id: str) -> Stored:
        """Return the size of an owner's memory."""
        scopes = [".".join((*owner_namespace(user_id), scope)) for scope in SCOPES]
        owner = owner_of_path(scopes[0])
        async with confined(conn, [owner]):
            [row] = await (await conn.execute(_MEASURE, (scopes, owner))).fetchall()
        return Stored(**row)

    async def listed(
        self, conn: AsyncConnection[DictRow], wanted: Wanted, behind: ListPlace | None, limit: int
    ) -> Listed:
        """Return the next of an owner's records, the latest first: see `memory.store.listing`."""
        key = self.keys.get(owner_of(wanted.namespaces[0]))
        rows, places, total = await read_listed(conn, wanted, behind, limit, omit_expired=self.omit_expired, key=key)
        return page_of(places, await self._items(conn, rows), total, limit)

    async def conversations(
        self, conn: AsyncConnection[DictRow], namespace: Namespace, behind: ConversationPlace | None, limit: int
    ) -> ListedConversations | None:
        """Return the next of an owner's conversations: see `memory.store.conversation_listing`."""
        rows = await read_conversations(conn, namespace, behind, limit, omit_expired=self.omit_expired)
        if rows is None:
            return None
        return conversations_of(rows, await self._items(conn, [row for row in rows if row["key"] is not None]), limit)

    async def unindexed(
        self, conn: AsyncConnection[DictRow], prefix: str, kind: str, *, after: str, limit: int
    ) -> list[str]:
        """Return the keys of a namespace's items of one kind that the index lacks: see `MemoryStore.aunindexed`."""
        owner = owner_of_path(prefix)
        stored = both_keys(self.keys, prefix, after)[0] if after else ""
        asked = {"owner": owner, "prefix": prefix, "kind": kind, "item": after, "stored": stored, "limit": limit}
        async with confined(conn, [owner]):
            found = await conn.execute(_UNINDEXED, asked)
        return [item.key for item in await self._items(conn, await rows_of(found))]

    async def _opened(self, conn: AsyncConnection[DictRow], rows: list[DictRow]) -> list[DictRow]:
        await self.codec.open_items(rows, self.keys, conn)
        return rows

    async def _items(self, conn: AsyncConnection[DictRow], rows: list[DictRow]) -> list[Item]:
        return [row["item"] for row in await self._opened(conn, rows)]

    async def _send_gets(
        self, conn: AsyncConnection[DictRow], gets: Sequence[tuple[int, GetOp]]
    ) -> AsyncCursor[DictRow]:
        prefixes = [".".join(op.namespace) for _, op in gets]
        both = [both_keys(self.keys, prefix, op.key) for prefix, (_, op) in zip(prefixes, gets, strict=True)]
        # the plain rows first: if there should be both, the sealed one counts
        stored = [keys[-1] for keys in both]
        if self.keys:
            prefixes, stored = prefixes * 2, [*stored, *(keys[0] for keys in both)]
        owners = [owner_of_path(prefix) for prefix in prefixes]
        wanted = map(text_array, (owners, prefixes, stored, sorted(set(owners))))
        return await conn.execute(_GET, (*wanted, self.omit_expired))

    def _searching(self, targets: Sequence[Target], is_confined: bool) -> list[Statement]:
        """Return the statements of the searches, the last of which finds the rows."""
        scan: list[Statement] = [(INDEX_SCAN, None)] if any(target.indexed for target in targets) else []
        return [*scan, self._statement(targets, bounded=True, is_confined=is_confined)]

    def _statement(
        self, targets: Sequence[Target], *, bounded: bool, is_confined: bool = False
    ) -> tuple[bytes, dict[str, Any]]:
        return search_statement(
            targets, self.index_limit, bounded=bounded, omit_expired=self.omit_expired, is_confined=is_confined
        )

    async def _target(
        self, number: int, op: SearchOp, vector: Binary | None, known: Mapping[str, OwnerTexts]
    ) -> Target:
        if vector is None:
            return Target(number, op, None)
        path = ".".join(op.namespace_prefix)
        texts = known.get(owner_within(path) or "")
        if texts is not None and texts.reaches_large(path):
            self.indexes.outgrown(path)
        elif texts is not None and texts.model == self.model:
            found = await nearest_items(texts, path, vector, candidates(op))
            # what a filter or time refuses is made up for by more of them
            refuses = bool(op.filter) or self.omit_expired
            return Target(number, op, vector, nearest=found if refuses else found.first(op.limit + op.offset))
        indexed = self.indexes.within(path)
        return Target(number, op, vector, indexed, measured=not indexed and self.indexes.is_due(path))

    async def _found(
        self,
        conn: AsyncConnection[DictRow],
        reads: Reads,
        targets: Sequence[Target],
        found: list[DictRow],
        known: Mapping[str, OwnerTexts],
    ) -> list[list[DictRow]]:
        """Return the opened rows of each search, ranked, after a second search for each that found too few."""
        if any(row["model"] not in (None, self.model) for row in found):
            await check_model(conn, self.model)
        rows = [[row for row in found if row["search"] == target.number] for target in targets]
        for target in targets:
            if any(row["more"] for row in rows[target.number]):
                self.indexes.outgrown(".".join(target.op.namespace_prefix))
        again = [target for target in targets if not target.is_complete(rows[target.number])]
        if again:
            async with nullcontext() if reads.crosses_owners else confined(conn, reads.owners_read):
                found_again = await conn.execute(*self._statement(again, bounded=False))
            more = await rows_of(found_again)
            for target in again:
                rows[target.number] = [row for row in more if row["search"] == target.number]
        return [sorted(await self._opened(conn, hits), key=rank_of) for hits in rows]


def owner_of_list(op: ListNamespacesOp) -> str | None:
    """Return the owner of all namespaces that a list may return; None if there may be several."""
    for condition in op.match_conditions or ():
        if condition.match_type == "prefix" and "*" not in condition.path[:2]:
            owner = owner_within(".".join(condition.path))
            if owner is not None:
                return owner
    return None


async def send_lists(
    conn: AsyncConnection[DictRow], reads: Reads, whose: Collection[str]
) -> list[AsyncCursor[DictRow]]:
    """Send the lists of namespaces of a batch: those about one owner under row-level security."""
    sent = []
    for (_, op), (query, parameters) in zip(reads.lists, reads.listing, strict=True):
        async with unconfined(conn, whose) if owner_of_list(op) is None else nullcontext():
            sent.append(await conn.execute(query.encode(), parameters))
    return sent


async def nearest_items(known: OwnerTexts, path: str, vector: Binary, count: int) -> Nearest:
    """Return the nearest items at a path and below it in an owner's index, from `count` texts of each namespace."""
    namespaces = {prefix: known.namespaces[prefix] for prefix in known.within(path)}
    query = binary.numbers(vector)

    def find() -> list[tuple[float, str, str]]:
        found = [
            (cosine, prefix, key)
            for prefix, texts in namespaces.items()
            for key, cosine in nearest(texts, query, count)
        ]
        # of equals the first by key: they lie in the order in which this process came to know them
        return sorted(found, key=lambda one: (math.inf if math.isnan(one[0]) else -one[0], one[1], one[2]))

    texts = sum(map(len, namespaces.values()))
    found = await asyncio.to_thread(find) if texts > AT_ONCE else find()
    return Nearest(known.owner, [(prefix, key, cosine) for cosine, prefix, key in found], is_all=texts <= count)


async def rows_of(cursor: AsyncCursor[DictRow]) -> list[DictRow]:
    """Return the rows of a statement, and let other tasks of the event loop run between parts."""
    rows = await cursor.fetchmany(_ROWS_AT_ONCE)
    more = rows
    while len(more) == _ROWS_AT_ONCE:
        await asyncio.sleep(0)
        more = await cursor.fetchmany(_ROWS_AT_ONCE)
        rows += more
    return rows


def rank_of(row: DictRow) -> tuple[float, str, str]:
    """Return the sort key of a row of a search: by score, or without one by time; rows without a number come last."""
    rank = -row["updated_at"].timestamp() if row["score"] is None else -row["score"]
    return math.inf if math.isnan(rank) else rank, row["prefix"], row["item"].key


async def refresh(conn: AsyncConnection[DictRow], rows: Sequence[DictRow]) -> None:
    """Renew the time to live of the items of rows that expire."""
    expiring = [row for row in rows if row["ttl_minutes"] is not None]
    if expiring:
        prefixes = [row["prefix"] for row in expiring]
        owners = [owner_of_path(prefix) for prefix in prefixes]
        seen = (owners, prefixes, [row["key"] for row in expiring])
        async with confined(conn, set(owners)):
            await conn.execute(_REFRESH, (*seen, sorted(set(owners))))
