"""`MemoryStore` beyond what the conformance suite checks: other fields than `text`, and what has expired unswept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from langgraph.store.base import GetOp, PutOp, SearchOp
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.row_security import Pool
from tests.support.databases import word_model

SPACE = ("app", "ann")
TTL = {"default_ttl": 60.0, "refresh_on_read": True}


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    options = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": None}
    async with AsyncConnectionPool(database_url, kwargs=options, open=False) as opened:
        yield opened


async def open_store(pool: Pool, **options: Any) -> MemoryStore:
    store = MemoryStore(pool, word_model(), **options)
    await store.setup()
    return store


def keys(items: Sequence[Any]) -> list[str]:
    return [item.key for item in items]


class TestFields:
    async def test_only_these_are_searched(self, pool: Pool) -> None:
        store = await open_store(pool, fields=["title", "parts[*].text"])
        assert store.index_config is not None
        assert store.index_config["fields"] == ["title", "parts[*].text"]
        await store.aput(SPACE, "title", {"title": "green tea", "text": "sand"})
        await store.aput(SPACE, "parts", {"parts": [{"text": "red car"}, {"text": "blue boat"}]})
        await store.aput(SPACE, "none", {"text": "zebra"})
        for query, key in [("green tea", "title"), ("blue boat", "parts"), ("red car", "parts")]:
            [first, second] = await store.asearch(SPACE, query=query)
            assert first.key == key
            assert (first.score or 0) > (second.score or 0)
        assert "none" not in keys(await store.asearch(SPACE, query="zebra"))

    async def test_a_write_that_names_others_wins(self, pool: Pool) -> None:
        store = await open_store(pool, fields=["title"])
        await store.aput(SPACE, "other", {"title": "sand", "body": "green tea"}, ["body"])
        await store.aput(SPACE, "title", {"title": "red car", "body": "green tea"})
        await store.aput(SPACE, "hidden", {"title": "green tea"}, False)
        assert keys(await store.asearch(SPACE, query="green tea")) == ["other", "title"]

    async def test_records_of_memory_keep_theirs(self, pool: Pool) -> None:
        store = await open_store(pool, fields=["title"])
        await store.aput(("memory", "ann", "semantic"), "fact", {"text": "green tea", "kind": "fact"})
        assert keys(await store.asearch(("memory", "ann"), query="green tea")) == ["fact"]


class TestExpiry:
    @pytest.mark.parametrize("omitted", [True, False])
    async def test_what_has_expired_and_is_not_swept(self, pool: Pool, omitted: bool) -> None:
        store = await open_store(pool, ttl={**TTL})
        assert store.ttl_config is not None
        store.ttl_config["omit_expired"] = omitted  # as on the stock store, also later
        await store.abatch([PutOp(SPACE, key, {"text": f"{key} tea"}, ttl=1) for key in ("a", "gone", "b", "c")])
        await store.aput(("app", "only"), "gone", {"text": "tea"})
        order = {"a": 1, "gone": 2, "b": 3, "c": 4}
        async with pool.connection() as conn:
            for key, seconds in order.items():
                await conn.execute(
                    "UPDATE store SET updated_at = now() - %s * interval '1 second' WHERE key = %s", (seconds, key)
                )
            await conn.execute("UPDATE store SET expires_at = now() - interval '1 minute' WHERE key = 'gone'")
        live = ["a", "b", "c"] if omitted else ["a", "gone", "b", "c"]
        pages = [keys(await store.asearch(SPACE, limit=2, offset=start, refresh_ttl=False)) for start in (0, 2)]
        assert [key for page in pages for key in page] == live
        assert set(keys(await store.asearch(SPACE, query="tea", refresh_ttl=False))) == set(live)
        assert (await store.aget(SPACE, "gone", refresh_ttl=False) is None) == omitted
        assert (("app", "only") in await store.alist_namespaces(prefix=("app",))) != omitted
        before = await expiries(pool)
        await store.abatch([GetOp(SPACE, "gone"), GetOp(SPACE, "a"), SearchOp(SPACE, limit=10)])
        after = await expiries(pool)
        assert (after["gone"] == before["gone"]) == omitted, "what is gone is not brought back"
        assert after["a"] > before["a"]

    async def test_minutes_may_be_fractions_where_the_column_holds_them(self, pool: Pool) -> None:
        store = await open_store(pool, ttl={**TTL})
        async with pool.connection() as conn:
            await conn.execute("ALTER TABLE store ALTER ttl_minutes TYPE float8")
        await store.aput(SPACE, "tea", {"text": "tea"}, ttl=0.4)
        assert await store.aget(SPACE, "tea", refresh_ttl=True) is not None
        async with pool.connection() as conn:
            [row] = await (await conn.execute("SELECT ttl_minutes, expires_at > now() AS alive FROM store")).fetchall()
        assert row == {"ttl_minutes": pytest.approx(0.4), "alive": True}


async def expiries(pool: Pool) -> dict[str, Any]:
    async with pool.connection() as conn:
        rows = await (
            await conn.execute("SELECT key, expires_at FROM store WHERE prefix = %s", (".".join(SPACE),))
        ).fetchall()
    return {row["key"]: row["expires_at"] for row in rows}
