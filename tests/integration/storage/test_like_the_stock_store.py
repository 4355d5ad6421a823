"""What LangGraph's Postgres store promises, of every store that memory runs on, and `MemoryStore` beyond `text`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from react_mem.memory.adapters.vectorstore import with_vector_index
from react_mem.memory.store.postgres import MemoryStore, Pool
from tests.support.databases import WordEmbeddings, word_model
from tests.support.stores import STORES, open_any_store

SPACE = ("app", "ann")
TTL = {"default_ttl": 60.0, "refresh_on_read": True}


@pytest.fixture(params=[*STORES, "vector index"])
async def store(request: pytest.FixtureRequest, database_server: str) -> AsyncIterator[BaseStore]:
    """Every store that memory runs on."""
    if request.param == "vector index":
        from langchain_core.vectorstores import InMemoryVectorStore

        yield with_vector_index(InMemoryStore(), InMemoryVectorStore(WordEmbeddings()), scopes=None)
        return
    async with open_any_store(request.param, database_server) as opened:
        yield opened


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


class TestEveryStore:
    async def test_putting_nothing_deletes(self, store: BaseStore) -> None:
        await store.aput(SPACE, "tea", {"text": "green tea"})
        await store.aput(SPACE, "car", {"text": "red car"})
        await store.aput(SPACE, "tea", None)  # type: ignore[arg-type]
        await store.aput(SPACE, "never", None)  # type: ignore[arg-type]
        assert await store.aget(SPACE, "tea") is None
        assert keys(await store.asearch(SPACE, query="green tea")) == ["car"]

    async def test_from_code_that_is_not_async_too(self, store: BaseStore) -> None:
        def work() -> tuple[Any, Any, list[Any], list[Any]]:
            store.put(SPACE, "tea", {"text": "green tea"})
            there = store.get(SPACE, "tea")
            found = store.search(SPACE, query="tea")
            spaces = store.list_namespaces(prefix=("app",))
            store.put(SPACE, "tea", None)  # type: ignore[arg-type]
            return there, store.get(SPACE, "tea"), found, spaces

        there, gone, found, spaces = await asyncio.to_thread(work)
        assert there.value == {"text": "green tea"}
        assert gone is None
        assert (keys(found), spaces) == (["tea"], [SPACE])

    async def test_the_last_write_of_an_item_in_a_batch_counts(self, store: BaseStore) -> None:
        await store.abatch([PutOp(SPACE, "tea", {"n": 1}), PutOp(SPACE, "tea", None), PutOp(SPACE, "tea", {"n": 2})])
        await store.abatch([PutOp(SPACE, "car", {"n": 1}), PutOp(SPACE, "car", None)])
        assert [item and item.value for item in await store.abatch([GetOp(SPACE, "tea"), GetOp(SPACE, "car")])] == [
            {"n": 2},
            None,
        ]

    async def test_labels_are_compared_whole_and_as_they_are(self, store: BaseStore) -> None:
        spaces = [("a%", "x"), ("ab", "x"), ("a_", "x"), ("a\\", "x"), ("a", "x"), ("a\n", "x"), ("a",), ("ax",)]
        for number, space in enumerate(spaces):
            await store.aput(space, "k", {"n": number})
        for space in spaces:
            below = [other for other in spaces if other[: len(space)] == space]
            assert {item.namespace for item in await store.asearch(space, limit=20)} == set(below)
            assert set(await store.alist_namespaces(prefix=space, limit=20)) == set(below)
        assert {item.namespace for item in await store.asearch((), limit=20)} == set(spaces)

    async def test_namespaces_by_pattern_depth_and_page(self, store: BaseStore) -> None:
        spaces = [("a", "b", "c"), ("a", "d", "c"), ("a", "b", "e"), ("f", "b", "c")]
        for space in spaces:
            await store.aput(space, "k", {"n": 1})
        any_middle = [MatchCondition("prefix", ("a", "*", "c"))]
        both = [MatchCondition("prefix", ("a",)), MatchCondition("suffix", ("e",))]
        listed = await store.abatch(
            [
                ListNamespacesOp(match_conditions=tuple(any_middle)),
                ListNamespacesOp(match_conditions=tuple(both)),
                ListNamespacesOp(max_depth=2),
                ListNamespacesOp(limit=2, offset=1),
            ]
        )
        assert (
            [sorted(spaces) for spaces in listed if isinstance(spaces, list)]
            == [  # type: ignore[type-var]
                [("a", "b", "c"), ("a", "d", "c")],
                [("a", "b", "e")],
                [("a", "b"), ("a", "d"), ("f", "b")],
                sorted(spaces)[1:3],
            ]
        )

    async def test_each_language_finds_its_own(self, store: BaseStore) -> None:
        texts = ["这是中文", "これは日本語です", "이건 한국어야", "Это русский", "यह हिन्दी है", "Đây là tiếng Việt"]
        for text in texts:
            await store.aput(SPACE, text, {"text": text})
        for text in texts:
            assert keys(await store.asearch(SPACE, query=text, limit=1)) == [text]

    async def test_an_empty_question_lists(self, store: BaseStore) -> None:
        await store.aput(SPACE, "tea", {"text": "tea"})
        for query in ("", None):
            [item] = await store.asearch(SPACE, query=query)
            assert (item.key, item.score) == ("tea", None)

    async def test_a_write_names_what_is_searched(self, store: BaseStore) -> None:
        await store.aput(SPACE, "named", {"text": "sand", "title": "green tea", "parts": [{"text": "one"}]}, ["title"])
        await store.aput(SPACE, "hidden", {"text": "green tea"}, False)
        await store.aput(SPACE, "other", {"text": "red car"})
        found = await store.asearch(SPACE, query="green tea")
        assert keys(found)[0] == "named"
        assert "hidden" not in [item.key for item in found if item.score is not None]
        assert len(await store.asearch(SPACE)) == 3


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

    async def test_a_whole_value(self, pool: Pool) -> None:
        store = await open_store(pool, fields=["$"])
        await store.aput(SPACE, "whole", {"text": "sand", "more": "zebra"})
        async with pool.connection() as conn:
            rows = await (await conn.execute("SELECT field_name FROM store_vectors")).fetchall()
        assert [row["field_name"] for row in rows] == ["$"]

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

    async def test_the_tables_are_made_again_without_harm(self, pool: Pool) -> None:
        store = await open_store(pool)
        await store.aput(SPACE, "tea", {"text": "tea"})
        async with pool.connection() as conn:
            await conn.execute("UPDATE store SET expires_at = now() - interval '1 minute'")
        await store.setup()
        assert await store.sweep_ttl() == 1
        assert await store.asearch(SPACE) == []


async def expiries(pool: Pool) -> dict[str, Any]:
    async with pool.connection() as conn:
        rows = await (
            await conn.execute("SELECT key, expires_at FROM store WHERE prefix = %s", (".".join(SPACE),))
        ).fetchall()
    return {row["key"]: row["expires_at"] for row in rows}
