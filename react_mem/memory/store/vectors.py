"""Vectors of stored texts: made, checked, and made later where the embedder failed.

A text without a vector is indexed by its words at once, so that it is found. When the embedder works again, the store
makes the missing vectors in the background, and so does maintenance.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from contextvars import Context, ContextVar
from datetime import datetime, timedelta
from typing import Literal

import numpy as np
from langgraph.store.base import PutOp, SearchOp, validate_op_namespace
from numpy.typing import NDArray
from psycopg.rows import DictRow

from react_mem.errors import EmbeddingUnavailable, InvalidVector, SealError
from react_mem.memory.index.entries import Entry
from react_mem.memory.index.recall import RecallOp
from react_mem.memory.language.folding import MAX_INDEXED_CHARS
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.interface import Arm
from react_mem.memory.model.kinds import kind_of
from react_mem.memory.model.namespaces import ROOT, owner_of_path, setting
from react_mem.memory.model.operations import NO_FIELDS
from react_mem.memory.model.records import now, with_zone
from react_mem.memory.store import stored_text as binary
from react_mem.memory.store.embeddings import EmbeddingModel, RecentVectors
from react_mem.memory.store.key_ring import OwnerKey, need_keys
from react_mem.memory.store.priority import behind_turns
from react_mem.memory.store.row_codec import RowCodec
from react_mem.memory.store.row_security import Pool, confined, confined_within
from react_mem.memory.store.sealed_entries import is_sealed, opened_value, opened_vector, sealed_row
from react_mem.memory.store.searches import Parameters, in_namespace
from react_mem.memory.store.stored_text import (
    Binary,
    check_identity,
    entries_of_fields,
    index_entries,
    storable,
    text_of_field,
    to_json,
)
from react_mem.memory.store.transactions import check_model
from react_mem.memory.store.writes import (
    INDEX_ROWS,
    ItemRow,
    Writes,
    by_owner,
    columns,
    index_columns,
    index_rows,
    read_vector_oid,
    revise,
)

_AT_ONCE = 100
"""Texts a call of the embedding model: within every provider's limit."""
_SECONDS = 10.0
_SECONDS_A_TEXT = 1.0
"""Seconds that a write waits for the vectors of a service. The local model has no timeout: it is slow on a busy
machine, and a cancelled computation would have to start over.
"""
_RETRY_SECONDS = 60.0
"""Pause before failed texts are embedded again, and before a service that hung is asked again."""
_LARGEST = 65_504
_SMALLEST = 2.0**-24
"""The largest and the smallest number in half precision, in which vectors are compared."""

LACKS = "CASE WHEN v.sealed IS NULL THEN v.words IS NULL OR v.half IS NULL ELSE v.sealed_vector IS NULL END"
"""Condition: a row of the index lacks its vector, or its words."""
_LACKING = f"""
    SELECT v.owner, v.prefix, v.key, v.fields, s.value::text AS value, s.created_at, s.updated_at
    FROM (
        SELECT v.owner, v.prefix, v.key, array_agg(v.field_name) AS fields
        FROM store_vectors v WHERE {{in_namespace}} AND (v.owner, v.prefix, v.key) > ({{owner}}, {{prefix}}, {{key}})
        GROUP BY v.owner, v.prefix, v.key HAVING bool_or({LACKS}) ORDER BY v.owner, v.prefix, v.key
    ) v JOIN store s ON s.owner = v.owner AND s.prefix = v.prefix AND s.key = v.key
    ORDER BY v.owner, v.prefix, v.key LIMIT {{limit}}
"""  # noqa: S608 - of literals
# Items written since they were read are skipped. Each statement is about one owner, on one node.
_SAME = """
    unnest(%s::text[], %s::text[], %s::timestamptz[]) AS item (prefix, key, updated_at)
        JOIN store s ON s.prefix = item.prefix AND s.key = item.key AND s.updated_at = item.updated_at
"""
_CLEAR = f"""
    DELETE FROM store_vectors v USING {_SAME}
    WHERE v.owner = %s AND s.owner = v.owner AND v.prefix = s.prefix AND v.key = s.key
"""  # noqa: S608 - of literals
_INSERT = f"""
    INSERT INTO store_vectors (
        owner, prefix, key, field_name, half, words, length, place, said_at, sealed, sealed_vector, revision,
        created_at, updated_at
    )
    SELECT s.owner, new.prefix, new.key, new.field_name, new.embedding::halfvec, new.words::int4[], new.length,
        new.place, new.said_at, new.sealed, new.sealed_vector, o.revision, s.created_at, s.updated_at
    FROM {_SAME} JOIN {INDEX_ROWS} ON new.prefix = s.prefix AND new.key = s.key
        JOIN memory_owners o ON o.owner = s.owner
    WHERE s.owner = %s
"""  # noqa: S608 - of literals

log = logging.getLogger(__name__)


def checked_vector(model: EmbeddingModel, numbers: Sequence[float]) -> bytes:
    """Return a vector in binary form; InvalidVector says that it cannot be stored, or is zero, which has no cosine."""
    if _finite(model, numbers).max() < _SMALLEST:
        raise InvalidVector(f"{model.name} returned a vector of zeros, which is near to nothing")
    return binary.vector(numbers)


def finite_vector(model: EmbeddingModel, numbers: Sequence[float]) -> bytes:
    """Return a vector in binary form, which may be zero; InvalidVector says that the database could not take it."""
    _finite(model, numbers)
    return binary.vector(numbers)


def _finite(model: EmbeddingModel, numbers: Sequence[float]) -> NDArray[np.float64]:
    """Return the magnitudes of a vector's numbers; InvalidVector says that the database could not take them."""
    try:
        if len(numbers) != model.dims:
            raise InvalidVector(f"{model.name} returned {len(numbers)} numbers, not {model.dims}")
        given = np.asarray(numbers)
        if given.ndim != 1 or given.dtype.kind not in "biufO":
            raise TypeError
        magnitudes: NDArray[np.float64] = np.abs(given.astype(np.float64))
    except (TypeError, ValueError):
        raise InvalidVector(f"{model.name} returned a vector that is not of numbers") from None
    if not (magnitudes <= _LARGEST).all():
        raise InvalidVector(f"{model.name} returned a vector that is not of finite numbers up to {_LARGEST}")
    return magnitudes


# Reuse of the vectors that the database has of rewritten records.

_NEW = timedelta(minutes=1)
"""Age up to which a record hardly has vectors in the database, and recent ones are cached (see `RecentVectors`): the
writes of a turn cost no further round trip.
"""

# A vector is of the value that is there if both were written together: LangGraph's own store can write one alone.
_VECTORS = """
    SELECT s.value, v.prefix, v.key, v.field_name, vector_send(v.half::vector) AS vector, v.sealed_vector
    FROM unnest(%s::text[], %s::text[], %s::text[]) AS wanted (prefix, key, field_name)
        JOIN store_vectors v ON v.prefix = wanted.prefix AND v.key = wanted.key AND v.field_name = wanted.field_name
        JOIN store s ON s.owner = v.owner AND s.prefix = v.prefix AND s.key = v.key
    WHERE v.owner = %s AND s.owner = %s AND v.updated_at = s.updated_at
        AND (v.sealed_vector IS NOT NULL OR v.half IS NOT NULL)
        AND EXISTS (SELECT FROM memory_embedding WHERE name = %s)
"""

PlacedEntry = tuple[str, str, Entry]
"""Entry of the index with the namespace's path and the key of its item."""


def perhaps_stored(puts: Sequence[PutOp], entries: Sequence[PlacedEntry]) -> list[PlacedEntry]:
    """Return the entries of records that were created earlier, so that the database probably has their vectors."""
    earlier = set()
    for op in puts:
        with suppress(KeyError, ValueError):
            if op.value and with_zone(datetime.fromisoformat(str(op.value["created_at"]))) < now() - _NEW:
                earlier.add((".".join(op.namespace), op.key))
    return [placed for placed in entries if placed[:2] in earlier]


async def stored_vectors(
    pool: Pool, wanted: Sequence[PlacedEntry], model: str, keys: Mapping[str, OwnerKey]
) -> dict[str, bytes]:
    """Return the vectors of the texts that the database has unchanged, made by this model."""
    rows: list[DictRow] = []
    async with pool.connection() as conn:
        for owner, placed in by_owner(wanted).items():
            key = keys.get(owner)
            named = [(prefix, item, entry.field_name) for prefix, item, entry in placed]
            if key is not None:
                named += [(prefix, key.keyed(item), name) for prefix, item, name in named]
            async with confined(conn, [owner]):
                read = await conn.execute(_VECTORS, (*columns(named, 3), owner, owner, model))
            rows += await read.fetchall()
    return await asyncio.to_thread(_unchanged, rows, wanted, keys) if rows else {}


def _unchanged(
    rows: Sequence[DictRow], wanted: Sequence[PlacedEntry], keys: Mapping[str, OwnerKey]
) -> dict[str, bytes]:
    for row in rows:
        key = keys.get(owner_of_path(row["prefix"]))
        if key is not None and row["sealed_vector"] is not None and is_sealed(row["value"]):
            prefix, stored, name = row["prefix"], row["key"], row["field_name"]
            try:
                row["vector"] = opened_vector(key, prefix, stored, name, row["sealed_vector"])
                row["key"], row["value"] = opened_value(key, prefix, stored, row["value"])
            except SealError:
                row["key"] = None
    texts = {(prefix, key, entry.field_name): entry.text for prefix, key, entry in wanted}
    found: dict[str, bytes] = {}
    for row in rows:
        text = texts.get((row["prefix"], row["key"], row["field_name"]))
        if text is not None and row["vector"] is not None and text_of_field(row["value"], row["field_name"]) == text:
            found[text] = row["vector"]
    return found


_INLINE_CHARS = 1_000
"""Characters of a text that is split into words at once, in 0.25 ms; longer ones go to a thread."""


class DocumentVectors:
    """Vectors of a store's texts, with a cache of recent ones, and the preparation of writes.

    `fields` are the searchable paths of a value that is not a record of memory, where a write names none.
    """

    def __init__(self, pool: Pool, model: EmbeddingModel, codec: RowCodec, fields: Sequence[str] = ()) -> None:
        self._fields = fields
        self._pool = pool
        self._codec = codec
        self._model = model
        self._recent = RecentVectors("document")
        self._task: asyncio.Task[None] | None = None
        self._lacking = False
        self._not_before = 0.0
        self._hangs_until = 0.0

    async def close(self) -> None:
        """Cancel the background work; texts without vectors stay findable by their words."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def settle(self) -> None:
        """Wait for the end of the background work."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def of(self, texts: Sequence[str], revised: Sequence[PlacedEntry] = ()) -> dict[str, bytes | None]:
        """Return the vector of each distinct text; None for a text that cannot be embedded now.

        `revised` are the entries among them that may be in the database already, with their vectors.
        """
        vectors = {text: self._recent.get(text) for text in texts}
        if wanted := [placed for placed in revised if vectors[placed[2].text] is None]:
            vectors |= await self._codec.with_keys(
                by_owner(wanted), lambda keys: stored_vectors(self._pool, wanted, self._model.name, keys)
            )
        unknown = [text for text, vector in vectors.items() if vector is None]
        if unknown and time.monotonic() < self._hangs_until:
            self._lacking = True
            return vectors
        made, cause = await self._made(unknown)
        self._recent.add(made)
        vectors |= made
        if cause:
            self._lacking, self._not_before = True, time.monotonic() + _RETRY_SECONDS
            late = sum(vector is None for vector in made.values())
            log.warning("%d texts are found by their words only until their vectors are made: %s", late, cause)
        return vectors

    def forget_recent(self) -> None:
        """Clear the cache of recent vectors, as when an owner is forgotten."""
        self._recent.clear()

    def make_up_soon(self) -> None:
        """Start making missing vectors in the background, if there are any and the embedder has had a pause."""
        if self._lacking and (self._task is None or self._task.done()) and time.monotonic() >= self._not_before:
            # not within the turn that happened to write: it waits for nothing of this
            self._task = asyncio.create_task(self._make_up_behind(), context=Context())

    async def make_up(self, path: str = "", report: Callable[[int], None] = lambda made: None) -> int:
        """Index again the texts without vectors or words at a path and below it (empty for all).

        Returns the number of vectors; `report` is called with the number so far. An EmbeddingUnavailable says that the
        model makes none now.
        """
        made, place = 0, ("", "", "")
        while True:
            parameters = Parameters()
            statement = _LACKING.format(
                in_namespace=in_namespace("v", path, parameters),
                owner=parameters.add(place[0]),
                prefix=parameters.add(place[1]),
                key=parameters.add(place[2]),
                limit=parameters.add(_AT_ONCE),
            )
            async with self._pool.connection() as conn:
                async with confined_within(conn, path):
                    found = await conn.execute(statement.encode(), parameters.values)
                items = await found.fetchall()
            if not items:
                return made
            made += await self._index(items)
            place = (items[-1]["owner"], items[-1]["prefix"], items[-1]["key"])
            report(made)

    async def _make_up_behind(self) -> None:
        try:
            self._lacking = False
            with behind_turns():
                made = await self.make_up()
        except Exception as error:  # a dropped connection, a database that has moved on; the next write tries again
            self._lacking, self._not_before = True, time.monotonic() + _RETRY_SECONDS
            log.warning("vectors cannot be made up for yet: %s", cause_of(error))
        else:
            log.info("%d texts have been given the vectors that they lacked", made)

    async def _index(self, items: Sequence[DictRow]) -> int:
        """Index items again, and return the number of vectors."""
        owners = {item["owner"] for item in items}
        keys = await self._codec.latest(owners)
        await self._codec.open_items(items, keys)
        entries = [
            (row, entry)
            for row in items
            if "item" in row
            for entry in entries_of_fields(row["item"].value, row["fields"])
        ]
        placed = [(row["prefix"], row["item"].key, entry) for row, entry in entries]
        vectors = await self.of([entry.text for _, entry in entries], placed)
        made = sum(vectors[entry.text] is not None for _, entry in entries)
        if entries and not made:
            raise EmbeddingUnavailable(
                f"{self._model.name} embeds nothing now. What is left is found by its words; run this again."
            )
        rows = by_owner(
            sealed_row(keys[row["owner"]], new) if new.key != row["key"] else new
            for (row, _), new in zip(entries, index_rows(placed, vectors), strict=True)
        )
        async with self._pool.connection() as conn, conn.transaction():
            await revise(conn, owners, removes=True)
            await need_keys(conn, keys.values())
            vector_oid = await read_vector_oid(conn)
            for owner, read in by_owner((item["prefix"], item["key"], item["updated_at"]) for item in items).items():
                same = columns(read, 3)
                await conn.execute(_CLEAR.encode(), [*same, owner])
                await conn.execute(_INSERT.encode(), [*same, *index_columns(rows.get(owner, []), vector_oid), owner])
            await check_model(conn, self._model.name)
        return made

    async def _made(self, texts: Sequence[str]) -> tuple[dict[str, bytes | None], str]:
        """Return the vectors of distinct texts, and the cause of each None."""
        vectors: dict[str, bytes | None] = dict.fromkeys(texts)
        cause = ""
        for start in range(0, len(texts), _AT_ONCE):
            part = list(texts[start : start + _AT_ONCE])
            try:
                patience = None if self._model.computes_here else _SECONDS + _SECONDS_A_TEXT * len(part)
                async with asyncio.timeout(patience):
                    made = await self._model.embeddings.aembed_documents(part)
                if len(made) != len(part):
                    raise InvalidVector(f"{self._model.name} returned {len(made)} vectors, not {len(part)}")
            except TimeoutError:
                # what hangs once hangs again: no words are to wait for it
                self._hangs_until = time.monotonic() + _RETRY_SECONDS
                return vectors, f"{self._model.name} did not answer in time"
            except Exception as error:  # whatever the provider's client raises
                cause = cause_of(error)
                continue
            for text, numbers in zip(part, made, strict=True):
                try:
                    vectors[text] = checked_vector(self._model, numbers)
                except Exception as error:  # of one text, whatever it is
                    cause = cause_of(error)
        return vectors, cause

    async def writes(self, puts: Sequence[PutOp]) -> Writes:
        """Return writes with the rows of the index; a ValueError says that one of them cannot be stored as it is.

        No connection is held while a model embeds.
        """
        # the words and dates of a few long texts take a while to find
        at_once = all(map(self._is_short, puts))
        writes, entries = self._read(puts) if at_once else await asyncio.to_thread(self._read, puts)
        later = {(".".join(op.namespace), op.key) for op in puts if _by_words_alone(op)}
        embedded = [placed for placed in entries if placed[:2] not in later] if later else entries
        vectors: dict[str, bytes | None] = dict.fromkeys(entry.text for _, _, entry in entries)
        vectors |= await self.of([entry.text for _, _, entry in embedded], perhaps_stored(puts, embedded))
        if entries:
            rows = index_rows(entries, vectors) if at_once else await asyncio.to_thread(index_rows, entries, vectors)
            writes.rows += rows
        return writes

    def _is_short(self, op: PutOp) -> bool:
        """Return true if the index entries of an item take no thread."""
        if op.value is None or self._paths(op) is False:
            return True
        return _by_words_alone(op) and len(str(op.value.get("text") or "")) <= _INLINE_CHARS

    def _read(self, puts: Sequence[PutOp]) -> tuple[Writes, list[PlacedEntry]]:
        writes = Writes()
        entries: list[PlacedEntry] = []
        # The last write of an item is the one that counts.
        for (namespace, key), op in {(op.namespace, op.key): op for op in puts}.items():
            validate_op_namespace(op)  # joined by dots, a label with a dot would be another namespace
            check_identity(namespace, key)
            prefix = ".".join(namespace)
            if op.value is None:
                writes.deletes.append((prefix, key))
                continue
            writes.items.append(ItemRow(prefix, key, to_json(op.value), op.ttl))
            entries.extend((prefix, key, entry) for entry in index_entries(op.value, self._paths(op)))
        return writes, entries

    def _paths(self, op: PutOp) -> Literal[False] | Sequence[str] | None:
        if _by_words_alone(op):
            return kind_of(op.value or {}).index(op.value or {})
        if op.index is not None or not self._fields or op.namespace[0] == ROOT:
            return op.index
        return self._fields


# Vectors of searches' queries, and of recalls' questions, which do without if necessary.

_QUESTION_SECONDS = 3.0
"""Seconds that a read waits for question vectors, of the five of a turn; without them it searches by words alone."""

_patience: ContextVar[float] = ContextVar("question_seconds", default=_QUESTION_SECONDS)


def waiting_for_questions(seconds: float) -> AbstractContextManager[None]:
    """Let reads within the context wait up to some seconds for question vectors, if no turn waits for them."""
    return setting(_patience, seconds)


async def query_vectors(embedding: EmbeddingModel, searches: Sequence[SearchOp]) -> dict[str, Binary]:
    """Return a vector for every distinct query of a batch."""
    queries = list(dict.fromkeys(op.query for op in searches if op.query))
    vectors = await asyncio.gather(
        *(embedding.embeddings.aembed_query(storable(query)[:MAX_INDEXED_CHARS]) for query in queries)
    )
    # one of zeros is near to nothing, and all that there is is found, in no order
    return {query: Binary(finite_vector(embedding, vector)) for query, vector in zip(queries, vectors, strict=True)}


async def question_vectors(
    embedding: EmbeddingModel, ops: Sequence[RecallOp]
) -> tuple[list[NDArray[np.float32] | None], str]:
    """Return the vectors of the recalls' questions, with the reason if they cannot be computed."""
    texts = list(dict.fromkeys(op.question.text for op in ops if Arm.VECTOR in op.arms))
    seconds = _patience.get()
    try:
        async with asyncio.timeout(seconds):
            made = await asyncio.gather(*(embedding.embeddings.aembed_query(storable(text)) for text in texts))
        for numbers in made:
            checked_vector(embedding, numbers)
        vectors = {text: np.asarray(each, dtype=np.float32) for text, each in zip(texts, made, strict=True)}
    except Exception as error:  # any error of the provider's client, or a bad vector
        what = f"no answer in {seconds:.0f} seconds" if isinstance(error, TimeoutError) else cause_of(error)
        cause = f"the question cannot be embedded ({what})"
        log.warning("memory is searched without vectors: %s", cause)
        return [None] * len(ops), cause
    return [vectors.get(op.question.text) if Arm.VECTOR in op.arms else None for op in ops], ""


def _by_words_alone(op: PutOp) -> bool:
    """Return true for a record of memory that is embedded later."""
    return op.index == NO_FIELDS and op.namespace[0] == ROOT
