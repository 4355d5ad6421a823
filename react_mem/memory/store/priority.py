"""Priority of turns, which users wait for, over the work behind them.

Memory serves a turn twice, before the model is asked and after it has answered; what a turn does in between costs this
process nothing. So work behind turns goes on while models think, and gives way while many turns are being served.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

_CROWD = 4
"""Turns that are served at once from which on work waits: it and they are one event loop's, whatever the database."""

_PATIENCE = 10.0
"""Seconds that work waits for a crowd to pass. After that it goes on one item at a time, so that it goes on at all."""

_FRONT_SECONDS = 2.0
"""Seconds that work waits for connections to be nobody's who is in front, before it queues for one as all do."""

_behind: ContextVar[WorkAtHand | None] = ContextVar("behind_turns", default=None)
_admitted: ContextVar[bool] = ContextVar("admitted_to_pool", default=False)


class WorkAtHand:
    """One piece of work behind turns, as long as somebody is at it."""


class Front:
    """The turns of this process that memory is serving, in whatever event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._served = 0
        self._crowded_since: float | None = None

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Serve a turn."""
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
        """Return how many of some items of work may be at hand now.

        Args:
            items: How many while there is no crowd.
        """
        since = self._crowded_since
        if since is None:
            return items
        return 1 if time.monotonic() - since >= _PATIENCE else 0


FRONT = Front()
"""Of this process: whichever event loop a turn is in, they share the machine."""


@contextmanager
def behind_turns() -> Iterator[None]:
    """Do what is done in this context behind turns: it takes few connections, and those that nobody else waits for."""
    before = _behind.set(WorkAtHand())
    try:
        yield
    finally:
        _behind.reset(before)


def is_behind() -> bool:
    """Return whether what runs at this moment is work behind turns."""
    return _behind.get() is not None


def work_at_hand() -> WorkAtHand | None:
    """Return the piece of work that runs at this moment; None for what is done for a turn."""
    return _behind.get()


class PoolShare:
    """The part of a pool's connections that work behind turns may have.

    Args:
        connections: How many the pool has at most.
    """

    def __init__(self, connections: int) -> None:
        self._free = asyncio.Semaphore(max(1, connections // 4))
        self._waiting = 0
        self._nobody_waits = asyncio.Event()

    @property
    def is_wanted(self) -> bool:
        """True if somebody in front waits for a connection."""
        return self._waiting > 0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wait for a connection; work lets those go first who are in front."""
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

    async def enter(self) -> None:
        """Wait until there is a place for work, which has to be left."""
        await self._free.acquire()
        try:
            await self._let_pass()
        except BaseException:
            self._free.release()
            raise

    def leave(self) -> None:
        """Leave a place to other work."""
        self._free.release()

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """Wait until there is a place for who is behind; at once for who is in front, or needs one more to go on."""
        if not is_behind() or _admitted.get():
            yield
            return
        await self.enter()
        try:
            with inside():
                yield
        finally:
            self.leave()

    async def _let_pass(self) -> None:
        give_up = time.monotonic() + _FRONT_SECONDS
        while self._waiting and (left := give_up - time.monotonic()) > 0:
            self._nobody_waits.clear()
            try:
                async with asyncio.timeout(left):
                    await self._nobody_waits.wait()
            except TimeoutError:
                return


@contextmanager
def inside() -> Iterator[None]:
    """Have a place of a share: who needs one more connection to go on waits for no other place."""
    before = _admitted.set(True)
    try:
        yield
    finally:
        _admitted.reset(before)
