"""`MemoryStore`: LangGraph's Postgres store, exact for one owner, with atomic batches.

It keeps the stock store's tables and semantics. What differs, and why:

- A search is exact within its namespace (see `search`), and one that has outgrown that gets an index of its own (see
  `namespace_indexes`); all searches of a batch are one statement, and a query is embedded as a query, once, however
  many searches share it.
- A text whose vector cannot be made is found by its words, and its vector is made up for (see `vectors`).
- A long text is found by each of its pieces, not by its beginning alone.
- The writes of a batch are one transaction, in statements of bounded size, without a parameter an item.
- Updating an item removes the vectors of what it no longer says.
- No connection is held while a model embeds, and a batch is embedded in bounded parts.
- While a database moves to another embedding model, reading and writing go on; a process that still has the old one
  is told so afterwards, and mixes nothing up.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Literal, LiteralString, TypeVar, cast

from langgraph.store.base import (
    NOT_PROVIDED,
    GetOp,
    Item,
    ListNamespacesOp,
    NotProvided,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from langgraph.store.postgres.aio import AsyncPostgresStore
from langgraph.store.postgres.base import PostgresIndexConfig
from psycopg import AsyncConnection, AsyncCursor, errors
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from react_mem.memory.index.entries import Entry
from react_mem.memory.index.recall import Recall, RecallOp
from react_mem.memory.language.text import MAX_INDEXED_CHARS
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.arms import Arm
from react_mem.memory.model.namespaces import ROOT
from react_mem.memory.store import binary
from react_mem.memory.store.arms import arm_by_arm, may_be_an_arm
from react_mem.memory.store.binary import Binary
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.linked import read_linked
from react_mem.memory.store.migrations import migrate
from react_mem.memory.store.model_guard import check_model
from react_mem.memory.store.namespace_indexes import NamespaceIndexes
from react_mem.memory.store.recall import recall_statement, to_recall
from react_mem.memory.store.scale import Scale
from react_mem.memory.store.search import EXACT_SCAN_LIMIT, Searches, Target, check_filter
from react_mem.memory.store.text import index_entries, storable, to_json
from react_mem.memory.store.transactions import Guard
from react_mem.memory.store.vectors import DocumentVectors, checked_vector, finite_vector
from react_mem.memory.store.writes import ItemRow, Types, Writes, index_rows, read_types, write, write_if

Pool = AsyncConnectionPool[AsyncConnection[DictRow]]
_AnyOp = TypeVar("_AnyOp", GetOp, SearchOp, ListNamespacesOp, PutOp)

_WRITE_ATTEMPTS = 3
"""Two batches over the same items in another order can deadlock; the one that PostgreSQL ends is sent again."""

_GET = """
    SELECT wanted.place, s.prefix, s.key, s.value, s.created_at, s.updated_at, s.ttl_minutes
    FROM unnest(%s::int[], %s::text[], %s::text[]) AS wanted (place, prefix, key)
    JOIN store s ON s.prefix = wanted.prefix AND s.key = wanted.key
    WHERE NOT %s OR s.expires_at IS NULL OR s.expires_at > now()
"""
_REFRESH = """
    UPDATE store s SET expires_at = now() + s.ttl_minutes * interval '1 minute'
    FROM unnest(%s::text[], %s::text[]) AS seen (prefix, key)
    WHERE s.prefix = seen.prefix AND s.key = seen.key AND s.ttl_minutes IS NOT NULL
"""
_UNINDEXED = """
    SELECT s.key FROM store s WHERE s.prefix = %s AND s.value ->> 'kind' = %s AND s.key > %s AND NOT EXISTS (
        SELECT FROM store_vectors v WHERE v.prefix = s.prefix AND v.key = s.key
    )
    ORDER BY s.key LIMIT %s
"""
_QUESTION_SECONDS = 3.0
"""Seconds that a read waits for the vectors of its questions, of the five of a turn: words still find."""
_INDEX_SCAN = """
    SELECT set_config('hnsw.iterative_scan', 'relaxed_order', TRUE), set_config('hnsw.ef_search', '200', TRUE)
"""
"""For this transaction alone, so that it holds behind a pooler too. The order may be relaxed: the candidates are
compared anew in full precision."""


log = logging.getLogger(__name__)


class MemoryStore(AsyncPostgresStore):
    """A `BaseStore` on PostgreSQL with pgvector.

    What of a value is searchable is its `text`, or the whole value where there is none, unless `fields` or the `index`
    of a write say otherwise.
    NUL and lone surrogates, which PostgreSQL's jsonb refuses, are stored as U+FFFD.

    Args:
        pool: Autocommit connections with `dict_row`; its tables are made by `memory.store.migrations.migrate`.
        embedding: The model that embeds what is stored and what is searched for.
        ttl: How items expire.
        fields: Paths of what is searchable of a value, as in `PostgresIndexConfig`; not of the records of memory, which
            have fields of their own.
        exact_scan_limit: Vectors of a namespace up to which a search compares every one.
    """

    def __init__(
        self,
        pool: Pool,
        embedding: EmbeddingModel,
        *,
        ttl: TTLConfig | None = None,
        fields: Sequence[str] = (),
        exact_scan_limit: int = EXACT_SCAN_LIMIT,
    ) -> None:
        index = PostgresIndexConfig(dims=embedding.dims, embed=embedding.embeddings, fields=list(fields) or ["text"])
        super().__init__(pool, index=index, ttl=ttl)
        self.pool = pool
        self.embedding = embedding
        self._fields = tuple(fields)
        self.scale = Scale(pool, embedding)
        self.vectors = DocumentVectors(pool, embedding)
        self.indexes = NamespaceIndexes(pool, embedding.dims, exact_scan_limit)
        self._exact_scan_limit = exact_scan_limit
        self._types: Types | None = None

    async def __aexit__(self, *error: Any) -> None:
        """Stop what goes on in the background."""
        await self.indexes.close()
        await self.scale.close()
        await self.vectors.close()
        await super().__aexit__(*error)

    async def setup(self) -> None:
        """Make the tables, or bring them up to date."""
        async with self.pool.connection() as conn:
            await migrate(conn, self.embedding, checkpoints=False)

    async def aput(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any] | None,
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | NotProvided | None = NOT_PROVIDED,
    ) -> None:
        """Store an item, or delete it where the value is None.

        Raises:
            TypeError: If the value is no JSON.
            ValueError: If the value holds NaN, or the namespace or key NUL.
        """
        # Checked here and not with the batch, which holds writes of other callers too.
        _check_identity(namespace, key)
        if value is not None:
            to_json(dict(value))
        await super().aput(namespace, key, cast("Mapping[str, Any]", value), index, ttl=ttl)

    async def asearch(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """Search a namespace and those below it, by a query or else the latest first.

        Raises:
            InvalidVector: If the embedder makes no vector of the query.
            TypeError: If the filter compares with something that is no JSON.
            ValueError: If the filter has an unknown operator.
        """
        check_filter(filter)  # here and not with the batch, as in `aput`
        return await super().asearch(
            namespace_prefix, query=query, filter=filter, limit=limit, offset=offset, refresh_ttl=refresh_ttl
        )

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations together: the reads see what was there before the writes, which succeed or fail as one.

        Args:
            ops: The operations.

        Returns:
            Their results, in order.

        Raises:
            ValueError: If an operation cannot be carried out as it is; then none was.
        """
        batch = list(ops)
        gets, searches = _of_type(batch, GetOp), _of_type(batch, SearchOp)
        lists, puts = _of_type(batch, ListNamespacesOp), _of_type(batch, PutOp)
        queries, writes = await asyncio.gather(
            self._embed_queries([op for _, op in searches]), self._prepare_writes([op for _, op in puts])
        )
        results: list[Result] = [None] * len(batch)
        if gets or searches or lists:
            async with self.pool.connection() as conn:
                try:
                    await self._read(conn, gets, searches, lists, queries, results)
                except errors.DataException:
                    # A query of another length than the vectors' is one of a model that the database has left.
                    await check_model(conn, self.embedding.name)
                    raise
        if puts:
            await self._write(writes)
        return results

    async def arecall(self, ops: Sequence[Op | RecallOp]) -> list[Result | Recall]:
        """Run reads and recalls together, in one round trip.

        Where the questions cannot be embedded, the recalls do without vectors and say so.

        Args:
            ops: Reads and recalls, no writes.

        Returns:
            Their results, in order.
        """
        batch = list(ops)
        recalls = [(index, op) for index, op in enumerate(batch) if isinstance(op, RecallOp)]
        if not recalls:
            return list(await self.abatch(cast("list[Op]", batch)))
        gets, searches, lists = _of_type(batch, GetOp), _of_type(batch, SearchOp), _of_type(batch, ListNamespacesOp)
        (vectors, failure), queries = await asyncio.gather(
            self._embed_questions([op for _, op in recalls]), self._embed_queries([op for _, op in searches])
        )
        results: list[Result | Recall] = [None] * len(batch)
        calibration = self.scale.calibration
        causes = {Arm.VECTOR: failure} if failure else {}
        asked = [op for _, op in recalls]
        read = cast("list[Result]", results)
        async with self.pool.connection() as conn:
            types = await self._read_types(conn)

            def statement(ops: Sequence[RecallOp]) -> tuple[LiteralString, Any]:
                compared = [vector if Arm.VECTOR in op.arms else None for op, vector in zip(ops, vectors, strict=True)]
                return recall_statement(ops, binary.array(types.vector, compared), self.embedding.name, calibration)

            async def ask(ops: Sequence[RecallOp]) -> list[DictRow]:
                return await (await conn.execute(*statement(ops))).fetchall()

            try:
                rows = await self._read(conn, gets, searches, lists, queries, read, recalls=statement(asked))
            except Exception as error:
                if not may_be_an_arm(error):
                    raise
                await self._read(conn, gets, searches, lists, queries, read)
                rows, raised = await arm_by_arm(ask, asked, error)
                log.warning("memory is searched without %s", "; ".join(f"{arm}: {why}" for arm, why in raised.items()))
                causes = raised | causes
        for number, (index, op) in enumerate(recalls):
            own = [row for row in rows if row["search"] == number]
            found = to_recall(op, own, calibration)
            results[index] = found.without({arm: cause for arm, cause in causes.items() if arm in op.arms})
            if any(row["texts"] > self._exact_scan_limit for row in own):
                self.indexes.outgrown(".".join(op.namespace))
        return results

    async def amake_up_vectors(self, namespace: tuple[str, ...] = ()) -> int:
        """Make the vectors that texts lack because the embedder failed when they were stored.

        Args:
            namespace: Of which namespace, and of those below it; by default of all.

        Returns:
            How many were made.
        """
        return await self.vectors.make_up(".".join(namespace))

    async def abatch_if(self, ops: Sequence[Op], guard: Guard) -> bool:
        """Write a batch only if an item has not changed meanwhile: what `memory.store.transactions` builds on.

        Args:
            ops: Writes.
            guard: What must still hold.

        Returns:
            Whether it did, and everything was written; otherwise nothing was.
        """
        writes = await self._prepare_writes([op for op in ops if isinstance(op, PutOp)])
        held = (".".join(guard.namespace), guard.key, guard.value)
        async with self.pool.connection() as conn:
            types = await self._read_types(conn)
            if not await write_if(conn, writes, types, self.embedding.name, held):
                return False
            await self._after_deletes(conn, writes)
        self.vectors.make_up_soon()
        return True

    async def aunindexed(self, namespace: tuple[str, ...], kind: str, *, after: str, limit: int) -> list[str]:
        """Return the keys of a namespace's items that the index holds nothing of, in order.

        Args:
            namespace: The namespace itself, without those below it.
            kind: What the items' `kind` is.
            after: The key behind which to begin.
            limit: Keys at most.
        """
        async with self.pool.connection() as conn:
            rows = await (await conn.execute(_UNINDEXED, (".".join(namespace), kind, after, limit))).fetchall()
        return [row["key"] for row in rows]

    async def alinked(
        self, namespaces: Sequence[tuple[str, ...]], ids: Sequence[str]
    ) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
        """Return some records with all that their links are derived from: see `memory.store.linked`."""
        async with self.pool.connection() as conn:
            return await read_linked(conn, namespaces, ids)

    async def _embed_queries(self, searches: Sequence[SearchOp]) -> dict[str, Binary]:
        """Return a vector for every distinct query of the batch."""
        queries = list(dict.fromkeys(op.query for op in searches if op.query))
        vectors = await asyncio.gather(
            *(self.embedding.embeddings.aembed_query(storable(query)[:MAX_INDEXED_CHARS]) for query in queries)
        )
        # one of zeros is near to nothing, and all that there is is found, in no order
        return {
            query: Binary(finite_vector(self.embedding, vector)) for query, vector in zip(queries, vectors, strict=True)
        }

    async def _embed_questions(self, ops: Sequence[RecallOp]) -> tuple[list[bytes | None], str]:
        """Return the vectors of the recalls' questions, and why there are none."""
        texts = list(dict.fromkeys(op.question.text for op in ops if Arm.VECTOR in op.arms))
        try:
            async with asyncio.timeout(_QUESTION_SECONDS):
                made = await asyncio.gather(*(self.embedding.embeddings.aembed_query(storable(text)) for text in texts))
            vectors = dict(zip(texts, (checked_vector(self.embedding, each) for each in made), strict=True))
        except Exception as error:  # whatever the provider's client raises, or makes of a question
            what = (
                f"no answer in {_QUESTION_SECONDS:.0f} seconds" if isinstance(error, TimeoutError) else cause_of(error)
            )
            cause = f"the question cannot be embedded ({what})"
            log.warning("memory is searched without vectors: %s", cause)
            return [None] * len(ops), cause
        return [vectors.get(op.question.text) for op in ops], ""

    async def _prepare_writes(self, puts: Sequence[PutOp]) -> Writes:
        if any(op.value is not None and op.index is not False for op in puts):
            # the words and dates of a few long texts take a while to find
            writes, entries = await asyncio.to_thread(self._read_writes, puts)
        else:
            writes, entries = self._read_writes(puts)
        vectors = await self.vectors.of([entry.text for _, _, entry in entries])
        writes.rows += await asyncio.to_thread(index_rows, entries, vectors) if entries else []
        return writes

    def _read_writes(self, puts: Sequence[PutOp]) -> tuple[Writes, list[tuple[str, str, Entry]]]:
        writes = Writes()
        entries: list[tuple[str, str, Entry]] = []
        # The last write of an item is the one that counts.
        for (namespace, key), op in {(op.namespace, op.key): op for op in puts}.items():
            _check_identity(namespace, key)
            prefix = ".".join(namespace)
            if op.value is None:
                writes.deletes.append((prefix, key))
                continue
            writes.items.append(ItemRow(prefix, key, to_json(op.value), op.ttl))
            entries.extend((prefix, key, entry) for entry in index_entries(op.value, self._paths(op)))
        return writes, entries

    def _paths(self, op: PutOp) -> Literal[False] | Sequence[str] | None:
        if op.index is not None or not self._fields or op.namespace[0] == ROOT:
            return op.index
        return self._fields

    async def _write(self, writes: Writes) -> None:
        for attempt in range(1, _WRITE_ATTEMPTS + 1):
            try:
                async with self.pool.connection() as conn:
                    await write(conn, writes, await self._read_types(conn), self.embedding.name)
                    await self._after_deletes(conn, writes)
                self.vectors.make_up_soon()
                return
            except errors.DeadlockDetected:
                if attempt == _WRITE_ATTEMPTS:
                    raise

    async def _after_deletes(self, conn: AsyncConnection[DictRow], writes: Writes) -> None:
        if writes.deletes:
            await self.indexes.shrunk(conn, (prefix for prefix, _ in writes.deletes))

    async def _read_types(self, conn: AsyncConnection[DictRow]) -> Types:
        if self._types is None:
            self._types = await read_types(conn)
        return self._types

    async def _read(
        self,
        conn: AsyncConnection[DictRow],
        gets: Sequence[tuple[int, GetOp]],
        searches: Sequence[tuple[int, SearchOp]],
        lists: Sequence[tuple[int, ListNamespacesOp]],
        queries: Mapping[str, Binary],
        results: list[Result],
        *,
        recalls: tuple[LiteralString, Any] | None = None,
    ) -> list[DictRow]:
        """Put the results of reads where they belong, and return the rows of recalls."""
        targets = [
            self._target(number, op, queries[op.query] if op.query else None) for number, (_, op) in enumerate(searches)
        ]
        # Everything in one round trip; a pipeline of one statement would only cost.
        together = conn.pipeline() if bool(recalls) + bool(gets) + bool(targets) + len(lists) > 1 else nullcontext()
        async with together:
            recalled = await conn.execute(*recalls) if recalls else None
            got = await self._send_gets(conn, gets) if gets else None
            found = await self._send_searches(conn, targets) if targets else None
            listed = [
                await conn.execute(query.encode(), parameters)
                for query, parameters in self._get_batch_list_namespaces_queries(lists)
            ]
        refreshed: list[DictRow] = []
        if got is not None:
            for row in await got.fetchall():
                index, get = gets[row["place"]]
                results[index] = _item(row)
                refreshed += [row] if get.refresh_ttl else []
        if found is not None:
            rows = await self._search_rows(conn, targets, await found.fetchall())
            for (index, op), hits in zip(searches, rows, strict=True):
                results[index] = [_search_item(row) for row in hits]
                refreshed += hits if op.refresh_ttl else []
        for (index, _), cursor in zip(lists, listed, strict=True):
            results[index] = [tuple(row["truncated_prefix"].split(".")) for row in await cursor.fetchall()]
        await _refresh(conn, refreshed)
        return await recalled.fetchall() if recalled is not None else []

    async def _send_gets(
        self, conn: AsyncConnection[DictRow], gets: Sequence[tuple[int, GetOp]]
    ) -> AsyncCursor[DictRow]:
        prefixes = [".".join(op.namespace) for _, op in gets]
        keys = [op.key for _, op in gets]
        return await conn.execute(_GET, (list(range(len(gets))), prefixes, keys, self._omit_expired))

    @property
    def _searches(self) -> Searches:
        # whether what has expired is left out may be set on a store that is open
        return Searches(self._exact_scan_limit, self._omit_expired)

    async def _send_searches(self, conn: AsyncConnection[DictRow], targets: Sequence[Target]) -> AsyncCursor[DictRow]:
        statement = self._searches.statement(targets, bounded=True)
        if not any(target.indexed for target in targets):
            return await conn.execute(*statement)
        async with conn.pipeline(), conn.transaction():
            await conn.execute(_INDEX_SCAN)
            return await conn.execute(*statement)

    def _target(self, number: int, op: SearchOp, vector: Binary | None) -> Target:
        if vector is None:
            return Target(number, op, None)
        path = ".".join(op.namespace_prefix)
        indexed = self.indexes.within(path)
        return Target(number, op, vector, indexed, measured=not indexed and self.indexes.is_due(path))

    async def _search_rows(
        self, conn: AsyncConnection[DictRow], targets: Sequence[Target], found: Sequence[DictRow]
    ) -> list[list[DictRow]]:
        """Sort the rows of the one statement by search, and search again what it has not found all of."""
        if any(row["model"] not in (None, self.embedding.name) for row in found):
            await check_model(conn, self.embedding.name)
        rows = [[row for row in found if row["search"] == target.number] for target in targets]
        for target in targets:
            if any(row["more"] for row in rows[target.number]):
                self.indexes.outgrown(".".join(target.op.namespace_prefix))
        again = [target for target in targets if not target.is_complete(rows[target.number])]
        if again:
            cursor = await conn.execute(*self._searches.statement(again, bounded=False))
            more = await cursor.fetchall()
            for target in again:
                rows[target.number] = [row for row in more if row["search"] == target.number]
        return [sorted(hits, key=_rank) for hits in rows]


def _check_identity(namespace: tuple[str, ...], key: str) -> None:
    # Replacing what cannot be stored would make two items one.
    if storable(key) != key or any(storable(label) != label for label in namespace):
        raise ValueError(
            f"A namespace and a key must be text without NUL or lone surrogates, got {namespace!r}, {key!r}"
        )


def _of_type(batch: Sequence[Op | RecallOp], kind: type[_AnyOp]) -> list[tuple[int, _AnyOp]]:
    return [(index, op) for index, op in enumerate(batch) if isinstance(op, kind)]


def _item(row: DictRow) -> Item:
    return Item(
        namespace=tuple(row["prefix"].split(".")),
        key=row["key"],
        value=row["value"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _search_item(row: DictRow) -> SearchItem:
    return SearchItem(
        namespace=tuple(row["prefix"].split(".")),
        key=row["key"],
        value=row["value"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        score=row["score"],
    )


def _rank(row: DictRow) -> tuple[float, str, str]:
    # Nearest first, or else latest; what cannot be compared last.
    rank = -row["updated_at"].timestamp() if row["score"] is None else -row["score"]
    return math.inf if math.isnan(rank) else rank, row["prefix"], row["key"]


async def _refresh(conn: AsyncConnection[DictRow], rows: Sequence[DictRow]) -> None:
    expiring = [row for row in rows if row["ttl_minutes"] is not None]
    if expiring:
        await conn.execute(_REFRESH, ([row["prefix"] for row in expiring], [row["key"] for row in expiring]))
