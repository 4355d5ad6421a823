"""A database of the version before owners, and who goes on writing it while it is brought up to date."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langgraph.store.postgres.aio import AsyncPostgresStore
from langgraph.store.postgres.base import MIGRATIONS as STORE_MIGRATIONS
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row

from react_mem.memory.store import migrations
from react_mem.memory.store.embeddings import EmbeddingModel

LAST = 20
"""The last file of that version."""
BESIDE = 23
"""The last file beside which it goes on: the next drops what it writes."""

_FILL = """
    INSERT INTO store (prefix, key, value)
    SELECT CASE WHEN n %% 10 = 0 THEN 'app.u' || n %% %(owners)s || '.notes'
            ELSE 'memory.u' || n %% %(owners)s || '.dialog' END,
        'k' || n, jsonb_build_object('kind', 'message', 'session_id', 's', 'turn', n, 'text', 'tea number ' || n,
            'created_at', '2026-01-01T00:00:00Z')
    FROM generate_series(0, %(rows)s - 1) n
"""
# one in fifty as the stock store leaves it: without words
_FILL_INDEX = """
    INSERT INTO store_vectors (prefix, key, field_name, embedding, terms, length, place)
    SELECT s.prefix, s.key, 'text',
        (SELECT array_agg(sin(i * (s.n + 1))) FROM generate_series(1, %(dims)s) i)::vector,
        CASE WHEN s.n %% 50 > 0 THEN ('{' || (
            SELECT string_agg(n || ':1', ',' ORDER BY n) FROM (
                SELECT DISTINCT 1 + (i * 7919 + s.n) %% 999999 AS n FROM generate_series(1, 20) i
            ) numbers
        ) || '}/1000000000')::sparsevec END, 20, s.n
    FROM (SELECT prefix, key, (value ->> 'turn')::bigint AS n FROM store) s
"""
_UPSERT = """
    INSERT INTO store (prefix, key, value, created_at, updated_at, expires_at, ttl_minutes)
    SELECT prefix, key, value::jsonb, now(), now(), now() + ttl * interval '1 minute', ttl
    FROM unnest(%s::text[], %s::text[], %b::text[], %s::float8[]) AS new (prefix, key, value, ttl)
    ON CONFLICT (prefix, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at,
        expires_at = excluded.expires_at, ttl_minutes = excluded.ttl_minutes
"""
_UPSERT_ROWS = """
    INSERT INTO store_vectors
        (prefix, key, field_name, embedding, terms, length, place, said_at, created_at, updated_at)
    SELECT prefix, key, field_name, embedding, terms, length, place, said_at, now(), now()
    FROM unnest(
        %s::text[], %s::text[], %s::text[], %s::vector[], %s::sparsevec[], %s::real[], %s::bigint[], %s::timestamptz[]
    ) AS new (prefix, key, field_name, embedding, terms, length, place, said_at)
    ON CONFLICT (prefix, key, field_name) DO UPDATE SET embedding = excluded.embedding, terms = excluded.terms,
        length = excluded.length, place = excluded.place, said_at = excluded.said_at, updated_at = excluded.updated_at
"""
_DELETE = """
    DELETE FROM store s USING unnest(%s::text[], %s::text[]) AS gone (prefix, key)
    WHERE s.prefix = gone.prefix AND s.key = gone.key
"""
WRONG = """
    SELECT (SELECT count(*) FROM store WHERE owner IS DISTINCT FROM memory_owner(prefix)) AS items,
        count(*) FILTER (WHERE owner IS DISTINCT FROM memory_owner(prefix)) AS owners,
        count(*) FILTER (WHERE half IS DISTINCT FROM embedding::halfvec) AS halves,
        count(*) FILTER (WHERE words IS DISTINCT FROM memory_words(terms)) AS words,
        (SELECT count(*) FROM pg_index WHERE NOT indisvalid) AS indexes,
        (SELECT count(*) FROM pg_constraint WHERE NOT convalidated) AS constraints
    FROM store_vectors
"""
"""Counts of rows, indexes and constraints that are not as they should be."""


@contextmanager
def files_up_to(number: int) -> Iterator[None]:
    """Take a database for up to date that has run these files."""
    newest = migrations.MIGRATIONS
    migrations.MIGRATIONS = tuple(one for one in newest if one[0] <= number)
    try:
        yield
    finally:
        migrations.MIGRATIONS = newest


async def migrate_to(conn: AsyncConnection[Any], model: EmbeddingModel, number: int) -> None:
    """Make a database of an older version by its files: beside tables of LangGraph's, as a new one has them at once."""
    for statement in STORE_MIGRATIONS:
        await conn.execute(statement.encode())
    with files_up_to(number):
        await migrations.migrate(conn, model, checkpoints=True)


async def connect(url: str) -> AsyncConnection[DictRow]:
    return await AsyncConnection[DictRow].connect(url, autocommit=True, row_factory=dict_row)


async def make(url: str, model: EmbeddingModel, rows: int, owners: int) -> None:
    """Make a database of that version."""
    async with await connect(url) as conn:
        await migrate_to(conn, model, LAST)
        sizes = {"rows": rows, "owners": owners, "dims": model.dims}
        await conn.execute(_FILL.encode(), sizes)
        await conn.execute(_FILL_INDEX.encode(), sizes)


async def write(conn: AsyncConnection[DictRow], prefix: str, keys: list[str], text: str, vector: str) -> None:
    """Write items as that version does."""
    prefixes, many = [prefix] * len(keys), len(keys)
    async with conn.pipeline(), conn.transaction():
        values = [f'{{"kind": "message", "text": "{text}"}}'] * many
        await conn.execute(_UPSERT, [prefixes, keys, values, [None] * many])
        words = [f"{{{7 + number}:1,9999:1}}/1000000000" for number in range(many)]
        entries = [prefixes, keys, ["text"] * many, [vector] * many, words, [2.0] * many, [None] * many, [None] * many]
        await conn.execute(_UPSERT_ROWS, entries)


async def delete(conn: AsyncConnection[DictRow], prefix: str, keys: list[str]) -> None:
    """Delete items as that version does."""
    await conn.execute(_DELETE, [[prefix] * len(keys), keys])


def stock_store(url: str, model: EmbeddingModel) -> Any:
    """Open LangGraph's own store."""
    index = {"dims": model.dims, "embed": model.embeddings, "fields": ["text"]}
    return AsyncPostgresStore.from_conn_string(url, index=index)  # type: ignore[arg-type]


class Writers:
    """Writers that go on meanwhile: the version before, and LangGraph's own store."""

    def __init__(self, url: str, model: EmbeddingModel, owners: int) -> None:
        self._url = url
        self._model = model
        self._owners = owners
        self.written = 0
        self.slowest: list[float] = []
        self.done = asyncio.Event()

    async def run(self) -> None:
        """Write until it is done."""
        await asyncio.gather(self._before(), self._stock())

    async def _before(self) -> None:
        draw = random.Random(1)  # noqa: S311 - no secret
        vector = str(self._model.embeddings.embed_query("green tea"))
        async with await connect(self._url) as conn:
            for number in itertools.count():
                if self.done.is_set():
                    return
                owner = draw.randrange(self._owners)
                prefix = f"memory.u{owner}.dialog"
                # what was there before, and something new
                keys = sorted({f"k{owner + self._owners * draw.randrange(10)}", f"new{number}"})
                await self._timed(write(conn, prefix, keys, "a kettle", vector))
                if number % 5 == 0:
                    await self._timed(delete(conn, prefix, [f"new{number}"]))

    async def _stock(self) -> None:
        async with stock_store(self._url, self._model) as stock:
            for number in itertools.count():
                if self.done.is_set():
                    return
                space = ("app", f"u{10 * number % self._owners}", "notes")
                await self._timed(stock.aput(space, f"stock{number}", {"text": "white tea"}))
                if number % 5 == 0:
                    await self._timed(stock.adelete(space, f"stock{number}"))
                assert number % 5 == 0 or await stock.aget(space, f"stock{number}") is not None

    async def _timed(self, work: Any) -> None:
        started = time.perf_counter()
        await work
        self.written += 1
        self.slowest = sorted([*self.slowest, time.perf_counter() - started])[-5:]
