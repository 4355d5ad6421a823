"""Opening the memory layer alone, for those who have their own graph."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.interface import MemoryPolicy
from react_mem.memory.storage import StorageSettings, open_storage


@asynccontextmanager
async def open_memory(
    policy: MemoryPolicy | None = None,
    *,
    store: BaseStore | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    settings: StorageSettings | None = None,
) -> AsyncIterator[MemoryFacade]:
    """Open the memory of every scope on a database, or on a store of your own.

        async with open_memory() as memory:
            await memory.write(MemoryWriteEvent(...))
            found = await memory.read(MemoryQuery(user_id="ann", ..., scopes=[MemoryScope.SEMANTIC], query="tea"))

    Compile your graph with `memory.store` (and `memory.checkpointer`), so that both are on the same database.

    Args:
        policy: What may be read and written; by default everything that costs nothing.
        store: Your own store: no database is opened.
        checkpointer: Keeps the threads of your graph, so that forgetting a user reaches them; of a database that is
            opened here it is that database's.
        settings: Which database to open; by default what the environment says.

    Yields:
        The memory, with a store and, where there is one, a checkpointer.

    Raises:
        StorageError: If the database cannot be opened.
    """
    if store is not None:
        yield MemoryFacade(store, policy, checkpointer=checkpointer)
        return
    async with open_storage(settings or StorageSettings.from_env()) as storage:
        yield MemoryFacade(storage.memory, policy, checkpointer=checkpointer or storage.checkpointer)
