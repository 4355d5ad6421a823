"""Opening storage and the memory on it: the store, in another vector store where one is set, and the checkpointer.

`open_store` is what `langgraph.json` points to.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.base import BaseStore

from react_mem.errors import StorageError
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.llm.checked_calls import checked, checked_calls
from react_mem.memory.maintenance.agent import CLOSING_SECONDS
from react_mem.memory.maintenance.worker import close_workers
from react_mem.memory.model.identity import refuse_exposed_server
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.reflect.driver import Report, run
from react_mem.memory.reflect.skills.learner import Learning
from react_mem.memory.store.checkpointer import ThreadSaver
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.keys.master_key import master_key_from_env
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


@checked()
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
        key = await store.keys.derive("checkpoints") if store.keys else None
        yield Storage(store, memory, ThreadSaver(store.pool, key), store.pool, store.embedding)


@asynccontextmanager
async def open_store() -> AsyncIterator[BaseStore]:
    """Open the store alone, as a LangGraph server does, which brings its own checkpointer.

    Yields:
        The store, its tables up to date.

    Raises:
        ExposedServerError: If the server would serve everybody's memories to anybody.
        StorageError: If it cannot be opened; the message names the cause and the fix.
    """
    refuse_exposed_server()
    async with open_database(None, checkpoints=False) as store:
        yield await _searched(store, None)


async def _searched(store: MemoryStore, settings: StorageSettings | None) -> BaseStore:
    """Return the store with the vector store that the settings name, if they name one."""
    wanted = (settings or StorageSettings.from_env()).vector_store
    if wanted is None:
        return store
    if store.keys is not None:
        raise StorageError(
            "VECTOR_STORE and a MEMORY_ENCRYPTION_KEY are both set: another vector store would hold in plain what is "
            "sealed in the database. Unset one of them."
        )
    # most have none, and none of its modules to load
    from react_mem.memory.adapters.vectorstore import open_vector_index

    try:
        return await open_vector_index(store, wanted, store.embedding.embeddings)
    except ValueError as error:
        raise StorageError(f"VECTOR_STORE: {error}") from error


async def refuse_unsealed(store: BaseStore, settings: StorageSettings | None = None) -> None:
    """Refuse a store that seals nothing where a key says that memory is encrypted.

    Args:
        store: A store that was not opened here.
        settings: Where the key is set; the environment by default.

    Raises:
        StorageError: If there is a key, and the store does not seal with one.
    """
    master = await asyncio.to_thread(settings.master_key if settings is not None else master_key_from_env)
    if master is not None and (not isinstance(store, MemoryStore) or store.keys is None):
        raise StorageError(
            f"A MEMORY_ENCRYPTION_KEY is set, and a {type(store).__name__} would keep memories in plain. Open the "
            "database by settings, without a store of your own, or unset the key."
        )


def refuse_unaudited(store: BaseStore, settings: StorageSettings | None = None) -> None:
    """Refuse a store that keeps no audit log where one is wanted.

    Args:
        store: A store that was not opened here.
        settings: Where it is said; the environment by default.

    Raises:
        StorageError: If a log is wanted, and the store keeps none.
    """
    said = os.environ.get("MEMORY_AUDIT", "").strip()
    # not all of the environment: who brings a store may have named no database
    wanted = (settings or StorageSettings.model_validate({"audit": said} if said else {})).audit
    if wanted and getattr(store, "audit", None) is None:
        raise StorageError(
            f"MEMORY_AUDIT=1 is set, and a {type(store).__name__} keeps no audit log: nobody could say who did what. "
            "Open the database by settings, without a store of your own, or unset it."
        )


@checked_calls
class OpenedMemory(MemoryFacade):
    """Memory that `open_memory` opened: the facade, which reads and writes, and what works over many turns."""

    async def learn(self, user_id: str, agent_id: str, tools: Collection[str]) -> Report:
        """Learn skills from what an agent did for a user lately, without a model; what is known already stays.

        Maintenance does the same by itself where an agent of a file has `learning: {skills: traces}`.

        Args:
            user_id: The owner: what is learnt from one user is kept for this one only.
            agent_id: The agent.
            tools: The names of the tools that it has: a skill takes no others.

        Returns:
            The texts of the skills that are new or have changed (`stored`), and of those that are given up (`retired`).
        """
        return await run(Learning(self, user_id, agent_id, tools))


@checked(policy="give a MemoryPolicy; a database is named by settings=StorageSettings(database_url=...)")
@asynccontextmanager
async def open_memory(
    policy: MemoryPolicy | None = None,
    *,
    store: BaseStore | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    settings: StorageSettings | None = None,
) -> AsyncIterator[OpenedMemory]:
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
        else:
            await refuse_unsealed(store, settings)
            refuse_unaudited(store, settings)
        try:
            yield OpenedMemory(store, policy, checkpointer=checkpointer)
        finally:
            await close_workers(store, CLOSING_SECONDS)
