"""A process that takes messages out of a user's quota, as many at once as it is told, and prints how many it got."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable

from react_mem.errors import QuotaExceeded
from react_mem.memory.model.policy import QuotaSettings
from react_mem.memory.store.room import take_message
from tests.support.databases import open_memory_store, word_model


async def at_once() -> None:
    """Begin without waiting for anybody."""


async def when_told() -> None:
    """Say that everything is open, and wait for the word to begin."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)


async def take(
    url: str, limit: int, wanted: int, *, sealed: bool, begin: Callable[[], Awaitable[None]] = at_once
) -> int:
    """Return how many of the messages that are wanted at once are within the quota."""
    async with open_memory_store(url, word_model(), sealed=sealed) as store:
        await begin()
        quotas = QuotaSettings(messages_a_day=limit)
        done = await asyncio.gather(
            *(take_message(store, "ann", quotas) for _ in range(wanted)), return_exceptions=True
        )
    for one in done:
        if isinstance(one, BaseException) and not isinstance(one, QuotaExceeded):
            raise one
    return done.count(None)


if __name__ == "__main__":
    _, to, allowed, asked, seals = sys.argv
    sys.stdout.write(str(asyncio.run(take(to, int(allowed), int(asked), sealed=seals == "sealed", begin=when_told))))
