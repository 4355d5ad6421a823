"""Checks of expiry: what has a time to live, who prolongs it, and what becomes of the rest."""

from __future__ import annotations

from collections.abc import Set
from typing import ClassVar

import pytest
from langgraph.store.base import BaseStore

from langgraph_store_conformance.capabilities import Capability, needs
from langgraph_store_conformance.checks.shown import Space, keys
from langgraph_store_conformance.polling import eventually

_SIXTY_MILLISECONDS = 0.001


class ExpiryChecks:
    """Items with a time to live, in minutes."""

    capabilities: ClassVar[Set[Capability]] = frozenset()

    async def sweep(self, store: BaseStore) -> None:
        """Delete what has expired."""
        raise NotImplementedError

    async def pass_time(self, store: BaseStore, minutes: float) -> None:
        """Have every item expire that much sooner."""
        raise NotImplementedError

    async def test_a_store_that_claims_no_ttl_refuses_one(self, store: BaseStore, space: Space) -> None:
        if Capability.TTL in self.capabilities:
            pytest.skip("the store claims ttl")
        with pytest.raises(NotImplementedError):
            await store.aput(space, "tea", {"text": "tea"}, ttl=1)

    @needs(Capability.TTL)
    async def test_an_item_expires_and_others_stay(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "short", {"text": "tea"}, ttl=_SIXTY_MILLISECONDS)
        await store.aput(space, "long", {"text": "tea"}, ttl=600)
        await store.aput(space, "ever", {"text": "tea"}, ttl=None)

        async def gone() -> bool:
            await self.sweep(store)
            return await store.aget(space, "short", refresh_ttl=False) is None

        await eventually(gone, "the end of an item whose time to live is 60 ms")
        assert sorted(keys(await store.asearch(space, refresh_ttl=False))) == ["ever", "long"]
        assert keys(await store.asearch(space, filter={"text": "tea"}, limit=1, offset=1))

    @needs(Capability.TTL)
    async def test_get_prolongs_where_it_refreshes(self, store: BaseStore, space: Space) -> None:
        await self._two(store, space)
        await store.aget(space, "read", refresh_ttl=True)
        assert await self._left_later(store, space) == ["read"]

    @needs(Capability.TTL)
    async def test_get_prolongs_nothing_where_it_does_not_refresh(self, store: BaseStore, space: Space) -> None:
        await self._two(store, space)
        await store.aget(space, "read", refresh_ttl=False)
        assert await self._left_later(store, space) == []

    @needs(Capability.TTL)
    async def test_search_prolongs_where_it_refreshes(self, store: BaseStore, space: Space) -> None:
        await self._two(store, space)
        await store.asearch(space, filter={"name": "read"}, refresh_ttl=True)
        assert await self._left_later(store, space) == ["read"]

    @needs(Capability.TTL)
    async def test_search_prolongs_nothing_where_it_does_not_refresh(self, store: BaseStore, space: Space) -> None:
        await self._two(store, space)
        await store.asearch(space, refresh_ttl=False)
        assert await self._left_later(store, space) == []

    @needs(Capability.TTL, Capability.VECTORS)
    async def test_a_query_prolongs_where_it_refreshes(self, store: BaseStore, space: Space) -> None:
        await self._two(store, space)
        await store.asearch(space, query="green tea", filter={"name": "read"}, refresh_ttl=True)
        assert await self._left_later(store, space) == ["read"]

    @needs(Capability.TTL)
    async def test_overwrite_starts_the_time_anew(self, store: BaseStore, space: Space) -> None:
        await self._two(store, space)
        await store.aput(space, "read", {"text": "green tea", "name": "read"}, ttl=10)
        assert await self._left_later(store, space) == ["read"]

    @needs(Capability.TTL)
    async def test_overwrite_without_a_ttl_ends_it(self, store: BaseStore, space: Space) -> None:
        await self._two(store, space)
        await store.aput(space, "read", {"text": "green tea", "name": "read"}, ttl=None)
        await self.pass_time(store, 1_000)
        assert await self._left_later(store, space) == ["read"]

    @needs(Capability.TTL)
    async def test_reading_gives_no_ttl_to_what_has_none(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "ever", {"text": "tea"}, ttl=None)
        await store.aget(space, "ever", refresh_ttl=True)
        await self.pass_time(store, 1_000)
        assert await self._left_later(store, space) == ["ever"]

    @needs(Capability.TTL)
    async def test_a_fraction_of_a_minute_is_refreshed_as_it_is(self, store: BaseStore, space: Space) -> None:
        await store.aput(space, "half", {"text": "tea"}, ttl=0.4)
        await store.aget(space, "half", refresh_ttl=True)
        await self.pass_time(store, 0.2)
        await self.sweep(store)
        assert keys(await store.asearch(space, refresh_ttl=False)) == ["half"]

    async def _two(self, store: BaseStore, space: Space) -> None:
        """Write two items that live ten minutes, six of which have passed."""
        for name in ("read", "unread"):
            await store.aput(space, name, {"text": "green tea", "name": name}, ttl=10)
        await self.pass_time(store, 6)

    async def _left_later(self, store: BaseStore, space: Space) -> list[str]:
        """Return what is there six minutes later."""
        await self.pass_time(store, 6)
        await self.sweep(store)
        return keys(await store.asearch(space, refresh_ttl=False))
