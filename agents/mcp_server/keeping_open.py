"""Memory that is opened behind a client's back: it is answered at once, and only what needs memory waits for it."""

from __future__ import annotations

import asyncio
import logging

from react_mem.memory import MemoryFacade, MemoryPolicy, StorageSettings
from react_mem.memory.runtime import cause_of, open_storage

log = logging.getLogger(__name__)


class KeptOpen:
    """Memory on a database that stays open; where it could not be opened, the next who needs it tries again.

    Args:
        settings: The database.
        policy: What may be read and written.
    """

    def __init__(self, settings: StorageSettings, policy: MemoryPolicy) -> None:
        self._settings = settings
        self._policy = policy
        self._opened: asyncio.Future[MemoryFacade] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def begin(self) -> asyncio.Future[MemoryFacade]:
        """Begin to open it, if nobody has yet; return what will be the memory."""
        if self._opened is None or self._keeping is None or self._keeping.done():
            self._opened = asyncio.get_running_loop().create_future()
            self._keeping = asyncio.create_task(self._keep(self._opened))
        return self._opened

    async def memory(self) -> MemoryFacade:
        """Return the memory, once it is open.

        Raises:
            StorageError: If it cannot be opened; the message names the cause and the fix.
        """
        # who waits may be cancelled, and others wait too
        return await asyncio.shield(self.begin())

    async def close(self) -> None:
        """Close it, if it is open."""
        self._closing.set()
        if self._keeping is not None:
            await self._keeping

    async def _keep(self, opened: asyncio.Future[MemoryFacade]) -> None:
        """Open and close it in one task, as what holds it open wants."""
        try:
            async with open_storage(self._settings) as storage:
                opened.set_result(MemoryFacade(storage.memory, self._policy, checkpointer=storage.checkpointer))
                await self._closing.wait()
        except Exception as error:
            if opened.done():
                raise
            log.error("memory cannot be opened: %s", cause_of(error))
            opened.set_exception(error)
            # taken note of: nobody may be waiting for it
            opened.exception()
