"""Reading items: gets, searches and lists of namespaces, with the recalls beside them, in one round trip."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, LiteralString, TypeVar

from langgraph.store.base import GetOp, Item, Result, SearchItem, SearchOp
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import DictRow

from react_mem.memory.index.recall import scored
from react_mem.memory.index.scorer import nearest
from react_mem.memory.model.namespaces import owner_of_path, owner_within
from react_mem.memory.store import binary
from react_mem.memory.store.binary import Binary
from react_mem.memory.store.model_guard import check_model
from react_mem.memory.store.namespace_indexes import INDEX_SCAN, NamespaceIndexes
from react_mem.memory.store.owner_texts import AT_ONCE, OwnerTexts
from react_mem.memory.store.searches import Nearest, Target, candidates, search_statement

_Found = TypeVar("_Found", bound=Item)

_ROWS_AT_ONCE = 200
"""Rows taken from a result before others have their turn: a millisecond."""

_DECODED_AT_ONCE = 100_000
"""Characters of JSON that are decoded on the event loop: a millisecond."""

_GET = """
    SELECT wanted.place, s.prefix, s.key, s.value::text AS value, s.created_at, s.updated_at, s.ttl_minutes
    FROM unnest(%s::text[], %s::text[], %s::text[]) WITH ORDINALITY AS wanted (owner, prefix, key, place)
    JOIN store s ON s.owner = wanted.owner AND s.prefix = wanted.prefix AND s.key = wanted.key
    WHERE s.owner = ANY(%s::text[]) AND (NOT %s OR s.expires_at IS NULL OR s.expires_at > now())
"""
_PAGE = """
    SELECT s.prefix, s.key, s.value::text AS value, s.created_at, s.updated_at FROM store s
    WHERE s.owner = %s AND starts_with(s.prefix, %s) AND (s.prefix, s.key) > (%s, %s)
        AND (NOT %s OR s.expires_at IS NULL OR s.expires_at > now())
    ORDER BY s.prefix, s.key LIMIT %s
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
    """The reads of a batch, each with its place in it.

    Args:
        gets: What is looked up.
        searches: What is searched for.
        queries: The vectors of the searches' queries.
        lists: The places of the lists of namespaces.
        listing: Their statements.
    """

    gets: Sequence[tuple[int, GetOp]]
    searches: Sequence[tuple[int, SearchOp]]
    queries: Mapping[str, Binary]
    lists: Sequence[int] = ()
    listing: Sequence[tuple[str, Sequence[Any]]] = ()

    @property
    def owners(self) -> set[str]:
        """The owners within whose namespaces something is searched for by a query."""
        paths = (".".join(op.namespace_prefix) for _, op in self.searches if op.query)
        return {owner for path in paths if (owner := owner_within(path))}

    def again(self, targets: Sequence[Target], owners: Container[str]) -> Reads:
        """Return the searches that were carried out by what was at hand of some owners."""
        redone = [
            search
            for search, target in zip(self.searches, targets, strict=True)
            if target.nearest is not None and target.nearest.owner in owners
        ]
        return Reads((), redone, self.queries)


@dataclass(frozen=True)
class Reader:
    """Reads from one database.

    Args:
        indexes: The namespaces that have indexes of their own.
        model: The embedding model's name.
        index_limit: Vectors of a namespace up to which a search compares every one.
        omit_expired: Whether what has expired is left out.
    """

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
        *,
        beside: Sequence[tuple[LiteralString, Any]] = (),
    ) -> list[list[DictRow]]:
        """Put the results of reads where they belong, and return the rows of other statements.

        Args:
            conn: The connection.
            reads: What to read.
            results: Where to put it, one place an operation of the batch.
            targets: How the searches are carried out, in their order.
            beside: Statements that are sent after the others, whose rows are read in binary form.
        """
        gets, searches = reads.gets, reads.searches
        # Everything in one round trip; a pipeline of one statement would only cost.
        statements = len(beside) + bool(gets) + bool(targets) + len(reads.lists)
        together = conn.pipeline() if statements > 1 else nullcontext()
        async with together:
            got = await self._send_gets(conn, gets) if gets else None
            found = await self._send_searches(conn, targets) if targets else None
            listed = [await conn.execute(query.encode(), parameters) for query, parameters in reads.listing]
            others = [await conn.cursor(binary=True).execute(*statement) for statement in beside]
        refreshed: list[DictRow] = []
        if got is not None:
            known = await rows_of(got)
            for row, item in zip(known, await items_of(known), strict=True):
                index, get = gets[row["place"] - 1]
                results[index] = item
                refreshed += [row] if get.refresh_ttl else []
        if found is not None:
            rows = await self._search_rows(conn, targets, await rows_of(found))
            for (index, op), hits in zip(searches, rows, strict=True):
                results[index] = await _aside(_ranked, hits)
                refreshed += hits if op.refresh_ttl else []
        for index, cursor in zip(reads.lists, listed, strict=True):
            results[index] = [tuple(row["truncated_prefix"].split(".")) for row in await cursor.fetchall()]
        await _refresh(conn, refreshed)
        return [await cursor.fetchall() for cursor in others]

    async def targets(self, reads: Reads, known: Mapping[str, OwnerTexts]) -> list[Target]:
        """Return how the searches of a batch are carried out.

        Args:
            reads: The batch.
            known: What is at hand of owners.
        """
        return [
            await self._target(number, op, reads.queries[op.query] if op.query else None, known)
            for number, (_, op) in enumerate(reads.searches)
        ]

    async def page(
        self, conn: AsyncConnection[DictRow], namespace: Sequence[str], after: tuple[str, str], limit: int
    ) -> list[Item]:
        """Return the next items of an owner's namespace and those below it: see `memory.store.owned.PagedStore`."""
        path = ".".join(namespace)
        asked = (owner_of_path(path), f"{path}.", *after, self.omit_expired, limit)
        rows = await rows_of(await conn.execute(_PAGE, asked))
        return await items_of(rows)

    async def _send_gets(
        self, conn: AsyncConnection[DictRow], gets: Sequence[tuple[int, GetOp]]
    ) -> AsyncCursor[DictRow]:
        prefixes = [".".join(op.namespace) for _, op in gets]
        owners = [owner_of_path(prefix) for prefix in prefixes]
        wanted = map(text_array, (owners, prefixes, [op.key for _, op in gets], sorted(set(owners))))
        return await conn.execute(_GET, (*wanted, self.omit_expired))

    async def _send_searches(self, conn: AsyncConnection[DictRow], targets: Sequence[Target]) -> AsyncCursor[DictRow]:
        statement = self._statement(targets, bounded=True)
        if not any(target.indexed for target in targets):
            return await conn.execute(*statement)
        async with conn.pipeline(), conn.transaction():
            await conn.execute(INDEX_SCAN)
            return await conn.execute(*statement)

    def _statement(self, targets: Sequence[Target], *, bounded: bool) -> tuple[bytes, dict[str, Any]]:
        return search_statement(targets, self.index_limit, bounded=bounded, omit_expired=self.omit_expired)

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
            found = await _nearest(texts, path, vector, candidates(op))
            # what a filter or time refuses is made up for by more of them
            refuses = bool(op.filter) or self.omit_expired
            return Target(number, op, vector, nearest=found if refuses else found.certain(op.limit + op.offset))
        indexed = self.indexes.within(path)
        return Target(number, op, vector, indexed, measured=not indexed and self.indexes.is_due(path))

    async def _search_rows(
        self, conn: AsyncConnection[DictRow], targets: Sequence[Target], found: Sequence[DictRow]
    ) -> list[list[DictRow]]:
        """Return the rows of the one statement by search, and search again what it has not found all of."""
        if any(row["model"] not in (None, self.model) for row in found):
            await check_model(conn, self.model)
        rows = [[row for row in found if row["search"] == target.number] for target in targets]
        for target in targets:
            if any(row["more"] for row in rows[target.number]):
                self.indexes.outgrown(".".join(target.op.namespace_prefix))
        again = [target for target in targets if not target.is_complete(rows[target.number])]
        if again:
            more = await rows_of(await conn.execute(*self._statement(again, bounded=False)))
            for target in again:
                rows[target.number] = [row for row in more if row["search"] == target.number]
        return rows


async def _nearest(known: OwnerTexts, path: str, vector: Binary, count: int) -> Nearest:
    """Return what is nearest at a path and below it, as far as is known."""
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


def item_of(row: DictRow) -> Item:
    """Return the item that a row of `store` holds."""
    value = row["value"]
    return Item(
        namespace=tuple(row["prefix"].split(".")),
        key=row["key"],
        value=json.loads(value) if isinstance(value, str) else value,
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


async def items_of(rows: Sequence[DictRow]) -> list[Item]:
    """Return the items that rows of `store` hold, their values as text: all of an owner takes seconds to decode."""
    return await _aside(_decoded, rows)


def text_array(texts: Iterable[str]) -> str:
    """Return texts as the literal of an array: psycopg looks at the type of each, which takes as long as a small read.

    >>> text_array(["a", 'b, "c"', ""])
    '{"a","b, \\\\"c\\\\"",""}'
    """
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"


async def rows_of(cursor: AsyncCursor[DictRow]) -> list[DictRow]:
    """Return the rows of a statement; between some and the next, others have their turn on the event loop."""
    rows = await cursor.fetchmany(_ROWS_AT_ONCE)
    more = rows
    while len(more) == _ROWS_AT_ONCE:
        await asyncio.sleep(0)
        more = await cursor.fetchmany(_ROWS_AT_ONCE)
        rows += more
    return rows


async def _aside(decode: Callable[[Sequence[DictRow]], list[_Found]], rows: Sequence[DictRow]) -> list[_Found]:
    """Decode rows, in a thread if there is much in them."""
    if sum(len(row["value"]) for row in rows) < _DECODED_AT_ONCE:
        # as one text, which takes less than each by itself
        for row, value in zip(rows, json.loads(f"[{','.join([row['value'] for row in rows])}]"), strict=True):
            row["value"] = value
        return decode(rows)
    return await asyncio.to_thread(decode, rows)


def _decoded(rows: Sequence[DictRow]) -> list[Item]:
    return [item_of(row) for row in rows]


def _ranked(rows: Sequence[DictRow]) -> list[SearchItem]:
    return [scored(item_of(row), row["score"]) for row in sorted(rows, key=_rank)]


def _rank(row: DictRow) -> tuple[float, str, str]:
    # Nearest first, or else latest; what cannot be compared last.
    rank = -row["updated_at"].timestamp() if row["score"] is None else -row["score"]
    return math.inf if math.isnan(rank) else rank, row["prefix"], row["key"]


async def _refresh(conn: AsyncConnection[DictRow], rows: Sequence[DictRow]) -> None:
    expiring = [row for row in rows if row["ttl_minutes"] is not None]
    if expiring:
        prefixes = [row["prefix"] for row in expiring]
        owners = [owner_of_path(prefix) for prefix in prefixes]
        seen = (owners, prefixes, [row["key"] for row in expiring])
        await conn.execute(_REFRESH, (*seen, sorted(set(owners))))
