"""The watched server: the project's own store with a watch on its event loop, and a peer's graph.

The `langgraph.json` of `benchmarks.waiting` points here.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore

from react_mem.memory.opening import open_store

STATS = "BENCHMARK_STATS"
"""Environment variable with the file for the stalls."""

_TICK = 0.005
"""Seconds between two looks at the loop."""


@asynccontextmanager
async def open_watched_store() -> AsyncIterator[BaseStore]:
    """Open the store as the shipped langgraph.json does; write the stalls of the loop at the end.

    A server opens its store in each thread that runs graphs, with a loop of its own: a file each.
    """
    stalls_ms: list[float] = []
    async with open_store() as store:
        task = asyncio.create_task(_watch(stalls_ms))
        try:
            yield store
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        stats = Path(f"{os.environ[STATS]}.{threading.get_ident()}")
        await asyncio.to_thread(stats.write_text, json.dumps(stalls_ms), encoding="utf-8")


async def _watch(stalls_ms: list[float]) -> None:
    """Record the milliseconds by which computation in the loop's own thread delayed it.

    A delay while others had the processor does not count: the delay is bounded by the thread's own processor time.
    """
    while True:
        due, computed = time.perf_counter() + _TICK, time.thread_time()
        await asyncio.sleep(_TICK)
        late = min(time.perf_counter() - due, time.thread_time() - computed)
        stalls_ms.append(max(late, 0.0) * 1000)


def peer() -> Any:
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    return create_agent(ChatOpenAI(model="scripted"), tools=[], system_prompt="You help.")
