"""Reads of work behind turns, beside those of turns; and the end of what LangGraph gathers them with.

LangGraph gathers single reads of all callers and sends them one batch after another. A search of a worker, whose words
are still being embedded, would keep the turns' reads waiting.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from langgraph.store.base import GetOp, Item, SearchItem, SearchOp
from langgraph.store.postgres.aio import AsyncPostgresStore

from react_mem.memory.store.priority import is_behind

_CLOSING_SECONDS = 2.0
"""Seconds that operations have which wait when the store is closed."""


class LanedStore(AsyncPostgresStore):
    """A store whose single reads of work behind turns are not gathered with those of turns."""

    async def __aexit__(self, *error: Any) -> None:
        """End the task that gathers single operations, behind those that wait: else it is destroyed while it waits."""
        await super().__aexit__(*error)
        gathering, self._task = self._task, None
        if gathering is None or gathering.done():
            return
        # it ends at an entry that is nothing; the first may be gathered with operations that wait
        waiting: asyncio.Queue[Any] = self._aqueue
        waiting.put_nowait(None)
        waiting.put_nowait(None)
        _, hanging = await asyncio.wait([gathering], timeout=_CLOSING_SECONDS)
        if hanging:
            gathering.cancel()
            await asyncio.wait([gathering])
        self._aqueue = asyncio.Queue()

    async def aget(self, namespace: tuple[str, ...], key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """Return an item."""
        if not is_behind():
            return await super().aget(namespace, key, refresh_ttl=refresh_ttl)
        [found] = await self.abatch([GetOp(namespace, key, self._refreshes(refresh_ttl))])
        return cast("Item | None", found)

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
        """Search a namespace and those below it."""
        refreshes = self._refreshes(refresh_ttl)
        if not is_behind():
            return await super().asearch(
                namespace_prefix, query=query, filter=filter, limit=limit, offset=offset, refresh_ttl=refreshes
            )
        [found] = await self.abatch([SearchOp(namespace_prefix, filter, limit, offset, query, refreshes)])
        return cast("list[SearchItem]", found)

    def _refreshes(self, wanted: bool | None) -> bool:
        return (self.ttl_config or {}).get("refresh_on_read", True) if wanted is None else wanted
