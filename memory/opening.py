"""Opening storage and the memory on it: the store, in another vector store where one is set, and the checkpointer.

`open_store` is what `langgraph.json` points to.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.base import BaseStore

from react_mem.errors import StorageError
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.maintenance.agent import CLOSING_SECONDS
from react_mem.memory.maintenance.worker import close_workers
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.store.checkpointer import ThreadSaver
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.postgres import MemoryStore, Pool
from react_mem.memory.store.postgres_server import open_database
from react_mem.memory.store.storage_settings import StorageSettings


@dataclass(frozen=True)
class Storage:
    """Open storage.

    Args:
        store: Long-term memory.
        memory: The same as graphs and the facade use it: searched in another vector store, where one is set.
        checkpointer: The threads.
        pool: The connections that both share.
        embedding: The model whose vectors the store holds.
    """

    store: MemoryStore
    memory: BaseStore
    checkpointer: AsyncPostgresSaver
    pool: Pool
    embedding: EmbeddingModel


@asynccontextmanager
async def open_storage(settings: StorageSettings | None = None) -> AsyncIterator[Storage]:
    """Open the store and the checkpointer, starting the embedded database if no other is configured.

    Args:
        settings: How; from the environment by default.

    Yields:
        The storage, its tables up to date.

    Raises:
        StorageError: If it cannot be opened; the message names the cause and the fix.
    """
    async with open_database(settings, checkpoints=True) as store:
        memory = await _searched(store, settings)
        yield Storage(store, memory, ThreadSaver(store.pool), store.pool, store.embedding)


@asynccontextmanager
async def open_store() -> AsyncIterator[BaseStore]:
    """Open the store alone, as a LangGraph server does, which brings its own checkpointer.

    Yields:
        The store, its tables up to date.

    Raises:
        StorageError: If it cannot be opened; the message names the cause and the fix.
    """
    async with open_database(None, checkpoints=False) as store:
        yield await _searched(store, None)


async def _searched(store: MemoryStore, settings: StorageSettings | None) -> BaseStore:
    """Return the store with the vector store that the settings name, if they name one."""
    wanted = (settings or StorageSettings.from_env()).vector_store
    if wanted is None:
        return store
    # most have none, and none of its modules to load
    from react_mem.memory.adapters.vector_settings import open_vector_index

    try:
        return await open_vector_index(store, wanted, store.embedding.embeddings)
    except ValueError as error:
        raise StorageError(f"VECTOR_STORE: {error}") from error


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

    Closing waits a few seconds for what is still to be drawn from the turns, such as those of a `MemoryMiddleware`;
    what is not done by then stays in the store, and is done the next time.

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
    async with AsyncExitStack() as opened:
        if store is None:
            storage = await opened.enter_async_context(open_storage(settings or StorageSettings.from_env()))
            store, checkpointer = storage.memory, checkpointer or storage.checkpointer
        try:
            yield MemoryFacade(store, policy, checkpointer=checkpointer)
        finally:
            await close_workers(store, CLOSING_SECONDS)
