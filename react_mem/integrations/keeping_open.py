"""Memory opened in the background: a client is answered at once, and only calls wait."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

from react_mem.memory.turns import cause_of

log = logging.getLogger(__name__)

Opened = TypeVar("Opened")


class KeptOpen(Generic[Opened]):
    """A resource that stays open in the context of `opening`; after a failed opening the next caller tries again."""

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[Opened]]) -> None:
        self._opening = opening
        self._opened: asyncio.Future[Opened] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def begin(self) -> asyncio.Future[Opened]:
        """Begin to open the resource, unless it is opening or open, and return its future."""
        if self._opened is None or self._keeping is None or self._keeping.done():
            self._opened = asyncio.get_running_loop().create_future()
            self._keeping = asyncio.create_task(self._keep(self._opened))
        return self._opened

    async def opened(self) -> Opened:
        """Return the resource, once it is open; StorageError names cause and fix."""
        # who waits may be cancelled, and others wait too
        return await asyncio.shield(self.begin())

    async def close(self) -> None:
        """Close the resource, if it is open."""
        self._closing.set()
        if self._keeping is not None:
            await self._keeping

    async def _keep(self, opened: asyncio.Future[Opened]) -> None:
        """Open and close the resource in one task, as its context requires."""
        try:
            async with self._opening() as one:
                opened.set_result(one)
                await self._closing.wait()
        except Exception as error:
            if opened.done():
                raise
            log.error("memory cannot be opened: %s", cause_of(error))
            opened.set_exception(error)
            # taken note of: nobody may be waiting for it
            opened.exception()
