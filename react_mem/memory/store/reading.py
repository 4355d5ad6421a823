"""Reads of items: gets, searches and lists of namespaces, together with recalls in one round trip."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, LiteralString, cast

from langgraph.store.base import GetOp, ListNamespacesOp, Result, SearchOp
from psycopg import AsyncCursor
from psycopg.rows import DictRow

from react_mem.memory.index.recall import scored
from react_mem.memory.index.scorer import nearest
from react_mem.memory.model.namespaces import owner_of_path, owner_within
from react_mem.memory.store import stored_text as binary
from react_mem.memory.store.large_namespaces import INDEX_SCAN, NamespaceIndexes
from react_mem.memory.store.owner_texts import AT_ONCE, EVERY, OwnerTexts
from react_mem.memory.store.row_codec import Keys, RowCodec, both_keys, meets
from react_mem.memory.store.row_security import Connection, Pool, confined, has_row_security, unconfined
from react_mem.memory.store.searches import (
    Parameters,
    Target,
    candidates,
    in_namespace,
    nearest_statement,
    search_statement,
)
from react_mem.memory.store.stored_text import Binary, text_array
from react_mem.memory.store.transactions import check_model

_MORE = 10
"""Factor by which a search that found too few takes more candidates."""

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
    """Reads of a batch, each with its position in it, and the answers to them.

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

    def again(self, targets: Iterable[Target], owners: Container[str | None]) -> Reads:
        """Return the searches that were answered by the cached indexes of some owners."""
        redone = [
            search
            for search, target in zip(self.searches, targets, strict=True)
            if target.texts is not None and owner_within(target.path) in owners
        ]
        return Reads((), redone, self.queries)


@dataclass(frozen=True)
class Reader:
    """Reads from one database, with the keys of the owners that are read."""

    codec: RowCodec
    keys: Keys
    indexes: NamespaceIndexes
    model: str
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
        if any(target.texts is not None for target in targets) and {each.model for each in known.values()} - {
            self.model
        }:
            await check_model(conn, self.model)
        targets = [await self._compared(conn, target, candidates(target.op)) for target in targets]
        # Everything in one round trip; a pipeline of one statement would only cost.
        statements = len(beside) + bool(gets) + bool(targets) + len(reads.lists)
        found: AsyncCursor[DictRow] | None = None
        async with confined(conn, whose, together=statements > 1):
            got = await self._send_gets(conn, gets) if gets else None
            if targets:
                is_confined = has_row_security(conn) and not reads.crosses_owners
                statement = search_statement(targets, omit_expired=self.omit_expired, is_confined=is_confined)
                async with unconfined(conn, whose) if reads.crosses_owners else nullcontext():
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
            rows = await self._found(conn, reads, targets, await rows_of(found))
            for (index, op), hits in zip(reads.searches, rows, strict=True):
                results[index] = [scored(row["item"], row["score"]) for row in hits]
                refreshed += hits if op.refresh_ttl else []
        for (index, _), cursor in zip(reads.lists, listed, strict=True):
            results[index] = [tuple(row["truncated_prefix"].split(".")) for row in await cursor.fetchall()]
        await _refresh(conn, refreshed)
        return [await cursor.fetchall() for cursor in others]

    async def owners_searched(self, pool: Pool, reads: Reads) -> set[str]:
        """Return the owners with indexes here that a batch searches: all, where the database can search none."""
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
        return [row for row in rows if "item" in row]

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

    async def _target(
        self, number: int, op: SearchOp, vector: Binary | None, known: Mapping[str, OwnerTexts]
    ) -> Target:
        path = ".".join(op.namespace_prefix)
        owner = owner_within(path)
        split, sealed = self.codec.split(op, self.keys.get(owner or ""))
        target = Target(number, split, vector, sealed)
        if vector is None:
            return target
        if self.codec.seals:
            texts = [each for each in known.values() if owner in (None, each.owner) and each.model == self.model]
            return await _nearest(target._replace(texts=texts), candidates(op), self.keys)
        of_owner = known.get(owner or "")
        if of_owner is None or of_owner.model != self.model:
            return target
        if of_owner.reaches_large(path):
            self.indexes.outgrown(path)
            return target
        target = await _nearest(target._replace(texts=[of_owner]), candidates(op), self.keys)
        # what a filter or time refuses is made up for by more of them
        if op.filter or self.omit_expired or len(target.items) <= op.limit + op.offset:
            return target
        return target._replace(items=target.items[: op.limit + op.offset], is_all=False)

    async def _compared(self, conn: Connection, target: Target, count: int) -> Target:
        """Return a search with the nearest items of `count` texts, where the database compares."""
        if target.vector is None or target.texts is not None:
            return target
        owner = owner_within(target.path)
        # further texts are compared one by one: an index ends its scan early
        indexed = self.indexes.within(target.path) if count == candidates(target.op) else []
        async with confined(conn, [owner], together=True) if owner is not None else conn.pipeline():
            await conn.execute(INDEX_SCAN)
            found = await conn.execute(*nearest_statement(target.path, target.vector, count, indexed))
        rows = await rows_of(found)
        if any(row["model"] != self.model for row in rows):
            await check_model(conn, self.model)
        best: dict[tuple[str, str], float] = {}
        for row in sorted(rows, key=lambda row: _rank_of(row["cosine"], row["prefix"], row["key"])):
            best.setdefault((row["prefix"], row["key"]), row["cosine"])
        items = [(*place, cosine) for place, cosine in best.items()]
        return target._replace(items=items, is_all=len(rows) < count and not indexed)

    async def _found(
        self, conn: Connection, reads: Reads, targets: Sequence[Target], found: list[DictRow]
    ) -> list[list[DictRow]]:
        """Return the opened rows of each search, ranked, after further searches for each that found too few."""
        rows = _passing(targets, await self._opened(conn, found))
        more = 1
        while again := [target for target in targets if not target.is_complete(rows[target.number])]:
            more *= _MORE
            wider: dict[int, Target] = {}
            for target in again:
                count = min(EVERY, more * candidates(target.op))
                known = target if target.texts is None else await _nearest(target, count, self.keys)
                wider[target.number] = await self._compared(conn, known, count)
            statement = search_statement([*wider.values()], omit_expired=self.omit_expired)
            async with nullcontext() if reads.crosses_owners else confined(conn, reads.owners_read):
                found_again = await conn.execute(*statement)
            rows |= _passing([*wider.values()], await self._opened(conn, await rows_of(found_again)))
            targets = [wider.get(target.number, target) for target in targets]
        # of those that it ranks the database has left out the first
        return [
            rows[target.number][target.op.offset if target.is_ranked_here else 0 :][: target.op.limit]
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
        found[target.number] = sorted(own.values(), key=_rank_of_row)
    return found


def owner_of_list(op: ListNamespacesOp) -> str | None:
    """Return the owner of all namespaces that a list may return; None if there may be several."""
    for condition in op.match_conditions or ():
        if condition.match_type == "prefix" and "*" not in condition.path[:2]:
            owner = owner_within(".".join(condition.path))
            if owner is not None:
                return owner
    return None


async def _nearest(target: Target, count: int, keys: Keys) -> Target:
    """Return a search with the nearest items in its indexes, from `count` texts of each namespace."""
    query = binary.numbers(cast("Binary", target.vector))
    namespaces = {
        prefix: texts.namespaces[prefix] for texts in target.texts or () for prefix in texts.within(target.path)
    }

    def find() -> list[tuple[str, str, float]]:
        found = [
            (prefix, key, cosine)
            for prefix, texts in namespaces.items()
            for key, cosine in nearest(texts, query, count)
        ]
        # of equals the first by key: they lie in the order in which this process came to know them
        return sorted(found, key=lambda one: _rank_of(one[2], one[0], one[1]))

    number = sum(map(len, namespaces.values()))
    found = await asyncio.to_thread(find) if number > AT_ONCE else find()
    items = [(prefix, stored, cosine) for prefix, key, cosine in found for stored in both_keys(keys, prefix, key)]
    return target._replace(items=items, is_all=number <= count)


async def rows_of(cursor: AsyncCursor[DictRow]) -> list[DictRow]:
    """Return the rows of a statement, and let other tasks of the event loop run between parts."""
    rows = await cursor.fetchmany(_ROWS_AT_ONCE)
    more = rows
    while len(more) == _ROWS_AT_ONCE:
        await asyncio.sleep(0)
        more = await cursor.fetchmany(_ROWS_AT_ONCE)
        rows += more
    return rows


def _rank_of_row(row: DictRow) -> tuple[float, str, str]:
    """Return the sort key of a row of a search: by score, or without one by time."""
    score = row["updated_at"].timestamp() if row["score"] is None else row["score"]
    return _rank_of(score, row["prefix"], row["item"].key)


def _rank_of(score: float, prefix: str, key: str) -> tuple[float, str, str]:
    """Return the sort key of an item; items without a number come last."""
    return math.inf if math.isnan(score) else -score, prefix, key


async def _refresh(conn: Connection, rows: Sequence[DictRow]) -> None:
    """Renew the time to live of the items of rows that expire."""
    expiring = [row for row in rows if row["ttl_minutes"] is not None]
    if expiring:
        prefixes = [row["prefix"] for row in expiring]
        owners = [owner_of_path(prefix) for prefix in prefixes]
        seen = (owners, prefixes, [row["key"] for row in expiring])
        async with confined(conn, set(owners)):
            await conn.execute(_REFRESH, (*seen, sorted(set(owners))))
