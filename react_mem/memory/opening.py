"""Opening of storage and of the memory on it: the store, a vector store if one is set, and the checkpointer.

`open_store` is the store of `langgraph.json`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.base import BaseStore

from react_mem.errors import StorageError
from react_mem.memory.llm.causes import checked, checked_calls
from react_mem.memory.maintenance.runner import retain_all
from react_mem.memory.maintenance.worker import CLOSING_SECONDS, close_workers
from react_mem.memory.model.namespaces import encode
from react_mem.memory.model.policy import LegalHold, MemoryPolicy, RetentionSettings
from react_mem.memory.reflect.driver import Report, run
from react_mem.memory.reflect.skill_learner import Learning
from react_mem.memory.rights.holds import all_holds
from react_mem.memory.rights.receipts import public_half, public_key
from react_mem.memory.rights.retention import Retained
from react_mem.memory.store.audit_log import AuditEntry, AuditHead
from react_mem.memory.store.capabilities import capabilities
from react_mem.memory.store.checkpointer import ThreadSaver
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.key_ring import KeyRing, key_counts, rewrap
from react_mem.memory.store.migrations import StoredEmbedding, stored_embedding
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.postgres_server import connected, open_database
from react_mem.memory.store.resealing import Resealed, reseal, rotate
from react_mem.memory.store.room import Holder, Server, holders, server_of
from react_mem.memory.store.row_security import Pool
from react_mem.memory.store.storage_settings import StorageSettings, check_names
from react_mem.memory.write.text_calls import TextCalls
from react_mem.server_exposure import refuse_exposed_server

Count: TypeAlias = Callable[[int, int], None]  # told how many are done so far, and of how many


@dataclass(frozen=True)
class Storage:
    """Open storage: the store, the same for graphs and the facade (`memory`), and the threads.

    `memory` is searched in another vector store, where one is set.
    """

    store: MemoryStore
    memory: BaseStore
    checkpointer: AsyncPostgresSaver
    pool: Pool
    embedding: EmbeddingModel

    async def key_counts(self) -> dict[str, Any]:
        """Return the id of the master key and the numbers of data keys: in use, former, and by their wrapping keys."""
        ring = self.store.keys
        return {"master_key": ring.master.id if ring is not None else None, **(await key_counts(self.pool))._asdict()}

    async def wrap_keys(self, report: Count) -> tuple[str, int]:
        """Wrap all data keys by the master key in use; return its id and the number of keys."""
        master = self._ring.master
        return master.id, await rewrap(self.pool, master, report)

    async def renew_keys(self, report: Count) -> tuple[Resealed, datetime | None]:
        """Give every owner a new data key; return what was sealed, and the start of a rotation that went on."""
        return await rotate(self.pool, self._ring, report)

    async def seal_records(self, report: Count) -> Resealed:
        """Seal every plain record, and every one under a former data key."""
        return await reseal(self.pool, self._ring, report)

    @property
    def _ring(self) -> KeyRing:
        if self.store.keys is None:
            raise StorageError("No master key is set. Make one with `react-mem keys new`; see docs/encryption.md.")
        return self.store.keys

    async def holds(self) -> dict[str, list[LegalHold]]:
        """Return the legal holds on everybody, by owner."""
        return await all_holds(self.memory)

    async def retain(
        self, policies: Mapping[str, RetentionSettings], user_id: str | None, report: Count, *, dry_run: bool
    ) -> Retained:
        """Apply the retention of agents to a user, or to everybody; see `maintenance.runner.retain_all`."""
        return await retain_all(self.memory, self.checkpointer, policies, user_id, dry_run=dry_run, report=report)

    async def audit_entries(
        self, user_id: str | None = None, since: datetime | None = None
    ) -> AsyncIterator[tuple[int, AuditEntry]]:
        """Yield the entries of the audit log with their numbers, the oldest first."""
        assert self.store.audit is not None  # noqa: S101 - the settings ask for it
        owner = encode(user_id) if user_id else None
        async for entry in self.store.audit.entries(since=since, owner=owner):
            yield entry

    async def verify_audit(self, known: tuple[int, str] | None, report: Callable[[int, int], None]) -> tuple[int, str]:
        """Verify the audit log and return its end, a number and a hash; see `AuditLog.verify`."""
        assert self.store.audit is not None  # noqa: S101 - the settings ask for it
        return await self.store.audit.verify(AuditHead(*known) if known is not None else None, report)


@checked()
@asynccontextmanager
async def open_storage(settings: StorageSettings | None = None) -> AsyncIterator[Storage]:
    """Open the store and the checkpointer; start the embedded database if no other is configured.

    The settings are the environment's by default. The tables are brought up to date.

    Raises:
        StorageError: If it cannot be opened; the message names the cause and the fix.
    """
    async with open_database(settings, checkpoints=True) as store:
        memory = await _searched(store, settings)
        key = await store.keys.derive("checkpoints") if store.keys else None
        yield Storage(store, memory, ThreadSaver(store.pool, key), store.pool, store.embedding)


class DatabaseView(NamedTuple):
    """A look at a database: its server, the model of its vectors, and the users with memories, the latest first."""

    server: Server
    embedding: StoredEmbedding | None
    holders: list[Holder]


async def look_at(settings: StorageSettings) -> DatabaseView:
    """Return a view of a database by one connection, which migrates nothing; raise StorageError without one."""
    async with connected(settings) as conn:
        return DatabaseView(await server_of(conn), await stored_embedding(conn), await holders(conn))


async def receipt_key(settings: StorageSettings) -> str:
    """Return the public key of receipts: of the operator's own key, else of the database."""
    given = await asyncio.to_thread(settings.signing_key)
    if given is not None:
        # no database is needed for it
        return public_half(given)
    async with open_storage(settings) as storage:
        return await public_key(storage.store)


@asynccontextmanager
async def open_store() -> AsyncIterator[BaseStore]:
    """Open the store alone, as a LangGraph server does, which brings its own checkpointer.

    An ExposedServerError says that the server would serve everybody's memories to anybody.
    """
    refuse_exposed_server()
    async with open_database(None, checkpoints=False) as store:
        yield await _searched(store, None)


async def _searched(store: MemoryStore, settings: StorageSettings | None) -> BaseStore:
    """Return the store with the vector store of the settings, if they name one."""
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


async def refuse_unfit_store(store: BaseStore, settings: StorageSettings | None = None) -> None:
    """Refuse a foreign store without the encryption or the audit log of the settings (by default the environment's).

    Raises:
        StorageError: If there is a key and the store does not seal with one, or it keeps no wanted log.
    """
    if settings is None:
        check_names(os.environ)
        # not all of the environment: who brings a store may have named no database
        wanted = ("MEMORY_ENCRYPTION_KEY", "MEMORY_AUDIT")
        settings = StorageSettings.from_env({name: os.environ[name] for name in os.environ if name.startswith(wanted)})
    if await asyncio.to_thread(settings.master_key) is not None and capabilities(store).keys is None:
        raise StorageError(
            f"A MEMORY_ENCRYPTION_KEY is set, and a {type(store).__name__} would keep memories in plain. Open the "
            "database by settings, without a store of your own, or unset the key."
        )
    if settings.audit and capabilities(store).audit is None:
        raise StorageError(
            f"MEMORY_AUDIT=1 is set, and a {type(store).__name__} keeps no audit log: nobody could say who did what. "
            "Open the database by settings, without a store of your own, or unset it."
        )


@checked_calls
class OpenedMemory(TextCalls):
    """Memory opened by `open_memory`: the facade, memory by texts, and learning from many turns."""

    async def learn(self, user_id: str, agent_id: str, tools: Collection[str]) -> Report:
        """Learn skills from an agent's recent tasks for a user, without a model; known skills stay.

        Maintenance does the same by itself where an agent of a file has `learning: {skills: traces}`.

        Args:
            user_id: The owner: skills learnt from one user are kept for this one only.
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
            await memory.add("I live in Hue.", user_id="ann")
            found = await memory.search("Where does Ann live?", user_id="ann")

    Closing waits a few seconds for pending extraction, such as that of a `MemoryMiddleware`;
    unfinished work stays in the store, and is done the next time.

    Compile your graph with `memory.store` (and `memory.checkpointer`), so that both are on the same database.

    Args:
        policy: Policy of reading and writing; by default everything that costs nothing.
        store: Your own store: no database is opened.
        checkpointer: Keeps the threads of your graph, so that forgetting a user reaches them; of a database that is
            opened here it is that database's.

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
            await refuse_unfit_store(store, settings)
        try:
            yield OpenedMemory(store, policy, checkpointer=checkpointer)
        finally:
            await close_workers(store, CLOSING_SECONDS)
