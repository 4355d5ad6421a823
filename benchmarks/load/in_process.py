"""One system in a process of its own, with the users that it serves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from langchain.agents import create_agent
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from benchmarks.databases import opened
from benchmarks.load.crowd import Crowd, Metrics, Tally
from benchmarks.loops import SYSTEM_PROMPT
from benchmarks.measures import peak_rss_bytes
from benchmarks.stand_ins import HashEmbeddings, InstantModel
from react_mem.agents.config import AgentConfig
from react_mem.agents.context import AgentContext
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.maintenance.worker import close_workers, drain
from react_mem.memory.model.namespaces import WORK
from react_mem.memory.opening import Storage

PEER = "create_agent"
_BEHIND_SECONDS = 300.0
_WORK_ITEMS = 100_000


def measure(system: str, name: str, crowd: Crowd, url: str) -> Metrics:
    """Measure `react`, `react_mem` or `create_agent`; each measurement has conversations and work of its own."""
    return asyncio.run(_measured(system, name, crowd, url))


async def _measured(system: str, name: str, crowd: Crowd, url: str) -> Metrics:
    agent = f"benchmark-{name.replace('.', '-')}"
    async with opened(url, HashEmbeddings()) as storage:
        model = InstantModel()
        graph = _graph(system, agent, storage, model)

        async def say(user_id: str, thread: str, said: str) -> AsyncIterator[dict[str, Any]]:
            streamed: Any = graph.astream(
                {"messages": [("user", said)]},
                {"configurable": {"thread_id": f"{system} {name} {thread}"}},
                context=AgentContext(user_id=user_id),
                stream_mode=["messages", "custom"],
            )
            async for mode, part in streamed:
                yield {"type": "token"} if mode == "messages" else part
            model.asked.clear()

        await Tally().turn(say(f"warm-up of {system}", name, "Hello."))
        await drain(_BEHIND_SECONDS)
        storage.pool.pop_stats()
        computed = time.process_time()
        tally = await crowd.talk(say)
        turns = max(1, len(tally.turns))
        cpu_ms = round((time.process_time() - computed) * 1000 / turns, 2)
        behind = await _behind(storage, agent, crowd)
        stats = storage.pool.get_stats()
        await close_workers(storage.store, 0)
        return {
            **tally.metrics(),
            **behind,
            "pool_requests": stats.get("requests_num", 0),
            "pool_waits": stats.get("requests_queued", 0),
            "pool_wait_ms": stats.get("requests_wait_ms", 0),
            "pool_errors": stats.get("requests_errors", 0),
            "pool_requests_a_turn": round(stats.get("requests_num", 0) / turns, 2),
            "peak_rss_bytes": peak_rss_bytes(),
            "cpu_ms": cpu_ms,
        }


def _graph(system: str, name: str, storage: Storage, model: InstantModel) -> Any:
    if system == PEER:
        # as LangGraph ships it, which lets in one write at a time
        saver = AsyncPostgresSaver(storage.pool)
        return create_agent(
            model, [], system_prompt=SYSTEM_PROMPT, context_schema=AgentContext, checkpointer=saver, name="peer"
        )
    config = AgentConfig(name=name, manager=system, system_prompt=SYSTEM_PROMPT)
    agent = resolve_agent(config, model=model, small_model=InstantModel())
    return build_agent(agent, store=storage.store, checkpointer=storage.checkpointer)


async def _behind(storage: Storage, agent: str, crowd: Crowd) -> Metrics:
    """Return how much work is left behind the turns; and without a pause how long it takes to do."""
    start = time.perf_counter()
    wanted = {"agent": agent, "kind": "extract"}
    left = len(await storage.store.asearch((WORK,), filter=wanted, limit=_WORK_ITEMS, refresh_ttl=False))
    if not crowd.pause and not await drain(_BEHIND_SECONDS):
        raise RuntimeError(f"what is done behind the turns took more than {_BEHIND_SECONDS:.0f} seconds")
    return {"behind_left": left, "behind_s": round(time.perf_counter() - start, 2)}
