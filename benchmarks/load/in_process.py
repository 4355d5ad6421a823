"""One system in a process of its own, with the users that it serves; or in several processes behind one database."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

from langchain.agents import create_agent
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from benchmarks.load.server import resources
from benchmarks.load.tally import Crowd, Metrics, Tally
from benchmarks.loops import SYSTEM_PROMPT
from benchmarks.stand_ins import HashEmbeddings, InstantModel, embed_with
from react_mem.agents.config import AgentConfig
from react_mem.agents.context import AgentContext
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.maintenance.worker import close_workers, drain
from react_mem.memory.model.namespaces import WORK
from react_mem.memory.opening import Storage, open_storage
from react_mem.memory.store import StorageSettings

PEER = "create_agent"
_BEHIND_SECONDS = 300.0
_READY_SECONDS = 120.0
_WORK_ITEMS = 100_000

_ready: Any = None
"""A barrier: the processes of one measurement wait for each other."""


async def measure(system: str, name: str, crowd: Crowd, url: str, processes: int) -> Metrics:
    """Measure a system in new processes that share the users.

    Args:
        system: `react`, `react_mem` or `create_agent`.
        name: What is measured; each measurement has conversations and work of its own.
        crowd: The users.
        url: The database.
        processes: How many there are.
    """
    context = multiprocessing.get_context("spawn")
    shares = [replace(crowd, users=crowd.users[number::processes]) for number in range(processes)]
    async with AsyncExitStack() as stack:
        initargs = (context.Barrier(processes),)
        alone = [
            stack.enter_context(ProcessPoolExecutor(1, context, initializer=_meet, initargs=initargs)) for _ in shares
        ]
        jobs = [
            asyncio.wrap_future(executor.submit(_run, system, name, share, url))
            for executor, share in zip(alone, shares, strict=True)
        ]
        return together(await asyncio.gather(*jobs))


def _meet(ready: Any) -> None:
    global _ready
    _ready = ready


def together(found: Sequence[tuple[Tally, Metrics]]) -> Metrics:
    """Return what processes came to that ran side by side: the turns of each, and what it spent."""
    tally = sum((tally for tally, _ in found), Tally())
    spent = [spent for _, spent in found]
    most = ("peak_rss_bytes", "behind_s", "behind_left")
    used = {key: max(s[key] for s in spent) if key in most else sum(s[key] for s in spent) for key in spent[0]}
    turns = max(1, len(tally.turns))
    a_turn = {"pool_requests_a_turn": round(used["pool_requests"] / turns, 2)}
    return {**tally.metrics(), **used, **a_turn, "cpu_ms": round(used["cpu_ms"] / turns, 2)}


def _run(system: str, name: str, crowd: Crowd, url: str) -> tuple[Tally, Metrics]:
    return asyncio.run(_measured(system, name, crowd, url))


async def _measured(system: str, name: str, crowd: Crowd, url: str) -> tuple[Tally, Metrics]:
    settings = StorageSettings.model_validate({"database_url": url, "embedding": "local"})
    agent = f"benchmark-{name.replace('.', '-')}"
    async with open_storage(settings) as storage:
        embed_with(storage.store, HashEmbeddings())
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
        await asyncio.to_thread(_ready.wait, _READY_SECONDS)
        storage.pool.pop_stats()
        computed = time.process_time()
        tally = await crowd.talk(say)
        cpu_ms = (time.process_time() - computed) * 1000
        behind = await _behind(storage, agent, crowd)
        spent = {**behind, **resources(storage.pool), "cpu_ms": cpu_ms}
        await close_workers(storage.store, 0)
        return tally, spent


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
