"""`MemoryStore`: LangGraph's PostgreSQL store with searches that are exact for one owner, and with atomic batches.

The tables and the semantics are those of the stock store. The differences, with their reasons:

- A search is exact within its namespace (see `searches`); a large namespace gets an index of its own (see
  `large_namespaces`). All searches of a batch are one statement, and each distinct query is embedded once.
- A text without a vector is found by its words, and gets the vector later (see `vectors`).
- A long text is indexed in pieces, not by its beginning alone.
- The writes of a batch are one transaction, in statements of bounded size.
- An update of an item removes the vectors of its old texts.
- No connection is held while a model embeds, and a batch is embedded in bounded parts.
- While a database moves to another embedding model, reads and writes go on. A process with the old model gets an error
  afterwards, and never mixes the vectors of the two.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)
from langgraph.store.postgres.aio import AsyncPostgresStore
from langgraph.store.postgres.base import PostgresIndexConfig
from psycopg import errors

from react_mem.errors import EmbeddingUnavailable, SealError
from react_mem.memory.index.recall import Recall, RecallOp
from react_mem.memory.model.interface import Arm
from react_mem.memory.model.namespaces import is_bookkeeping, owner_of
from react_mem.memory.model.operations import Check
from react_mem.memory.store.attachments import ATTACHMENT_BYTES
from react_mem.memory.store.audit_log import AuditLog, note_writes
from react_mem.memory.store.calibration import Calibration, MeasuredScale
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.key_ring import KeyRing
from react_mem.memory.store.large_namespaces import NamespaceIndexes
from react_mem.memory.store.left_traces import Traces, find_traces
from react_mem.memory.store.migrations import migrate
from react_mem.memory.store.owner_index import OwnerIndexes
from react_mem.memory.store.owner_reads import OwnerReads
from react_mem.memory.store.owner_recall import OwnerRecall
from react_mem.memory.store.owner_texts import OwnerTexts
from react_mem.memory.store.reading import Reader, Reads
from react_mem.memory.store.row_codec import Keys, RowCodec
from react_mem.memory.store.row_security import Connection, Pool
from react_mem.memory.store.searches import check_filter
from react_mem.memory.store.storage_settings import CACHE_BYTES, INDEX_BYTES, INDEX_LIMIT
from react_mem.memory.store.transactions import Guard, check_model, until_no_deadlock
from react_mem.memory.store.vectors import DocumentVectors, query_vectors, question_vectors
from react_mem.memory.store.writes import Held, Writes, erase_if, read_vector_oid, sweep, write

_AnyOp = TypeVar("_AnyOp", GetOp, SearchOp, ListNamespacesOp, PutOp)
_Read = TypeVar("_Read")

_INDEX_ATTEMPTS = 3
"""Attempts of a search over the indexes in this process, if others write meanwhile. The last attempt finds at least
what was written before the read began."""

Known = Mapping[str, OwnerTexts]

log = logging.getLogger(__name__)


class MemoryStore(OwnerReads, AsyncPostgresStore):
    """`BaseStore` on PostgreSQL with pgvector.

    The searchable part of a value is its `text`, or the whole value without one, unless `fields` or the `index` of a
    write name others. NUL and lone surrogates, which jsonb refuses, are stored as U+FFFD.

    Args:
        pool: Autocommit connections with `dict_row`, to a database that `memory.store.migrations.migrate` has set up.
        embedding: The model for stored texts and for queries.
        ttl: Expiry of items.
        fields: Paths of the searchable parts of a value, as in `PostgresIndexConfig`; the records of memory have fields
            of their own.
        index_bytes: Memory for the owners' indexes, in bytes.
        index_limit: Texts of a namespace up to which a search compares all of them; above, an index of the database
            proposes candidates.
        question_cache_bytes: Memory for the vectors of questions, which are cached for ten minutes.
        attachment_bytes: Quota of an owner's attachments, in bytes (`memory.store.attachments`).
        keys: The data keys of owners, where memory is encrypted.
        audit: The audit log; None without one.
        receipt_key: Signs receipts; None takes a key of the master key, or of the database.
    """

    recalls = True
    guards = True
    embedding: EmbeddingModel

    # each call by itself: the stock store gathers single calls of all callers, who wait for and fail with each other
    aget, asearch, aput, adelete = BaseStore.aget, BaseStore.asearch, BaseStore.aput, BaseStore.adelete
    alist_namespaces = BaseStore.alist_namespaces

    def __init__(
        self,
        pool: Pool,
        embedding: EmbeddingModel,
        *,
        ttl: TTLConfig | None = None,
        fields: Sequence[str] = (),
        index_bytes: int = INDEX_BYTES,
        index_limit: int = INDEX_LIMIT,
        question_cache_bytes: int = CACHE_BYTES,
        attachment_bytes: int = ATTACHMENT_BYTES,
        keys: KeyRing | None = None,
        audit: AuditLog | None = None,
        receipt_key: Ed25519PrivateKey | None = None,
    ) -> None:
        index = PostgresIndexConfig(dims=embedding.dims, embed=embedding.embeddings, fields=list(fields) or ["text"])
        super().__init__(pool, index=index, ttl=ttl)
        if self._task is not None:  # it would gather single calls
            self._task.cancel()
            self._task = None
        self.pool = pool
        self.embedding = embedding
        embedding.recent.resize(question_cache_bytes)
        self.attachment_bytes = attachment_bytes
        self.keys = keys
        self.codec = codec = RowCodec(keys)
        # the database does not know the order of encrypted keys
        self.pages_by_key = not codec.seals
        self.audit = audit
        self.receipt_key = receipt_key
        self.scale = MeasuredScale(embedding.name, embedding.embeddings, pool)
        self.vectors = DocumentVectors(pool, embedding, codec, tuple(fields))
        self.owners = OwnerIndexes(pool, limit=index_limit, max_bytes=index_bytes, codec=codec)
        self.indexes = NamespaceIndexes(pool, embedding.dims, index_limit)
        self._recalls = OwnerRecall(pool, self.owners, self.indexes, embedding.name, codec)
        self._vector_oid: int | None = None

    @property
    def calibration(self) -> Calibration:
        """The meaning of the model's cosines."""
        return self.scale.calibration

    async def __aexit__(self, *error: Any) -> None:
        """Stop the background work."""
        if self.audit is not None:
            await self.audit.close()
        await self.owners.close()
        await self.indexes.close()
        await self.scale.close()
        await self.vectors.close()
        await super().__aexit__(*error)

    async def setup(self) -> None:
        """Create or upgrade the tables."""
        async with self.pool.connection() as conn:
            await migrate(conn, self.embedding, checkpoints=False)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations and return their results in order.

        The reads see the state before the writes, which succeed or fail as one.

        Raises:
            ValueError: If an operation is invalid; then none was carried out.
        """
        batch = list(ops)
        puts = [op for op in batch if isinstance(op, PutOp)]
        reads, writes = await asyncio.gather(self._reads(batch), self.vectors.writes(puts))
        results: list[Result] = [None] * len(batch)
        if len(puts) < len(batch):
            try:
                await self._read(reads, results)
            except errors.DataException:
                # A query of another length than the vectors' is one of a model that the database has left.
                async with self.pool.connection() as conn:
                    await check_model(conn, self.embedding.name)
                raise
        if puts:
            await self._write(writes)
            note_writes(self, puts)
        return results

    async def arecall(self, ops: Sequence[Op | RecallOp]) -> list[Result | Recall]:
        """Run reads and recalls, and return their results in order: one round trip for the reads, one for the recalls.

        Where the questions cannot be embedded, the recalls search without vectors and name the cause.
        """
        batch = list(ops)
        recalls = [(index, op) for index, op in enumerate(batch) if isinstance(op, RecallOp)]
        if not recalls:
            return list(await self.abatch(cast("list[Op]", batch)))
        asked = [op for _, op in recalls]
        results: list[Result | Recall] = [None] * len(batch)

        async def read() -> Known:
            return await self._read(await self._reads(batch), cast("list[Result]", results), asked)

        (vectors, failure), known = await asyncio.gather(question_vectors(self.embedding, asked), read())
        answers = await self._recalls.answer(asked, vectors, known, self.calibration)
        for (index, op), answer in zip(recalls, answers, strict=True):
            results[index] = answer.without({Arm.VECTOR: failure} if failure and Arm.VECTOR in op.arms else {})
        return results

    async def _read(self, reads: Reads, results: list[Result], recalls: Sequence[RecallOp] = ()) -> Known:
        """Carry out reads, and return the current indexes of the owners of the recalls.

        With cached indexes this takes one round trip. A search in an index that turned out to be stale runs again.
        """
        owners = {owner_of(op.namespace) for op in recalls}
        owners |= await self._reader(Keys()).owners_searched(self.pool, reads)
        # mostly one, which is at hand
        known: Known = {owner: await self.owners.load(owner) for owner in sorted(owners)}
        for attempt in range(_INDEX_ATTEMPTS):
            whose = reads.owners_read | owners
            is_last = attempt == _INDEX_ATTEMPTS - 1
            keys = await (self.codec.latest(whose) if is_last else self.codec.keys(whose))
            reader = self._reader(keys)
            targets = await reader.targets(reads, known)
            beside = [*(self.owners.changes(each) for each in known.values()), *self.codec.key_statements(whose)]
            try:
                async with self.pool.connection() as conn:
                    rows = await reader.read(conn, reads, results, targets, known, beside)
            except SealError as error:
                if error.version is None or is_last:
                    raise
                self.codec.forget(whose)
                continue
            changes, live = rows[: len(known)], rows[len(known) :]
            if not self.codec.is_current(keys, whose, live):
                known = {owner: await self.owners.current(owner) for owner in sorted(owners)}
                continue
            before, known = known, {}
            for each, changed in zip(before.values(), changes, strict=True):
                known[each.owner] = await self.owners.take(each, changed)
            stale = {owner for owner in known if known[owner] is not before[owner]}
            reads = reads.again(targets, stale)
            if not reads.searches:
                break
        return known

    async def amake_up_vectors(self, namespace: tuple[str, ...] = ()) -> int:
        """Make the missing vectors of a namespace and those below it (by default of all), and return their number."""
        made = [0]
        with suppress(EmbeddingUnavailable):  # the next round tries again
            await self.vectors.make_up(".".join(namespace), made.append)
        return made[-1]

    async def abatch_if(self, ops: Sequence[Op], guard: Guard) -> bool:
        """Write a batch and return true if the guard holds, else write nothing: see `memory.store.transactions`."""
        puts = [op for op in ops if isinstance(op, PutOp)]
        writes = await self.vectors.writes(puts)
        for held in await self.codec.held(".".join(guard.namespace), guard.key, guard.value):
            if await self._write(writes, held):
                note_writes(self, puts)
                return True
        return False

    async def sweep_ttl(self) -> int:
        """Delete expired items and return their number."""
        async with self.pool.connection() as conn:
            return await sweep(conn)

    async def aerase_if(self, ops: Sequence[PutOp], guard: Guard) -> bool:
        """Delete everything of the guard's owner if the guard holds and return true; otherwise delete nothing.

        The indexes of the namespaces in `ops` are dropped too where they are no longer needed.
        """
        candidates = await self.codec.held(".".join(guard.namespace), guard.key, guard.value)

        async def erase(conn: Connection) -> bool:
            for held in candidates:
                if await erase_if(conn, held):
                    break
            else:
                return False
            await self.indexes.shrunk(conn, {".".join(op.namespace) for op in ops})
            return True

        erased = await until_no_deadlock(self.pool, erase)
        if erased:
            note_writes(self, ops)
            self.owners.forget(owner_of(guard.namespace))
            self.codec.erased(owner_of(guard.namespace))
            self.vectors.forget_recent()
            self.embedding.recent.clear()
        return erased

    async def atraces(self, traces: Traces) -> list[Check]:
        """Return the rows that each table still has of an erased record."""
        # where all of an owner is erased, their key is gone too
        if key := (await self.codec.keys([traces.owner])).get(traces.owner):
            traces = replace(traces, keys=(*traces.keys, *map(key.keyed, traces.keys)))
        async with self.pool.connection() as conn:
            return await find_traces(conn, traces)

    def _reader(self, keys: Keys) -> Reader:
        # whether expired items are left out may be set on an open store
        return Reader(self.codec, keys, self.indexes, self.embedding.name, self._omit_expired)

    async def _reads(self, batch: Sequence[Op | RecallOp]) -> Reads:
        """Return the reads of a batch with the vectors of their queries."""
        for op in batch:
            if not isinstance(op, RecallOp):
                validate_op_namespace(op)
        gets, searches, lists = _of_type(batch, GetOp), _of_type(batch, SearchOp), _of_type(batch, ListNamespacesOp)
        for _, op in searches:
            check_filter(op.filter)
        queries = await query_vectors(self.embedding, [op for _, op in searches])
        listing = self._get_batch_list_namespaces_queries(lists)
        return Reads(gets, searches, queries, lists, listing)

    async def _write(self, writes: Writes, held: Held | None = None) -> bool:
        async def send() -> bool:
            sent = await self.codec.encoded(writes)

            async def write_all(conn: Connection) -> bool:
                if self._vector_oid is None:
                    self._vector_oid = await read_vector_oid(conn)
                if not await write(conn, sent, self._vector_oid, self.embedding.name, held):
                    return False
                prefixes = {prefix for prefix, _ in writes.deletes}
                if indexed := [each for each in prefixes if not is_bookkeeping(tuple(each.split(".")))]:
                    await self.indexes.shrunk(conn, indexed)
                return True

            return await until_no_deadlock(self.pool, write_all)

        if not await self.codec.until_current(writes.owners, send):
            return False
        self.vectors.make_up_soon()
        return True


def _of_type(batch: Sequence[Op | RecallOp], kind: type[_AnyOp]) -> list[tuple[int, _AnyOp]]:
    return [(index, op) for index, op in enumerate(batch) if isinstance(op, kind)]
