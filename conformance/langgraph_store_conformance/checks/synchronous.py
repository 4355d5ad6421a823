"""Checks that code which is not async sees the same store."""

from __future__ import annotations

import asyncio

from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from langgraph_store_conformance.capabilities import Capability, needs
from langgraph_store_conformance.checks.shown import Space, keys, value_of


class SynchronousChecks:
    """The methods without `a`, called in a thread of their own."""

    @needs(Capability.SYNC)
    async def test_sync_put_and_async_get_agree(self, store: BaseStore, space: Space) -> None:
        await asyncio.to_thread(store.put, space, "tea", {"text": "tea", "n": [1, None]})
        assert await value_of(store, space, "tea") == {"text": "tea", "n": [1, None]}

    @needs(Capability.SYNC)
    async def test_async_put_and_sync_get_agree(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tea", {"text": "tea"})
        there, missing = await asyncio.gather(
            asyncio.to_thread(store.get, space, "tea"), asyncio.to_thread(store.get, space, "car")
        )
        item = await store.aget(space, "tea")
        assert there is not None
        assert item is not None
        assert (there.value, there.key, there.namespace) == (item.value, item.key, item.namespace)
        assert (there.created_at, there.updated_at) == (item.created_at, item.updated_at)
        assert missing is None

    @needs(Capability.SYNC)
    async def test_sync_delete(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tea", {"text": "tea"})
        await store.aput(space, "car", {"text": "car"})
        await asyncio.to_thread(store.delete, space, "tea")
        await asyncio.to_thread(store.put, space, "car", None)  # type: ignore[arg-type]
        assert await store.asearch(space) == []

    @needs(Capability.SYNC)
    async def test_sync_search_and_async_search_agree(self, store: BaseStore, space: Space) -> None:
        for n in range(5):
            await store.aput(space, str(n), {"n": n})
        found = await asyncio.to_thread(lambda: store.search(space, filter={"n": 3}, limit=2))
        assert keys(found) == keys(await store.asearch(space, filter={"n": 3}, limit=2)) == ["3"]
        pages = await asyncio.to_thread(lambda: [store.search(space, limit=3, offset=start) for start in (0, 3)])
        assert sorted(key for page in pages for key in keys(page)) == list("01234")

    @needs(Capability.SYNC)
    async def test_sync_namespaces_and_async_namespaces_agree(self, store: BaseStore, space: Space) -> None:
        for label in ("a", "b", "c"):
            await store.aput((*space, label), "k", {"n": 1})
        listed = await asyncio.to_thread(lambda: store.list_namespaces(prefix=space, limit=2, offset=1))
        assert listed == [(*space, "b"), (*space, "c")]

    @needs(Capability.SYNC)
    async def test_a_sync_batch(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "tea", {"n": 1})
        results = await asyncio.to_thread(store.batch, [GetOp(space, "tea"), PutOp(space, "car", {"n": 2})])
        assert isinstance(results[0], Item)
        assert (results[0].value, results[1]) == ({"n": 1}, None)
        assert await value_of(store, space, "car") == {"n": 2}
