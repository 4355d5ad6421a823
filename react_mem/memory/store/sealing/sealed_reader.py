"""Reading items of a database whose items are sealed: as `memory.store.reading` does, and opening what is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, LiteralString, NamedTuple

from langgraph.store.base import GetOp, Result, SearchItem, SearchOp
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import DictRow

from react_mem.memory.index.recall import scored
from react_mem.memory.model.namespaces import owner_of_path, owner_within
from react_mem.memory.store.conversation_listing import (
    ConversationPlace,
    ListedConversations,
    conversations_of,
    read_conversations,
)
from react_mem.memory.store.listing import Listed, ListPlace, Wanted, page_of, read_listed
from react_mem.memory.store.model_guard import check_model
from react_mem.memory.store.owned import OwnedPage, read_page
from react_mem.memory.store.owner_texts import EVERY, OwnerTexts
from react_mem.memory.store.reading import (
    Reads,
    get_statement,
    item_of,
    nearest_items,
    rank_of,
    refresh,
    rows_of,
    send_lists,
)
from react_mem.memory.store.sealing.sealed_filters import SplitFilter
from react_mem.memory.store.sealing.store_seal import Keys, StoreSeal, both_keys
from react_mem.memory.store.searches import ITEM_COLUMNS, Nearest, Parameters, candidates, conditions_of, in_namespace
from react_mem.memory.store.serialisation import Binary
from react_mem.memory.store.wall import has_wall, unwalled, walled

# The SQL of searches over sealed items: the process says what is nearest, and the database what may pass a filter.

# with those that tie: among them the items' own keys decide, which the process knows
_LISTED = """
    (SELECT {number} AS search, {columns}, NULL::float8 AS score FROM store s WHERE {in_namespace} {conditions}
     ORDER BY s.updated_at DESC {first})
"""
_FIRST = "FETCH FIRST ({first}) ROWS WITH TIES"
_FOUND = """
    (SELECT {number} AS search, {columns}, near.score
     FROM unnest({owners}::text[], {prefixes}::text[], {keys}::text[], {scores}::float8[])
        AS near (owner, prefix, key, score)
     JOIN store s ON s.owner = near.owner AND s.prefix = near.prefix AND s.key = near.key
     WHERE TRUE {of_owner} {conditions})
"""


class SealedTarget(NamedTuple):
    """A search, and how it is carried out.

    Args:
        number: What its rows have as `search`.
        op: The search.
        split: Its filter.
        nearest: What is nearest, and how near; None to list by time.
    """

    number: int
    op: SearchOp
    split: SplitFilter
    nearest: Nearest | None = None

    def is_complete(self, found: Sequence[Any]) -> bool:
        """Return whether what passed is all there is, or enough."""
        return self.nearest is None or self.nearest.is_all or len(found) >= self.op.limit + self.op.offset


def sealed_statement(
    targets: Sequence[SealedTarget], keys: Keys, *, omit_expired: bool, is_walled: bool
) -> tuple[bytes, dict[str, Any]]:
    """Return one statement for all searches, and its parameters.

    Its rows, in no order, have `search`, `score` and the item's columns.

    Args:
        targets: The searches.
        keys: The keys of owners.
        omit_expired: Whether expired items are left out.
        is_walled: Whether it is sent behind a wall.
    """
    parameters = Parameters()
    parts = []
    for target in targets:
        op, split, path = target.op, target.split, ".".join(target.op.namespace_prefix)
        within = owner_within(path) if is_walled and target.nearest is None else None
        plain = op._replace(filter=split.plain)
        conditions = conditions_of(plain, parameters, omit_expired=omit_expired, within=within)
        common = {
            "number": target.number,
            "columns": ITEM_COLUMNS,
            "conditions": conditions + split.of_keyed(parameters, within),
        }
        if target.nearest is None:
            of_namespace = in_namespace("s", path, parameters)
            first = "" if split.rest else _FIRST.format(first=parameters.add(op.limit + op.offset))
            parts.append(_LISTED.format(**common, in_namespace=of_namespace, first=first))
            continue
        rows = [
            (owner_of_path(prefix), prefix, key, cosine)
            for prefix, item, cosine in target.nearest.items
            for key in both_keys(keys, prefix, item)
        ]
        owners, prefixes, stored, scores = (parameters.add([row[place] for row in rows]) for place in range(4))
        owner = owner_within(path)
        # said of the items too, so that a cluster sees that all is on one node
        of_owner = "" if owner is None else f"AND s.owner = {parameters.add(owner)}"
        parts.append(
            _FOUND.format(**common, of_owner=of_owner, owners=owners, prefixes=prefixes, keys=stored, scores=scores)
        )
    return " UNION ALL ".join(parts).encode(), parameters.values


# It goes on behind the row of an item: the one in plain, where that is still there.
_UNINDEXED = """
    SELECT s.prefix, s.key, s.value::text AS value FROM store s
    WHERE s.owner = %(owner)s AND s.prefix = %(prefix)s AND s.value ->> 'kind' = %(kind)s AND s.key > COALESCE((
            SELECT p.key FROM store p WHERE p.owner = %(owner)s AND p.prefix = %(prefix)s AND p.key = %(item)s
        ), %(stored)s)
        AND NOT EXISTS (
            SELECT FROM store_vectors v WHERE v.owner = s.owner AND v.prefix = s.prefix AND v.key = s.key
        )
    ORDER BY s.key LIMIT %(limit)s
"""
_OWNERS = "SELECT DISTINCT v.owner FROM store_vectors v WHERE {in_namespace}"


@dataclass(frozen=True)
class SealedReader:
    """Reads from one database, with the keys of the owners that are read.

    Args:
        seal: Opens what is found.
        keys: The keys.
        model: The embedding model's name.
        omit_expired: Whether what has expired is left out.
    """

    seal: StoreSeal
    keys: Keys
    model: str
    omit_expired: bool

    async def read(
        self,
        conn: AsyncConnection[DictRow],
        reads: Reads,
        results: list[Result],
        targets: Sequence[SealedTarget],
        known: Mapping[str, OwnerTexts],
        *,
        beside: Sequence[tuple[LiteralString, Any]] = (),
    ) -> list[list[DictRow]]:
        """Put the results of reads where they belong, and return the rows of other statements.

        Args:
            conn: The connection.
            reads: What to read.
            results: Where to put it, one place an operation of the batch.
            targets: How the searches are carried out, in their order.
            known: What is at hand of owners.
            beside: Statements about these owners that are sent after the others; their rows are read in binary form.

        Raises:
            SealError: If something does not open: its owner has another key by now.
        """
        gets = reads.gets
        whose = {*reads.owners_read, *known}
        async with walled(conn, whose, together=True):
            got = await self._send_gets(conn, gets) if gets else None
            async with unwalled(conn, whose) if reads.crosses_owners else nullcontext():
                found = await self._send(conn, reads, targets) if targets else None
            listed = await send_lists(conn, reads, whose)
            others = [await conn.cursor(binary=True).execute(*statement) for statement in beside]
        refreshed: list[DictRow] = []
        if got is not None:
            for row in await self._opened(conn, await rows_of(got)):
                index, get = gets[(row["place"] - 1) % len(gets)]
                results[index] = item_of(row)
                refreshed += [row] if get.refresh_ttl else []
        if found is not None:
            rows = await self._found(conn, reads, targets, await rows_of(found), known)
            for (index, op), hits in zip(reads.searches, rows, strict=True):
                results[index] = [_scored(row) for row in hits]
                refreshed += hits if op.refresh_ttl else []
        for (index, _), cursor in zip(reads.lists, listed, strict=True):
            results[index] = [tuple(row["truncated_prefix"].split(".")) for row in await cursor.fetchall()]
        await refresh(conn, [{**row, "key": row["stored_key"]} for row in refreshed])
        return [await cursor.fetchall() for cursor in others]

    async def targets(self, reads: Reads, known: Mapping[str, OwnerTexts]) -> list[SealedTarget]:
        """Return how the searches of a batch are carried out.

        Args:
            reads: The batch.
            known: What is at hand of owners.
        """
        return [
            await self._target(number, op, reads.queries[op.query] if op.query else None, known, candidates(op))
            for number, (_, op) in enumerate(reads.searches)
        ]

    async def page(
        self, conn: AsyncConnection[DictRow], namespace: Sequence[str], behind: tuple[str, str], limit: int
    ) -> OwnedPage:
        """Return the next items of an owner's namespace and those below it."""
        rows, last = await read_page(conn, namespace, behind, limit, omit_expired=self.omit_expired)
        return OwnedPage([item_of(row) for row in await self._opened(conn, rows)], last)

    async def listed(
        self, conn: AsyncConnection[DictRow], wanted: Wanted, behind: ListPlace | None, limit: int
    ) -> Listed:
        """Return the next of an owner's records, the latest first: see `memory.store.listing`."""
        key = self.keys.get(owner_of_path(".".join(wanted.namespaces[0])))
        rows, places, total = await read_listed(conn, wanted, behind, limit, omit_expired=self.omit_expired, key=key)
        items = [item_of(row) for row in await self._opened(conn, rows)]
        return page_of(places, items, total, limit)

    async def conversations(
        self, conn: AsyncConnection[DictRow], namespace: Sequence[str], behind: ConversationPlace | None, limit: int
    ) -> ListedConversations | None:
        """Return the next of an owner's conversations: see `memory.store.conversation_listing`."""
        rows = await read_conversations(conn, tuple(namespace), behind, limit, omit_expired=self.omit_expired)
        if rows is None:
            return None
        opened = await self._opened(conn, [row for row in rows if row["key"] is not None])
        return conversations_of(rows, [item_of(row) for row in opened], limit)

    async def unindexed(
        self, conn: AsyncConnection[DictRow], prefix: str, kind: str, *, after: str, limit: int
    ) -> list[str]:
        """Return the keys of a namespace's items that the index holds nothing of: see `MemoryStore.aunindexed`."""
        owner = owner_of_path(prefix)
        asked = {**self._behind(prefix, after), "owner": owner, "kind": kind, "limit": limit}
        async with walled(conn, [owner]):
            found = await conn.execute(_UNINDEXED, asked)
        return [row["key"] for row in await self._opened(conn, await rows_of(found))]

    def _behind(self, prefix: str, item: str) -> dict[str, str]:
        stored = both_keys(self.keys, prefix, item)[0] if item else ""
        return {"prefix": prefix, "item": item, "stored": stored}

    async def _opened(self, conn: AsyncConnection[DictRow], rows: list[DictRow]) -> list[DictRow]:
        # of a search across owners, whose they are is only known now
        owners = {owner_of_path(row["prefix"]) for row in rows} - self.keys.keys()
        keys = {**self.keys, **await self.seal.keys(owners, conn)} if owners else self.keys
        return await self.seal.opened(rows, keys)

    async def _send_gets(
        self, conn: AsyncConnection[DictRow], gets: Sequence[tuple[int, GetOp]]
    ) -> AsyncCursor[DictRow]:
        prefixes = [".".join(op.namespace) for _, op in gets]
        both = [both_keys(self.keys, prefix, op.key) for prefix, (_, op) in zip(prefixes, gets, strict=True)]
        # first those in plain: where there should be both, the sealed one counts
        stored = [*(keys[-1] for keys in both), *(keys[0] for keys in both)]
        return await conn.execute(*get_statement(prefixes * 2, stored, omit_expired=self.omit_expired, ordered=True))

    async def _send(
        self, conn: AsyncConnection[DictRow], reads: Reads, targets: Sequence[SealedTarget]
    ) -> AsyncCursor[DictRow]:
        is_walled = has_wall(conn) and not reads.crosses_owners
        asked = sealed_statement(targets, self.keys, omit_expired=self.omit_expired, is_walled=is_walled)
        return await conn.execute(*asked)

    async def _target(
        self,
        number: int,
        op: SearchOp,
        vector: Binary | None,
        known: Mapping[str, OwnerTexts],
        count: int,
    ) -> SealedTarget:
        path = ".".join(op.namespace_prefix)
        owner = owner_within(path)
        split = SplitFilter.of(path, op.filter, self.keys.get(owner) if owner is not None else None)
        if vector is None:
            return SealedTarget(number, op, split)
        of_owners = [texts for texts in known.values() if owner in (None, texts.owner)]
        found: list[tuple[str, str, float]] = []
        is_all = True
        for texts in of_owners:
            of_owner = await nearest_items(texts, path, vector, count)
            found += of_owner.items
            is_all = is_all and of_owner.is_all
        return SealedTarget(number, op, split, Nearest(owner or "", found, is_all))

    async def _found(
        self,
        conn: AsyncConnection[DictRow],
        reads: Reads,
        targets: Sequence[SealedTarget],
        found: list[DictRow],
        known: Mapping[str, OwnerTexts],
    ) -> list[list[DictRow]]:
        """Return the rows of the one statement by search, and search again what it has not found enough of."""
        if any(target.nearest is not None for target in targets) and any(
            each.model != self.model for each in known.values()
        ):
            await check_model(conn, self.model)
        rows = _by_search(targets, await self._opened(conn, found))
        again = [target for target in targets if not target.is_complete(rows[target.number])]
        if again:
            wider = [
                await self._target(each.number, each.op, reads.queries[str(each.op.query)], known, EVERY)
                for each in again
            ]
            async with nullcontext() if reads.crosses_owners else walled(conn, reads.owners_read):
                cursor = await self._send(conn, reads, wider)
            more = _by_search(wider, await self._opened(conn, await rows_of(cursor)))
            for target in again:
                rows[target.number] = more[target.number]
        return [rows[target.number][target.op.offset :][: target.op.limit] for target in targets]


async def owners_of_queries(conn: AsyncConnection[DictRow], reads: Reads) -> set[str]:
    """Return the owners among whose texts something is searched for: also where that is said of no one in particular.

    Args:
        conn: A connection.
        reads: The searches.
    """
    owners = set(reads.owners)
    for path in {".".join(op.namespace_prefix) for _, op in reads.searches if op.query}:
        if owner_within(path) is None:
            parameters = Parameters()
            statement = _OWNERS.format(in_namespace=in_namespace("v", path, parameters))
            found = await (await conn.execute(statement.encode(), parameters.values)).fetchall()
            owners |= {row["owner"] for row in found}
    return owners


def _by_search(targets: Sequence[SealedTarget], rows: Sequence[DictRow]) -> dict[int, list[DictRow]]:
    """Return the rows of each search that pass its filter, in their order, each item once."""
    found: dict[int, list[DictRow]] = {}
    for target in targets:
        own = {
            (row["prefix"], row["key"]): row
            for row in rows
            if row["search"] == target.number and target.split.passes(row["value"])
        }
        found[target.number] = sorted(own.values(), key=rank_of)
    return found


def _scored(row: DictRow) -> SearchItem:
    return scored(item_of(row), row["score"])
