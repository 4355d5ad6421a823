"""The lease on an item of work, renewed while somebody is at it."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from react_mem.memory.llm.causes import cause_of
from react_mem.memory.maintenance.queue import Held, WorkQueue

log = logging.getLogger(__name__)


class RenewedLease:
    """A lease that is renewed until it ends, or until the item is not ours any more."""

    def __init__(self, queue: WorkQueue, held: Held) -> None:
        self._queue = queue
        self._held = held
        self._over = asyncio.Event()
        self._task = asyncio.create_task(self._renew(), name="memory:lease")

    async def end(self) -> Held:
        """Stop renewing it; return the item as it was last seen, which is what it must still be to be changed."""
        # not cancelled: what the store holds must be known, and a renewal may be under way
        self._over.set()
        await asyncio.wait([self._task])
        return self._held

    async def _renew(self) -> None:
        while not self._over.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._queue.lease_seconds / 3):
                    await self._over.wait()
                return
            try:
                renewed = await self._queue.renew(self._held)
            except Exception as error:  # the store may be back before the lease runs out
                log.debug("a lease could not be renewed: %s", cause_of(error))
                continue
            if renewed is None:
                return
            self._held = renewed
