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
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from langgraph.store.base import (
    NOT_PROVIDED,
    GetOp,
    ListNamespacesOp,
    NotProvided,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)
from langgraph.store.postgres.base import PostgresIndexConfig
from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from react_mem.errors import SealError
from react_mem.memory.index.recall import Recall, RecallOp
from react_mem.memory.model.interface import Arm
from react_mem.memory.model.namespaces import is_bookkeeping, owner_of
from react_mem.memory.store.attachments import ATTACHMENT_BYTES
from react_mem.memory.store.audit.audit_log import AuditLog, note_writes
from react_mem.memory.store.calibration import RecentRankings, query_vectors, question_vectors
from react_mem.memory.store.conversation_listing import ConversationPlace, ListedConversations
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.group_commit import LanedStore, PreparedWrites
from react_mem.memory.store.keys.key_ring import KeyRing
from react_mem.memory.store.large_namespaces import LargeNamespaces, NamespaceIndexes
from react_mem.memory.store.left_traces import Traces, TracesFound, find_traces
from react_mem.memory.store.listing import Listed, ListPlace, Wanted, read_linked, read_revision
from react_mem.memory.store.migrations import migrate
from react_mem.memory.store.model_guard import check_model
from react_mem.memory.store.owned import OwnedPage
from react_mem.memory.store.owner_index import OwnerIndexes
from react_mem.memory.store.owner_recall import OwnerRecall
from react_mem.memory.store.owner_texts import OwnerTexts
from react_mem.memory.store.reading import Reader, Reads
from react_mem.memory.store.room import Stored
from react_mem.memory.store.scale import Scale, sweep
from react_mem.memory.store.sealing.row_codec import Held, Keys, RowCodec, SealedRowCodec
from react_mem.memory.store.sealing.sealed_search import SealedReader
from react_mem.memory.store.searches import check_filter
from react_mem.memory.store.storage_settings import CACHE_BYTES, INDEX_BYTES, INDEX_LIMIT
from react_mem.memory.store.stored_text import check_identity, to_json
from react_mem.memory.store.transactions import Guard, until_no_deadlock
from react_mem.memory.store.vectors import DocumentVectors
from react_mem.memory.store.writes import Types, Writes, erase_if, read_types, write, write_if

Pool = AsyncConnectionPool[AsyncConnection[DictRow]]
_AnyOp = TypeVar("_AnyOp", GetOp, SearchOp, ListNamespacesOp, PutOp)
_Read = TypeVar("_Read")

_INDEX_ATTEMPTS = 3
"""Attempts of a search over the indexes in this process, if others write meanwhile. The last attempt finds at least
what was written before the read began."""

Known = Mapping[str, OwnerTexts]

log = logging.getLogger(__name__)


class MemoryStore(LanedStore):
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
        index_bytes: Bytes of the owners' indexes that are kept at hand.
        index_limit: Texts of a namespace up to which a search compares every one; from there on its candidates come
            from an index of the database.
        question_cache_bytes: Bytes of the vectors of questions that are kept for ten minutes.
        search_cache_bytes: Bytes of what searches found that are kept for the same question over what has not changed.
        attachment_bytes: Bytes that what is attached to an owner's messages may take (`memory.store.attachments`).
        keys: The data keys of owners, where memory is encrypted.
        audit: Takes what is done to whose memory, where that is wanted.
        receipt_key: Signs receipts; without it a key of the master key, or of the database.
    """

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
        search_cache_bytes: int = CACHE_BYTES,
        attachment_bytes: int = ATTACHMENT_BYTES,
        keys: KeyRing | None = None,
        audit: AuditLog | None = None,
        receipt_key: Ed25519PrivateKey | None = None,
    ) -> None:
        index = PostgresIndexConfig(dims=embedding.dims, embed=embedding.embeddings, fields=list(fields) or ["text"])
        super().__init__(pool, index=index, ttl=ttl)
        self.pool = pool
        self.embedding = embedding
        embedding.recent.resize(question_cache_bytes)
        self.attachment_bytes = attachment_bytes
        self.keys = keys
        self.codec = codec = SealedRowCodec(keys) if keys is not None else RowCodec()
        self.audit = audit
        self.receipt_key = receipt_key
        self.scale = Scale(pool, embedding)
        self.vectors = DocumentVectors(pool, embedding, codec)
        self._preparing = PreparedWrites(self.vectors, tuple(fields))
        self.owners = OwnerIndexes(pool, limit=index_limit, max_bytes=index_bytes, codec=codec)
        self.indexes = NamespaceIndexes(pool, embedding.dims, index_limit)
        self._recalls = OwnerRecall(
            pool,
            self.owners,
            LargeNamespaces(pool, self.indexes),
            embedding.name,
            RecentRankings(search_cache_bytes),
            codec,
        )
        self._index_limit = index_limit
        self._types: Types | None = None

    async def __aexit__(self, *error: Any) -> None:
        """Stop what goes on in the background."""
        if self.audit is not None:
            await self.audit.close()
        await self.owners.close()
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
            TypeError: If the value is not JSON.
            ValueError: If the value holds NaN, or the namespace or key NUL.
        """
        # Checked here and not with the batch, which holds writes of other callers too.
        check_identity(namespace, key)
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
            TypeError: If the filter compares with something that is not JSON.
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
        puts = [op for op in batch if isinstance(op, PutOp)]
        reads, writes = await asyncio.gather(self._reads(batch), self._preparing.writes(puts))
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
            await self._written(writes, lambda conn, types, sent: write(conn, sent, types, self.embedding.name))
            note_writes(self, puts)
        return results

    async def arecall(self, ops: Sequence[Op | RecallOp]) -> list[Result | Recall]:
        """Run reads and recalls together: what is read in one round trip, and what the recalls find in another.

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
        asked = [op for _, op in recalls]
        results: list[Result | Recall] = [None] * len(batch)

        async def read() -> Known:
            return await self._read(await self._reads(batch), cast("list[Result]", results), asked)

        (vectors, failure), known = await asyncio.gather(question_vectors(self.embedding, asked), read())
        calibration = self.scale.calibration
        causes = {Arm.VECTOR: failure} if failure else {}
        answers = await self._recalls.answer(asked, vectors, known, calibration)
        for (index, op), answer in zip(recalls, answers, strict=True):
            results[index] = answer.without({arm: cause for arm, cause in causes.items() if arm in op.arms})
        return results

    async def _read(self, reads: Reads, results: list[Result], recalls: Sequence[RecallOp] = ()) -> Known:
        """Carry out reads, and return the indexes of the owners whose recalls are asked for, as they are now.

        Where indexes are at hand it takes one round trip. What was looked for in one that is no longer true is looked
        for again.
        """
        owners = {owner_of(op.namespace) for op in recalls}
        owners |= await self._reader({}).owners_searched(self.pool, reads)
        known = await self._at_hand(owners)
        for attempt in range(_INDEX_ATTEMPTS):
            whose = reads.owners_read | owners
            keys = await self.codec.keys(whose)
            reader = self._reader(keys)
            targets = await reader.targets(reads, known)
            beside = [*(self.owners.changes(each) for each in known.values()), *self.codec.key_statements(whose)]
            try:
                async with self.pool.connection() as conn:
                    rows = await reader.read(conn, reads, results, targets, known, beside=beside)
            except SealError as error:
                if error.version is None or attempt == _INDEX_ATTEMPTS - 1:
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
            reads = reads.again(targets, {owner for owner in known if known[owner] is not before[owner]})
            if not reads.searches:
                break
        return known

    async def _at_hand(self, owners: Iterable[str]) -> Known:
        # mostly one, which is at hand
        return {owner: await self.owners.load(owner) for owner in sorted(owners)}

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
        puts = [op for op in ops if isinstance(op, PutOp)]
        writes = await self._preparing.writes(puts)
        model = self.embedding.name
        for held in await self._held(guard):

            def write_held(
                conn: AsyncConnection[DictRow], types: Types, sent: Writes, held: Held = held
            ) -> Awaitable[bool]:
                return write_if(conn, sent, types, model, held)

            if await self._written(writes, write_held):
                note_writes(self, puts)
                return True
        return False

    async def _held(self, guard: Guard) -> list[Held]:
        """Return what the row of an item may hold where a guard holds."""
        return await self.codec.held(".".join(guard.namespace), guard.key, guard.value)

    async def sweep_ttl(self) -> int:
        """Delete what has expired; return how many items."""
        async with self.pool.connection() as conn:
            return await sweep(conn)

    async def aerase_if(self, ops: Sequence[PutOp], guard: Guard) -> bool:
        """Remove all that belongs to the owner of an item, if it has not changed: see `memory.store.transactions`.

        Args:
            ops: What there was: of its namespaces the indexes may go.
            guard: What must still hold.

        Returns:
            Whether it did, and everything was removed; otherwise nothing was.
        """

        candidates = await self._held(guard)

        async def erase(conn: AsyncConnection[DictRow]) -> bool:
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
            self.codec.forget([owner_of(guard.namespace)])
            self.vectors.forget_recent()
            self.embedding.recent.clear()
        return erased

    async def atraces(self, traces: Traces) -> list[TracesFound]:
        """Return what each table of the database has of something that was erased."""
        # where all of an owner is erased, their key is gone too
        if key := (await self.codec.keys([traces.owner])).get(traces.owner):
            traces = replace(traces, keys=(*traces.keys, *map(key.keyed, traces.keys)))
        async with self.pool.connection() as conn:
            return await find_traces(conn, traces)

    async def aunindexed(self, namespace: tuple[str, ...], kind: str, *, after: str, limit: int) -> list[str]:
        """Return the keys of a namespace's items that the index holds nothing of, in order.

        Args:
            namespace: The namespace itself, without those below it.
            kind: What the items' `kind` is.
            after: The key behind which to begin.
            limit: Keys at most.
        """
        prefix = ".".join(namespace)
        return await self._of_owner(
            owner_of(namespace), lambda reader, conn: reader.unindexed(conn, prefix, kind, after=after, limit=limit)
        )

    @property
    def pages_by_key(self) -> bool:
        """Return whether pages come in the order of keys: of sealed ones the database does not know it."""
        return not self.codec.seals

    async def apage(self, namespace: tuple[str, ...], behind: tuple[str, str], limit: int) -> OwnedPage:
        """Return the next items of a namespace and those below it: see `memory.store.owned.PagedStore`."""
        return await self._of_owner(
            owner_of(namespace), lambda reader, conn: reader.page(conn, namespace, behind, limit)
        )

    async def ameasure(self, user_id: str) -> Stored:
        """Return what an owner has stored: see `memory.store.room.MeasuredStore`."""
        async with self.pool.connection() as conn:
            return await self._reader({}).measure(conn, user_id)

    async def alisted(self, wanted: Wanted, behind: ListPlace | None, limit: int) -> Listed | None:
        """Return the next of an owner's records, the latest first: see `memory.store.listing`."""
        return await self._of_owner(
            owner_of(wanted.namespaces[0]), lambda reader, conn: reader.listed(conn, wanted, behind, limit)
        )

    async def aconversations(
        self, namespace: tuple[str, ...], behind: ConversationPlace | None, limit: int
    ) -> ListedConversations | None:
        """Return the next of an owner's conversations: see `memory.store.conversation_listing`."""
        return await self._of_owner(
            owner_of(namespace), lambda reader, conn: reader.conversations(conn, namespace, behind, limit)
        )

    async def arevision(self, owner: str) -> str | None:
        """Return what changes with every write of an owner: see `memory.store.listing`."""
        async with self.pool.connection() as conn:
            return await read_revision(conn, owner)

    async def alinked(
        self, namespaces: Sequence[tuple[str, ...]], ids: Sequence[str]
    ) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
        """Return some records with all that their links are derived from: see `memory.store.linked`."""
        owner = owner_of(namespaces[0])

        return await self._of_owner(
            owner, lambda reader, conn: read_linked(conn, namespaces, ids, reader.keys.get(owner))
        )

    async def _of_owner(
        self, owner: str, read: Callable[[Reader, AsyncConnection[DictRow]], Awaitable[_Read]]
    ) -> _Read:
        """Return the result of a read of one owner, repeated if the owner's key has changed."""

        async def read_with(keys: Keys) -> _Read:
            async with self.pool.connection() as conn:
                return await read(self._reader(keys), conn)

        return await self.codec.with_keys([owner], read_with)

    def _reader(self, keys: Keys) -> Reader:
        # whether expired items are left out may be set on an open store
        kind = SealedReader if self.codec.seals else Reader
        return kind(self.codec, keys, self.indexes, self.embedding.name, self._index_limit, self._omit_expired)

    async def _reads(self, batch: Sequence[Op | RecallOp]) -> Reads:
        """Return the reads of a batch, their queries embedded."""
        for op in batch:
            if not isinstance(op, RecallOp):
                validate_op_namespace(op)
        gets, searches, lists = _of_type(batch, GetOp), _of_type(batch, SearchOp), _of_type(batch, ListNamespacesOp)
        queries = await query_vectors(self.embedding, [op for _, op in searches])
        listing = self._get_batch_list_namespaces_queries(lists)
        return Reads(gets, searches, queries, lists, listing)

    async def _written(
        self, writes: Writes, carry_out: Callable[[AsyncConnection[DictRow], Types, Writes], Awaitable[bool]]
    ) -> bool:
        async def send() -> bool:
            sent = await self.codec.encoded(writes)

            async def write_all(conn: AsyncConnection[DictRow]) -> bool:
                if not await carry_out(conn, await self._read_types(conn), sent):
                    return False
                await self._after_deletes(conn, writes)
                return True

            return await until_no_deadlock(self.pool, write_all)

        if not await self.codec.until_current(writes.owners, send):
            return False
        self.vectors.make_up_soon()
        return True

    async def _after_deletes(self, conn: AsyncConnection[DictRow], writes: Writes) -> None:
        prefixes = {prefix for prefix, _ in writes.deletes}
        if indexed := [prefix for prefix in prefixes if not is_bookkeeping(tuple(prefix.split(".")))]:
            await self.indexes.shrunk(conn, indexed)

    async def _read_types(self, conn: AsyncConnection[DictRow]) -> Types:
        if self._types is None:
            self._types = await read_types(conn)
        return self._types


def _of_type(batch: Sequence[Op | RecallOp], kind: type[_AnyOp]) -> list[tuple[int, _AnyOp]]:
    return [(index, op) for index, op in enumerate(batch) if isinstance(op, kind)]
