"""Priority of turns, which users wait for, over background work.

Memory serves a turn twice, before the model is asked and after it has answered; between the two this process is idle.
So background work runs while models think, and pauses while many turns are being served.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar
from weakref import WeakKeyDictionary

from react_mem.memory.model.namespaces import setting

_CROWD = 4
"""Turns at once above which work waits: both run on one event loop, however fast the database is."""

_AT_ONCE = 8
"""Turns that memory serves at once on an event loop; more would all be late, as they share its processor."""

_PATIENCE = 10.0
"""Seconds that work waits for a crowd to pass. After that it goes on one item at a time, so that it never starves."""

_FRONT_SECONDS = 2.0
"""Seconds that work lets waiting turns go first, before it queues for a connection like them."""

_behind: ContextVar[bool] = ContextVar("behind_turns", default=False)
_admitted: ContextVar[bool] = ContextVar("admitted_to_pool", default=False)


class Front:
    """The turns that memory is serving in this process, in all event loops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._served = 0
        self._crowded_since: float | None = None
        self._places: WeakKeyDictionary[asyncio.AbstractEventLoop, _Places] = WeakKeyDictionary()

    @asynccontextmanager
    async def served(self, seconds: float) -> AsyncIterator[None]:
        """Serve a turn within a time limit that begins when its place is free: admission control.

        A crowd waits in line, and is not refused, as long as the turns before it get on.

        Raises:
            TimeoutError: If the turn is not served in time, or waits while no other turn gets on.
        """
        with self.turn():
            async with self._places.setdefault(asyncio.get_running_loop(), _Places()).taken(seconds):
                async with asyncio.timeout(seconds):
                    yield

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Count a turn while it is served."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, change: int) -> None:
        with self._lock:
            self._served += change
            if self._served <= _CROWD:
                self._crowded_since = None
            elif self._crowded_since is None:
                self._crowded_since = time.monotonic()

    def room_for_work(self, items: int) -> int:
        """Return the number of pieces of work that may run now, of `items` at most."""
        since = self._crowded_since
        if since is None:
            return items
        return 1 if time.monotonic() - since >= _PATIENCE else 0


class _Places:
    """Places of the turns that are served at once on one event loop, given in the order of their requests."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(_AT_ONCE)
        self._got_on_at = 0.0

    @asynccontextmanager
    async def taken(self, seconds: float) -> AsyncIterator[None]:
        """Hold a place; TimeoutError if it is not free and no turn has got on for some seconds."""
        await self._take(seconds)
        try:
            yield
            self._got_on_at = time.monotonic()
        finally:
            self._free.release()

    async def _take(self, seconds: float) -> None:
        if not self._free.locked():
            await self._free.acquire()
            return
        taking = asyncio.ensure_future(self._free.acquire())
        try:
            while not (await asyncio.wait([taking], timeout=seconds))[0]:
                if time.monotonic() - self._got_on_at > seconds:
                    raise TimeoutError
        except BaseException:
            if not taking.cancel():
                self._free.release()
            raise


FRONT = Front()
"""The one of this process: the turns of all event loops share the machine."""


def behind_turns() -> AbstractContextManager[None]:
    """Mark the context as background work, which takes few connections and lets turns go first."""
    return setting(_behind, True)


def is_behind() -> bool:
    """Return true in background work."""
    return _behind.get()


class PoolShare:
    """Share of a pool's connections for background work: a quarter of `connections`, at least one."""

    def __init__(self, connections: int) -> None:
        self._free = asyncio.Semaphore(max(1, connections // 4))
        self._waiting = 0
        self._nobody_waits = asyncio.Event()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count a turn's wait for a connection; background work lets it go first."""
        if is_behind():
            yield
            return
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._nobody_waits.set()

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """Wait for a place for background work; at once for turns, and for work that has a place already."""
        if not is_behind() or _admitted.get():
            yield
            return
        async with self._free:
            await self._let_pass()
            with setting(_admitted, True):
                yield

    async def _let_pass(self) -> None:
        give_up = time.monotonic() + _FRONT_SECONDS
        while self._waiting and (left := give_up - time.monotonic()) > 0:
            self._nobody_waits.clear()
            try:
                async with asyncio.timeout(left):
                    await self._nobody_waits.wait()
            except TimeoutError:
                return
