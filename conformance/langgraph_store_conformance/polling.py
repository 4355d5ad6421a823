"""Polling for what a clock has to bring about."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

_ATTEMPTS = 2_000
_PAUSE = 0.005


async def eventually(holds: Callable[[], Awaitable[bool]], what: str) -> None:
    """Wait until something holds.

    Args:
        holds: Looks whether it does.
        what: Its description, for the message.

    Raises:
        AssertionError: If it does not within 2,000 looks.
    """
    for _ in range(_ATTEMPTS):
        if await holds():
            return
        await asyncio.sleep(_PAUSE)
    raise AssertionError(f"{what}: not within {_ATTEMPTS} looks")
