"""Reads of items: gets, searches and lists of namespaces, together with recalls in one round trip."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, LiteralString

from langgraph.store.base import GetOp, ListNamespacesOp, Result, SearchOp
from psycopg import AsyncCursor
from psycopg.rows import DictRow

from react_mem.memory.index.recall import scored
from react_mem.memory.index.scorer import nearest
from react_mem.memory.model.namespaces import owner_of_path, owner_within
from react_mem.memory.store import serialisation as binary
from react_mem.memory.store.large_namespaces import INDEX_SCAN, NamespaceIndexes
from react_mem.memory.store.model_guard import check_model
from react_mem.memory.store.owner_texts import AT_ONCE, EVERY, OwnerTexts
from react_mem.memory.store.row_security import Connection, Pool, confined, has_row_security, unconfined
from react_mem.memory.store.sealing.row_codec import Keys, RowCodec, both_keys
from react_mem.memory.store.sealing.sealed_filter import meets
from react_mem.memory.store.searches import Nearest, Parameters, Target, candidates, in_namespace, search_statement
from react_mem.memory.store.serialisation import Binary
from react_mem.memory.store.stored_text import text_array

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
_OWNERS = "SELECT DISTINCT v.owner FROM store_vectors v WHERE {in_namespace}"
# Seconds are added, not an interval: a cluster runs in an update what means the same in every time zone.
_REFRESH = """
    UPDATE store s SET expires_at = to_timestamp(extract(epoch FROM now())::float8 + s.ttl_minutes * 60)
    FROM unnest(%s::text[], %s::text[], %s::text[]) AS seen (owner, prefix, key)
    WHERE s.owner = ANY(%s::text[]) AND s.owner = seen.owner AND s.prefix = seen.prefix AND s.key = seen.key
        AND s.ttl_minutes IS NOT NULL
"""


@dataclass(frozen=True)
class Reads:
    """Reads of a batch, each with its position in it, and what was made for them.

    `queries` are the vectors of the searches' queries, `listing` the statements of the lists of namespaces.
    """

    gets: Sequence[tuple[int, GetOp]]
    searches: Sequence[tuple[int, SearchOp]]
    queries: Mapping[str, Binary]
    lists: Sequence[tuple[int, ListNamespacesOp]] = ()
    listing: Sequence[tuple[str, Sequence[Any]]] = ()

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
    """Reads from one database, with the keys of the owners that are read."""

    codec: RowCodec
    keys: Keys
    indexes: NamespaceIndexes
    model: str
    index_limit: int
    omit_expired: bool

    async def read(
        self,
        conn: Connection,
        reads: Reads,
        results: list[Result],
        targets: Sequence[Target],
        known: Mapping[str, OwnerTexts],
        beside: Sequence[tuple[LiteralString, Any]],
    ) -> list[list[DictRow]]:
        """Put the results of reads in place, and return the rows of other statements.

        `beside` are statements about these owners that are sent after the others, and read in binary form. A SealError
        says that a row does not open: its owner has another key by now.
        """
        gets = reads.gets
        whose = {*reads.owners_read, *known}
        searching: list[Statement] = [(INDEX_SCAN, None)] if any(target.indexed for target in targets) else []
        if targets:
            is_confined = has_row_security(conn) and not reads.crosses_owners
            searching.append(self._statement(targets, bounded=True, is_confined=is_confined))
        # Everything in one round trip; a pipeline of one statement would only cost.
        statements = len(beside) + bool(gets) + len(searching) + len(reads.lists)
        found: AsyncCursor[DictRow] | None = None
        async with confined(conn, whose, together=statements > 1):
            got = await self._send_gets(conn, gets) if gets else None
            async with unconfined(conn, whose) if reads.crosses_owners else nullcontext():
                for statement in searching:
                    found = await conn.execute(*statement)
            listed = []
            for (_, wanted), (query, parameters) in zip(reads.lists, reads.listing, strict=True):
                # under row-level security only what is about one owner
                async with unconfined(conn, whose) if owner_of_list(wanted) is None else nullcontext():
                    listed.append(await conn.execute(query.encode(), parameters))
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
        await _refresh(conn, refreshed)
        return [await cursor.fetchall() for cursor in others]

    async def owners_searched(self, pool: Pool, reads: Reads) -> set[str]:
        """Return the owners whose indexes in this process a batch searches: all, where the database can search none."""
        owners: set[str] = set()
        for path in {".".join(op.namespace_prefix) for _, op in reads.searches if op.query}:
            if (owner := owner_within(path)) is not None:
                owners.add(owner)
            elif self.codec.seals:
                parameters = Parameters()
                statement = _OWNERS.format(in_namespace=in_namespace("v", path, parameters))
                async with pool.connection() as conn:
                    found = await (await conn.execute(statement.encode(), parameters.values)).fetchall()
                owners |= {row["owner"] for row in found}
        return owners

    async def targets(self, reads: Reads, known: Mapping[str, OwnerTexts]) -> list[Target]:
        """Return the plans of a batch's searches."""
        return [
            await self._target(number, op, reads.queries[op.query] if op.query else None, known)
            for number, (_, op) in enumerate(reads.searches)
        ]

    async def _opened(self, conn: Connection, rows: list[DictRow]) -> list[DictRow]:
        await self.codec.open_items(rows, self.keys, conn)
        return rows

    async def _send_gets(self, conn: Connection, gets: Sequence[tuple[int, GetOp]]) -> AsyncCursor[DictRow]:
        prefixes = [".".join(op.namespace) for _, op in gets]
        both = [both_keys(self.keys, prefix, op.key) for prefix, (_, op) in zip(prefixes, gets, strict=True)]
        # the plain rows first: if there should be both, the sealed one counts
        stored = [keys[-1] for keys in both]
        if self.keys:
            prefixes, stored = prefixes * 2, [*stored, *(keys[0] for keys in both)]
        owners = [owner_of_path(prefix) for prefix in prefixes]
        wanted = map(text_array, (owners, prefixes, stored, sorted(set(owners))))
        return await conn.execute(_GET, (*wanted, self.omit_expired))

    def _statement(
        self, targets: Sequence[Target], *, bounded: bool, is_confined: bool = False
    ) -> tuple[bytes, dict[str, Any]]:
        return search_statement(
            targets, self.index_limit, bounded=bounded, omit_expired=self.omit_expired, is_confined=is_confined
        )

    async def _target(
        self, number: int, op: SearchOp, vector: Binary | None, known: Mapping[str, OwnerTexts]
    ) -> Target:
        path = ".".join(op.namespace_prefix)
        owner = owner_within(path) or ""
        split, sealed = self.codec.split(op, self.keys.get(owner))
        target = Target(number, split, vector, sealed)
        texts = known.get(owner)
        if vector is None:
            return target
        if self.codec.seals:
            return await self._nearest(target, known, candidates(op))
        if texts is not None and texts.reaches_large(path):
            self.indexes.outgrown(path)
        elif texts is not None and texts.model == self.model:
            found = await self._nearest(target, known, candidates(op))
            # what a filter or time refuses is made up for by more of them
            if op.filter or self.omit_expired or found.nearest is None:
                return found
            return found._replace(nearest=found.nearest.first(op.limit + op.offset))
        indexed = self.indexes.within(path)
        return target._replace(indexed=indexed, measured=not indexed and self.indexes.is_due(path))

    async def _nearest(self, target: Target, known: Mapping[str, OwnerTexts], count: int) -> Target:
        """Return a search by a query with the nearest items in this process, from `count` texts of each namespace."""
        if target.vector is None:
            return target
        owner, items, is_all = owner_within(target.path), [], True
        for texts in known.values():
            if owner in (None, texts.owner) and texts.model == self.model:
                found, is_all_of_owner = await _nearest_items(texts, target.path, target.vector, count)
                is_all &= is_all_of_owner
                items += [
                    (prefix, stored, cosine)
                    for cosine, prefix, key in found
                    for stored in both_keys(self.keys, prefix, key)
                ]
        return target._replace(nearest=Nearest(owner or "", items, is_all))

    async def _found(
        self,
        conn: Connection,
        reads: Reads,
        targets: Sequence[Target],
        found: list[DictRow],
        known: Mapping[str, OwnerTexts],
    ) -> list[list[DictRow]]:
        """Return the opened rows of each search, ranked, after a second search for each that found too few."""
        models = {row["model"] for row in found} - {None}
        if any(target.nearest is not None for target in targets):
            models |= {each.model for each in known.values()}
        if models - {self.model}:
            await check_model(conn, self.model)
        for target in targets:
            if any(row["more"] for row in found if row["search"] == target.number):
                self.indexes.outgrown(target.path)
        rows = _passing(targets, await self._opened(conn, found))
        again = [target for target in targets if not target.is_complete(rows[target.number])]
        if again:
            wider = [await self._nearest(target, known, EVERY) if target.sealed else target for target in again]
            async with nullcontext() if reads.crosses_owners else confined(conn, reads.owners_read):
                found_again = await conn.execute(*self._statement(wider, bounded=False))
            rows |= _passing(wider, await self._opened(conn, await rows_of(found_again)))
        # the database has left out the first of plain rows
        return [
            rows[target.number][target.op.offset if target.sealed is not None else 0 :][: target.op.limit]
            for target in targets
        ]


def _passing(targets: Sequence[Target], rows: Sequence[DictRow]) -> dict[int, list[DictRow]]:
    """Return the rows of each search that pass its filter, ranked, each item once."""
    found: dict[int, list[DictRow]] = {}
    for target in targets:
        rest = target.sealed.rest if target.sealed is not None else {}
        own = {
            (row["prefix"], row["item"].key): row
            for row in rows
            if row["search"] == target.number and meets(row["item"].value, rest)
        }
        found[target.number] = sorted(own.values(), key=_rank_of)
    return found


def owner_of_list(op: ListNamespacesOp) -> str | None:
    """Return the owner of all namespaces that a list may return; None if there may be several."""
    for condition in op.match_conditions or ():
        if condition.match_type == "prefix" and "*" not in condition.path[:2]:
            owner = owner_within(".".join(condition.path))
            if owner is not None:
                return owner
    return None


async def _nearest_items(
    known: OwnerTexts, path: str, vector: Binary, count: int
) -> tuple[list[tuple[float, str, str]], bool]:
    """Return the cosine, prefix and key of the nearest items in an owner's index, and true if there are no others."""
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
    return await asyncio.to_thread(find) if texts > AT_ONCE else find(), texts <= count


async def rows_of(cursor: AsyncCursor[DictRow]) -> list[DictRow]:
    """Return the rows of a statement, and let other tasks of the event loop run between parts."""
    rows = await cursor.fetchmany(_ROWS_AT_ONCE)
    more = rows
    while len(more) == _ROWS_AT_ONCE:
        await asyncio.sleep(0)
        more = await cursor.fetchmany(_ROWS_AT_ONCE)
        rows += more
    return rows


def _rank_of(row: DictRow) -> tuple[float, str, str]:
    """Return the sort key of a row of a search: by score, or without one by time; rows without a number come last."""
    rank = -row["updated_at"].timestamp() if row["score"] is None else -row["score"]
    return math.inf if math.isnan(rank) else rank, row["prefix"], row["item"].key


async def _refresh(conn: Connection, rows: Sequence[DictRow]) -> None:
    """Renew the time to live of the items of rows that expire."""
    expiring = [row for row in rows if row["ttl_minutes"] is not None]
    if expiring:
        prefixes = [row["prefix"] for row in expiring]
        owners = [owner_of_path(prefix) for prefix in prefixes]
        seen = (owners, prefixes, [row["key"] for row in expiring])
        async with confined(conn, set(owners)):
            await conn.execute(_REFRESH, (*seen, sorted(set(owners))))
