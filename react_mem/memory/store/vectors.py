"""Vectors of stored texts: made, checked, and made later where the embedder failed.

A text without a vector is indexed by its words at once, so that it is found. When the embedder works again, the store
makes the missing vectors in the background, and so does maintenance.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextvars import Context, ContextVar
from typing import Any, Literal

import numpy as np
from langgraph.store.base import PutOp, SearchOp, validate_op_namespace
from numpy.typing import NDArray
from psycopg.rows import DictRow

from react_mem.errors import InvalidVector
from react_mem.memory.index.recall import RecallOp
from react_mem.memory.language.folding import MAX_INDEXED_CHARS
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.interface import Arm
from react_mem.memory.model.kinds import kind_of
from react_mem.memory.model.namespaces import ROOT, setting
from react_mem.memory.model.receipt import NO_FIELDS
from react_mem.memory.store import serialisation as binary
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.keys.key_ring import need_keys
from react_mem.memory.store.model_guard import check_model
from react_mem.memory.store.priority import behind_turns
from react_mem.memory.store.row_security import Pool, confined_within
from react_mem.memory.store.sealing.row_codec import Keys, RowCodec
from react_mem.memory.store.sealing.sealed_entries import is_sealed, opened_value, sealed_vector
from react_mem.memory.store.searches import Parameters, in_namespace
from react_mem.memory.store.serialisation import Binary
from react_mem.memory.store.stored_text import check_identity, index_entries, storable, text_of_field, to_json
from react_mem.memory.store.stored_vectors import PlacedEntry, RecentVectors, perhaps_stored, stored_vectors
from react_mem.memory.store.writes import ItemRow, Writes, by_owner, columns, index_rows, read_vector_oid, revise

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

_MISSING = """
    SELECT v.owner, v.prefix, v.key, v.field_name, v.updated_at, s.value, v.sealed IS NOT NULL AS is_sealed
    FROM store_vectors v JOIN store s ON s.owner = v.owner AND s.prefix = v.prefix AND s.key = v.key
    WHERE v.half IS NULL AND v.sealed_vector IS NULL AND (v.words IS NOT NULL OR v.sealed IS NOT NULL)
        AND {in_namespace}
        AND (v.owner, v.prefix, v.key, v.field_name) > ({owner}, {prefix}, {key}, {field_name})
    ORDER BY v.owner, v.prefix, v.key, v.field_name LIMIT {limit}
"""
# what has been written again meanwhile has a vector of its own, or is found by the next pass
_FILL = """
    UPDATE store_vectors v SET half = made.embedding::halfvec, sealed_vector = made.sealed_vector,
        revision = o.revision
    FROM memory_owners o, unnest(%s::text[], %s::text[], %s::text[], %s::timestamptz[], %s::vector[], %b::bytea[])
        AS made (prefix, key, field_name, updated_at, embedding, sealed_vector)
    WHERE v.owner = %s AND o.owner = v.owner AND v.prefix = made.prefix AND v.key = made.key
        AND v.field_name = made.field_name AND v.updated_at = made.updated_at AND v.half IS NULL
        AND v.sealed_vector IS NULL
"""

log = logging.getLogger(__name__)


def checked_vector(model: EmbeddingModel, numbers: Sequence[float]) -> bytes:
    """Return a vector in binary form; InvalidVector says that it cannot be stored, or is zero, which has no cosine."""
    vector = finite_vector(model, numbers)
    if max(abs(number) for number in numbers) < _SMALLEST:
        raise InvalidVector(f"{model.name} returned a vector of zeros, which is near to nothing")
    return vector


def finite_vector(model: EmbeddingModel, numbers: Sequence[float]) -> bytes:
    """Return a vector in binary form, which may be zero; InvalidVector says that the database could not take it."""
    try:
        if len(numbers) != model.dims:
            raise InvalidVector(f"{model.name} returned {len(numbers)} numbers, not {model.dims}")
        if not all(abs(number) <= _LARGEST for number in numbers):
            raise InvalidVector(f"{model.name} returned a vector that is not of finite numbers up to {_LARGEST}")
        return binary.vector(numbers)
    except TypeError:
        raise InvalidVector(f"{model.name} returned a vector that is not of numbers") from None


def _place(row: DictRow) -> tuple[str, str, str, str]:
    return row["owner"], row["prefix"], row["key"], row["field_name"]


def _opened(rows: Sequence[DictRow], keys: Keys) -> list[DictRow]:
    return [
        {**row, "value": opened_value(keys[row["owner"]], row["prefix"], row["key"], row["value"])[1]}
        if is_sealed(row["value"]) and row["owner"] in keys
        else row
        for row in rows
    ]


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

    async def make_up(self, path: str = "") -> int:
        """Make the missing vectors at a path and below it (empty for all), and return their number."""
        made, place = 0, ("", "", "", "")
        while True:
            parameters = Parameters()
            statement = _MISSING.format(
                in_namespace=in_namespace("v", path, parameters),
                owner=parameters.add(place[0]),
                prefix=parameters.add(place[1]),
                key=parameters.add(place[2]),
                field_name=parameters.add(place[3]),
                limit=parameters.add(_AT_ONCE),
            )
            async with self._pool.connection() as conn:
                async with confined_within(conn, path):
                    found = await conn.execute(statement.encode(), parameters.values)
                rows = await found.fetchall()
            filled = await self._fill(rows)
            made += filled
            # an embedder that has made none of a hundred is down
            if len(rows) < _AT_ONCE or not filled:
                return made
            place = _place(rows[-1])

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

    async def _fill(self, rows: Sequence[DictRow]) -> int:
        if keys := await self._codec.keys({row["owner"] for row in rows}):
            rows = await asyncio.to_thread(_opened, rows, keys)
        found = ((place, text_of_field(row["value"], row["field_name"])) for place, row in enumerate(rows))
        texts = {place: text for place, text in found if text is not None}
        vectors = await self.of(list(texts.values()))
        filled: list[tuple[Any, ...]] = []
        for place, text in texts.items():
            row, vector = rows[place], vectors[text]
            if vector is not None:
                prefix, stored, name = _place(row)[1:]
                sealed = sealed_vector(keys[row["owner"]], prefix, stored, name, vector) if row["is_sealed"] else None
                filled.append((prefix, stored, name, row["updated_at"], None if sealed else vector, sealed))
        if filled:
            async with self._pool.connection() as conn, conn.transaction():
                owned = by_owner(filled)
                await revise(conn, owned, removes=False)
                await need_keys(conn, [keys[owner] for owner in owned if owner in keys])
                vector_oid = await read_vector_oid(conn)
                for owner, rows_of_owner in owned.items():
                    *identities, embeddings, sealed_ones = columns(rows_of_owner, 6)
                    embedded = binary.array(vector_oid, embeddings)
                    await conn.execute(_FILL, [*identities, embedded, sealed_ones, owner])
                await check_model(conn, self._model.name)
        return len(filled)

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
        vectors = {text: _numbers(embedding, each) for text, each in zip(texts, made, strict=True)}
    except Exception as error:  # any error of the provider's client, or a bad vector
        what = f"no answer in {seconds:.0f} seconds" if isinstance(error, TimeoutError) else cause_of(error)
        cause = f"the question cannot be embedded ({what})"
        log.warning("memory is searched without vectors: %s", cause)
        return [None] * len(ops), cause
    return [vectors.get(op.question.text) if Arm.VECTOR in op.arms else None for op in ops], ""


def _numbers(embedding: EmbeddingModel, made: Sequence[float]) -> NDArray[np.float32]:
    checked_vector(embedding, made)
    return np.asarray(made, dtype=np.float32)


def _by_words_alone(op: PutOp) -> bool:
    """Return true for a record of memory that is embedded later."""
    return op.index == NO_FIELDS and op.namespace[0] == ROOT
