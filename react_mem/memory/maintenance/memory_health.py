"""Health of the memory of a server, for its administrators: the database, the embedder, the queue and the workers."""

from __future__ import annotations

import time
from datetime import datetime

from langgraph.store.base import BaseStore
from pydantic import BaseModel, Field

from react_mem.memory.llm.causes import cause_of
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.statistics import server_of, waiting_of


class PartHealth(BaseModel):
    """Health of a part."""

    ok: bool
    detail: str = Field("", description="What it is, or why it does not work.")
    seconds: float | None = Field(None, description="What it took to ask it.")


class QueueHealth(BaseModel):
    """State of the turns of all users that wait."""

    waiting: int
    failed: int = Field(description="Those that were tried in vain.")
    parked: int = Field(description="Those that are not tried any more.")
    oldest: datetime | None = Field(description="Since when the first one waits.")


class MemoryHealth(BaseModel):
    """Health of the memory of a server."""

    database: PartHealth
    embedder: PartHealth
    worker: PartHealth
    queue: QueueHealth | None = Field(description="Null where the database does not answer.")


async def check_health(store: BaseStore, *, works: bool) -> MemoryHealth:
    """Return how the memory of this process is. The embedder is asked for one vector.

    Args:
        store: The store of the server.
        works: Whether a worker of this process does what is to be done behind the turns.
    """
    told = "in this process" if works else "none in this process: `react-mem worker` may do its work"
    worker = PartHealth(ok=works, detail=told)
    if not isinstance(store, MemoryStore):
        unknown = PartHealth(ok=True, detail=f"a {type(store).__name__}, which tells nothing of itself")
        return MemoryHealth(database=unknown, embedder=unknown, worker=worker, queue=None)
    queue, database = None, PartHealth(ok=False)
    try:
        async with store.pool.connection() as conn:
            server, waiting = await server_of(conn), await waiting_of(conn)
        told = f"PostgreSQL {server.version}, {server.connections} of {server.limit} connections"
        database = PartHealth(ok=True, detail=told, seconds=server.seconds)
        queue = QueueHealth(
            waiting=waiting.waiting, failed=waiting.failed, parked=waiting.parked, oldest=waiting.oldest
        )
    except Exception as error:  # whatever a driver raises: that it fails is the answer
        database = PartHealth(ok=False, detail=cause_of(error))
    return MemoryHealth(database=database, embedder=await _embedder(store), worker=worker, queue=queue)


async def _embedder(store: MemoryStore) -> PartHealth:
    started = time.perf_counter()
    try:
        await store.embedding.embeddings.aembed_query("hello")
    except Exception as error:  # whatever an embedder's client raises
        return PartHealth(ok=False, detail=cause_of(error), seconds=time.perf_counter() - started)
    return PartHealth(ok=True, detail=store.embedding.name, seconds=time.perf_counter() - started)
