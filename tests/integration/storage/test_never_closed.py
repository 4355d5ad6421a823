"""A memory that nobody closes, or that is used after it was closed."""

from __future__ import annotations

import asyncio
import threading

import pytest

from react_mem import MemoryFacade, StorageSettings, open_memory
from react_mem.errors import DatabaseUnavailable


def test_a_memory_that_is_never_closed_lets_its_event_loop_end(database_server: str) -> None:
    settings = StorageSettings.model_validate(
        {"database_url": database_server, "embedding": "local", "db_schema": "never_closed"}
    )
    kept = []

    async def leave_open() -> None:
        kept.append(open_memory(settings=settings))
        await kept[0].__aenter__()

    ended = threading.Thread(target=lambda: asyncio.run(leave_open()), daemon=True)
    ended.start()
    ended.join(60)
    assert not ended.is_alive()


async def test_a_closed_memory_says_that_it_is_closed(database_url: str) -> None:
    settings = StorageSettings.model_validate({"database_url": database_url, "embedding": "local"})
    async with open_memory(settings=settings) as memory:
        pass
    for use in (memory.semantic.history("tea", user_id="ann"), memory.forget_user("ann"), memory.pending("ann")):
        with pytest.raises(DatabaseUnavailable, match="This memory is closed") as caught:
            await use
        assert "lost" not in str(caught.value)
    assert isinstance(memory, MemoryFacade)
