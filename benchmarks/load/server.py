"""One manager on one `langgraph dev`, whose store is the project's own with an embedder that takes no time.

The `langgraph.json` of that server points here.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from benchmarks.load.tally import Crowd, Metrics, Tally
from benchmarks.locomo.memory_use import peak_rss_bytes
from benchmarks.stand_ins import HashEmbeddings, embed_with
from react_mem.memory.opening import open_store
from react_mem.memory.store.postgres import MemoryStore, Pool
from tests.support.dev_server import DevServer

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


async def on_server(manager: str, crowd: Crowd, url: str) -> Metrics:
    """Measure one manager on a server of its own."""
    with tempfile.TemporaryDirectory() as folder:
        stats = Path(folder) / "stats.json"
        config = {"store": {"path": "benchmarks.load.server.open_stand_in_store"}}
        configured = {"DATABASE_URL": url, "EMBEDDING_MODEL": "local", STATS: str(stats), "LOG_LEVEL": "WARNING"}
        server = DevServer(Path(folder), configured, config)
        await asyncio.to_thread(server.start)
        try:

            async def say(user_id: str, thread: str, said: str) -> AsyncIterator[dict[str, Any]]:
                if thread not in threads:
                    # a client each: they share no connections, as users do not
                    client = server.client()
                    threads[thread] = client, (await client.threads.create())["thread_id"]
                client, thread_id = threads[thread]
                given: Any = {"messages": [{"role": "user", "content": said}]}
                async for part in client.runs.stream(
                    thread_id,
                    manager,
                    input=given,
                    context={"user_id": user_id},
                    stream_mode=["messages-tuple", "custom"],
                ):
                    if part.event == "error":
                        raise RuntimeError(part.data)
                    if part.event in ("messages", "custom"):
                        yield {"type": "token"} if part.event == "messages" else part.data

            threads: dict[str, Any] = {}
            await Tally().turn(say("somebody", "warm-up", "Hello."))
            tally = await crowd.talk(say)
        finally:
            await asyncio.to_thread(server.stop)
        return {**tally.metrics(), **json.loads(stats.read_text(encoding="utf-8"))}
