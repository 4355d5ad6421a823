"""The store of a server under load: the project's own, with an embedder that takes no time, and what it came to.

`benchmarks.load` points the `langgraph.json` of its server here.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from benchmarks.locomo.memory_use import peak_rss_bytes
from benchmarks.stand_ins import HashEmbeddings, embed_with
from react_mem.memory.opening import open_store
from react_mem.memory.store.postgres import MemoryStore, Pool

STATS = "BENCHMARK_STATS"
"""The variable that names the file for what it came to."""


@asynccontextmanager
async def open_stand_in_store() -> AsyncIterator[MemoryStore]:
    """Open the store; at the end, write what its pool and the process came to."""
    async with open_store() as opened:
        store = cast("MemoryStore", opened)  # no vector store of another is configured
        embed_with(store, HashEmbeddings())
        yield store
        stats = json.dumps(resources(store.pool))
        await asyncio.to_thread(Path(os.environ[STATS]).write_text, stats, encoding="utf-8")


def resources(pool: Pool) -> dict[str, float]:
    """Return how often and how long connections were waited for, and the most memory this process took."""
    stats = pool.get_stats()
    return {
        "pool_requests": stats.get("requests_num", 0),
        "pool_waits": stats.get("requests_queued", 0),
        "pool_wait_ms": stats.get("requests_wait_ms", 0),
        "pool_errors": stats.get("requests_errors", 0),
        "peak_rss_bytes": peak_rss_bytes(),
    }
