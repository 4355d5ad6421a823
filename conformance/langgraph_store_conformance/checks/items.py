"""Checks of single items: put, get, overwrite, delete, and their times."""

from __future__ import annotations

from datetime import datetime

from langgraph.store.base import BaseStore, Item

from langgraph_store_conformance.checks.shown import Space, keys, value_of
from langgraph_store_conformance.polling import eventually


class ItemChecks:
    """One item, written and read."""

    async def test_get_of_nothing_is_none(self, store: BaseStore, space: Space) -> None:
        assert await store.aget(space, "tea") is None

    async def test_put_then_get(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tea", {"text": "green tea"})
        item = await store.aget(space, "tea")
        assert isinstance(item, Item)
        assert (item.namespace, item.key, item.value) == (space, "tea", {"text": "green tea"})

    async def test_overwrite_replaces_the_whole_value(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tea", {"text": "green tea", "cups": 2})
        await store.aput(space, "tea", {"text": "black tea"})
        assert await value_of(store, space, "tea") == {"text": "black tea"}
        assert keys(await store.asearch(space)) == ["tea"]

    async def test_delete(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tea", {"text": "tea"})
        await store.aput(space, "car", {"text": "car"})
        await store.adelete(space, "tea")
        assert await store.aget(space, "tea") is None
        assert keys(await store.asearch(space)) == ["car"]

    async def test_delete_of_nothing_is_no_error(self, store: BaseStore, space: Space) -> None:
        await store.adelete(space, "never")
        assert await store.aget(space, "never") is None

    async def test_put_of_none_deletes(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tea", {"text": "tea"})
        await store.aput(space, "tea", None)  # type: ignore[arg-type]
        await store.aput(space, "never", None)  # type: ignore[arg-type]
        assert await store.aget(space, "tea") is None
        assert await store.asearch(space) == []

    async def test_put_after_delete_is_a_new_item(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tea", {"text": "tea", "old": True})
        await store.adelete(space, "tea")
        await store.aput(space, "tea", {"text": "tea"})
        assert await value_of(store, space, "tea") == {"text": "tea"}

    async def test_keys_of_any_text(self, store: BaseStore, space: Space) -> None:
        odd = [
            "a.b",
            "a b",
            "100%",
            "a_b",
            "axb",
            "*",
            "A",
            "a",
            "ünï-水",
            "🍵",
            "it's",
            'say "hi"',
            "a\\b",
            "/a/b",
            "k" * 500,
        ]
        for number, key in enumerate(odd):
            await store.aput(space, key, {"n": number})
        for number, key in enumerate(odd):
            assert await value_of(store, space, key) == {"n": number}, key
        assert sorted(keys(await store.asearch(space, limit=100))) == sorted(odd)

    async def test_an_empty_key(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "", {"n": 1})
        assert await value_of(store, space, "") == {"n": 1}

    async def test_times_are_aware_and_in_order(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tea", {"n": 1})
        item = await store.aget(space, "tea")
        assert item is not None
        assert isinstance(item.created_at, datetime)
        assert isinstance(item.updated_at, datetime)
        assert item.created_at.tzinfo is not None
        assert item.updated_at.tzinfo is not None
        assert item.created_at <= item.updated_at

    async def test_overwrite_keeps_created_at(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tea", {"n": 1})
        first = await store.aget(space, "tea")
        await store.aput(space, "tea", {"n": 2})
        second = await store.aget(space, "tea")
        assert first is not None
        assert second is not None
        assert second.created_at == first.created_at

    async def test_overwrite_moves_updated_at(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tea", {"n": 0})
        first = await store.aget(space, "tea")
        assert first is not None
        before = first.updated_at

        async def moved() -> bool:
            await store.aput(space, "tea", {"n": 1})
            item = await store.aget(space, "tea")
            return item is not None and item.updated_at > before

        await eventually(moved, "a later `updated_at` of what was written again")

    async def test_reading_moves_no_time(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tea", {"n": 1})
        first = await store.aget(space, "tea")
        assert first is not None
        times = (first.created_at, first.updated_at)
        [found] = await store.asearch(space)
        again = await store.aget(space, "tea")
        assert again is not None
        assert (found.created_at, found.updated_at) == times
        assert (again.created_at, again.updated_at) == times
