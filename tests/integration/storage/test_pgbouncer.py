"""Behind PgBouncer in transaction mode each transaction may run on another connection of the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from psycopg import AsyncConnection

from react_mem.agents import open_agent
from react_mem.agents.agent_opening import ConfiguredRunners
from react_mem.memory.maintenance.worker import Worker
from react_mem.memory.model.namespaces import WORK
from react_mem.memory.opening import open_storage
from react_mem.memory.store import StorageSettings
from react_mem.memory.store.embeddings import EmbeddingModel
from tests.support.citus import one_server
from tests.support.databases import open_memory_store
from tests.support.pgbouncer import INSTALLED, pgbouncer

pytestmark = [
    one_server,
    pytest.mark.skipif(INSTALLED is None, reason="pgbouncer is not installed (Debian: apt install pgbouncer)"),
]

PATIENCE = 60


@pytest.fixture
async def pooled_url(database_url: str, tmp_path: Path) -> AsyncIterator[str]:
    async with pgbouncer(database_url, tmp_path) as url:
        yield url


async def test_sessions_are_shared(pooled_url: str) -> None:
    async with await AsyncConnection.connect(pooled_url, autocommit=True, prepare_threshold=None) as conn:
        seen = set()
        for _ in range(8):
            # two at a time, so that the pooler opens a second connection
            async with await AsyncConnection.connect(pooled_url, autocommit=True) as other, other.transaction():
                await other.execute("SELECT 1")
                [backend] = await (await conn.execute("SELECT pg_backend_pid()")).fetchall()
                seen.add(backend)
    assert len(seen) > 1


async def test_many_start_at_once_on_an_empty_database(pooled_url: str, words: EmbeddingModel) -> None:
    async def start(number: int) -> Any:
        async with open_memory_store(pooled_url, words) as store:
            await store.aput(("notes", str(number)), "tea", {"text": f"green tea {number}"})
            return await store.asearch(("notes", str(number)), query="green tea")

    found = await asyncio.gather(*map(start, range(5)))
    assert [[item.value["text"] for item in items] for items in found] == [[f"green tea {n}"] for n in range(5)]


async def test_turns_and_the_work_behind_them(pooled_url: str) -> None:
    settings = StorageSettings.model_validate({"database_url": pooled_url, "embedding": "local"})

    async def turn(user: str, thread: str, text: str) -> str:
        config: Any = {"configurable": {"thread_id": f"{user} {thread}"}}
        async with open_agent("assistant", settings=settings) as agent:
            result = await agent.ainvoke({"messages": [("user", text)]}, config, context={"user_id": user})
        return str(result["messages"][-1].content)

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(turn("ann", "1", "I live in Hue."), turn("bo", "1", "I live in Oslo."))
        async with open_storage(settings) as storage:
            worker = Worker(storage.memory, ConfiguredRunners(), poll_seconds=0.05)
            while await storage.store.asearch((WORK,), filter={"kind": "extract"}, limit=1):  # noqa: ASYNC110
                await asyncio.sleep(0.05)  # the interval of a poll
            await worker.close(5)
        answers = await asyncio.gather(*(turn(user, "2", "Where do I live?") for user in ("ann", "bo")))
    assert "Hue" in answers[0]
    assert "Oslo" in answers[1]
