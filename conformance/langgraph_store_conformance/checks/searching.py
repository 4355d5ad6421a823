"""Checks of searches without vectors: limit, offset, a query that nothing ranks by."""

from __future__ import annotations

from langgraph.store.base import BaseStore, PutOp, SearchItem

from langgraph_store_conformance.checks.shown import Space, keys


class SearchChecks:
    """What a search returns, and how much of it."""

    async def test_search_of_nothing_is_an_empty_list(self, store: BaseStore, space: Space) -> None:
        assert await store.asearch(space) == []

    async def test_search_returns_whole_items(self, store: BaseStore, space: Space) -> None:
        await store.aput((*space, "below"), "tea", {"text": "tea", "n": 1})
        item = await store.aget((*space, "below"), "tea")
        [found] = await store.asearch(space)
        assert isinstance(found, SearchItem)
        assert item is not None
        assert (found.namespace, found.key, found.value) == (item.namespace, item.key, item.value)
        assert (found.created_at, found.updated_at) == (item.created_at, item.updated_at)

    async def test_ten_are_returned_unless_said_otherwise(self, store: BaseStore, space: Space) -> None:
        for n in range(12):
            await store.aput(space, str(n), {"n": n})
        assert len(await store.asearch(space)) == 10
        assert len(await store.asearch(space, limit=12)) == 12

    async def test_pages_neither_repeat_nor_miss(self, store: BaseStore, space: Space) -> None:
        for n in range(25):
            await store.aput(space, str(n), {"n": n})
        pages = [keys(await store.asearch(space, limit=10, offset=start)) for start in (0, 10, 20, 30)]
        assert [len(page) for page in pages] == [10, 10, 5, 0]
        assert sorted(key for page in pages for key in page) == sorted(map(str, range(25)))

    async def test_pages_neither_repeat_nor_miss_of_one_batch(self, store: BaseStore, space: Space) -> None:
        await store.abatch([PutOp(space, str(n), {"n": n}) for n in range(25)])
        pages = [keys(await store.asearch(space, limit=4, offset=start)) for start in range(0, 28, 4)]
        assert sorted(key for page in pages for key in page) == sorted(map(str, range(25)))

    async def test_a_search_sees_what_was_just_written(self, store: BaseStore, space: Space) -> None:
        for n in range(5):
            await store.aput(space, str(n), {"n": n})
            assert len(await store.asearch(space)) == n + 1
        await store.aput(space, "0", {"n": "new"})
        assert keys(await store.asearch(space, filter={"n": "new"})) == ["0"]
        assert await store.asearch(space, filter={"n": 0}) == []

    async def test_an_empty_query_lists(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tea", {"text": "tea"})
        for query in ("", None):
            assert keys(await store.asearch(space, query=query)) == ["tea"]

    async def test_without_an_index_a_query_lists(self, store_without_index: BaseStore, space: Space) -> None:
        for key in ("tea", "car"):
            await store_without_index.aput(space, key, {"text": key})
        found = await store_without_index.asearch(space, query="tea")
        assert {(item.key, item.score) for item in found} == {("tea", None), ("car", None)}
