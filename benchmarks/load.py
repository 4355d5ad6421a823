"""Many users at once: turns per second, latency, errors and memory of `react_mem`, `react` and `create_agent`.

    python -m benchmarks.load --json results/load.json [--users 10 50 200] [--turns 5]

Each user holds a conversation, asking the next question as soon as the last answer is there. Model and embedder answer
at once, so the runtime itself is loaded: one process with one event loop, on one database, with the shipped connections
and time limits. Background work of `react_mem` runs meanwhile, as shipped. Every user has memories from the start.
`create_agent` is LangChain's, without memory, on LangGraph's own checkpointer. Each measurement has a process of its
own, which also simulates the users.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from langchain.agents import create_agent
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from benchmarks.databases import database_server, opened
from benchmarks.loops import MANAGERS, SYSTEM_PROMPT
from benchmarks.measures import p50_p95, peak_rss_bytes
from benchmarks.progress import counted, interruptible
from benchmarks.report import Command, Metrics, print_table, write_rows
from benchmarks.stand_ins import HashEmbeddings, InstantModel, in_bulk, memories, question, write
from react_mem.agents.config import AgentConfig
from react_mem.agents.context import AgentContext
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.maintenance.worker import close_workers, drain
from react_mem.memory.model.namespaces import WORK
from react_mem.memory.model.operations import put
from react_mem.memory.opening import Storage

PEER = "create_agent"
_BEHIND_SECONDS = 300.0
_WORK_ITEMS = 100_000

_KNOWN = 20
"""Memories of a user that are asked about in turn."""
Say = Callable[[str, str], AsyncIterator[dict[str, Any]]]
"""From user and question to the stream: an event of ours, or one with a `token`."""


@dataclass
class Tally:
    """Results of turns: milliseconds, errors, and the number of degraded turns."""

    turns: list[float] = field(default_factory=list)
    first_tokens: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    degraded: int = 0

    async def turn(self, streamed: AsyncIterator[dict[str, Any]]) -> None:
        start, first, degraded = time.perf_counter(), 0.0, False
        try:
            async for event in streamed:
                if event["type"] == "token" and not first:
                    first = time.perf_counter()
                degraded |= event.get("status") == "degraded"
        except Exception as error:
            # a server under load fails in many ways, and each is a result
            self.errors.append(f"{type(error).__name__}: {error}"[:200])
            return
        self.degraded += degraded
        self.turns.append((time.perf_counter() - start) * 1000)
        self.first_tokens.append((first - start) * 1000)


async def talk(say: Say, users: int, turns: int) -> Metrics:
    tally = Tally()

    async def converse(user_id: str) -> None:
        known = [record.text for _, record in memories(user_id, _KNOWN)]
        for turn in range(turns):
            await tally.turn(say(user_id, question(turn, known[turn % len(known)])))

    start = time.perf_counter()
    await asyncio.gather(*(converse(user_name(number)) for number in range(users)))
    seconds = time.perf_counter() - start
    for error in dict.fromkeys(tally.errors):
        print(f"{tally.errors.count(error)} x {error}")
    return {
        "turns": len(tally.turns),
        "turns_per_s": round(len(tally.turns) / seconds, 1),
        **p50_p95("turn", tally.turns or [0.0]),
        **p50_p95("first_token", tally.first_tokens or [0.0]),
        "errors": len(tally.errors),
        "degraded": tally.degraded,
    }


def user_name(number: int) -> str:
    return f"user-{number}"


def measure(system: str, users: int, turns: int, url: str) -> Metrics:
    return asyncio.run(_measured(system, users, turns, url))


async def _measured(system: str, users: int, turns: int, url: str) -> Metrics:
    agent = f"benchmark-{users}"
    async with opened(url, HashEmbeddings()) as storage:
        model = InstantModel()
        graph = _graph(system, agent, storage, model)

        async def say(user_id: str, said: str) -> AsyncIterator[dict[str, Any]]:
            streamed: Any = graph.astream(
                {"messages": [("user", said)]},
                {"configurable": {"thread_id": f"{system} {users} {user_id}"}},
                context=AgentContext(user_id=user_id),
                stream_mode=["messages", "custom"],
            )
            async for mode, part in streamed:
                yield {"type": "token"} if mode == "messages" else part
            model.asked.clear()

        await Tally().turn(say(f"warm-up of {system}", "Hello."))
        await drain(_BEHIND_SECONDS)
        storage.pool.pop_stats()
        computed = time.process_time()
        found = await talk(say, users, turns)
        cpu_ms = (time.process_time() - computed) * 1000 / max(1, found["turns"])
        behind = await _behind(storage, agent)
        stats = storage.pool.get_stats()
        await close_workers(storage.store, 0)
    return {
        **found,
        **behind,
        "pool_requests": stats.get("requests_num", 0),
        "pool_waits": stats.get("requests_queued", 0),
        "pool_wait_ms": stats.get("requests_wait_ms", 0),
        "pool_errors": stats.get("requests_errors", 0),
        "pool_requests_a_turn": round(stats.get("requests_num", 0) / max(1, found["turns"]), 2),
        "peak_rss_bytes": peak_rss_bytes(),
        "cpu_ms": round(cpu_ms, 2),
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


async def _behind(storage: Storage, agent: str) -> Metrics:
    """Return the remaining background work, and the time to finish it."""
    start = time.perf_counter()
    wanted = {"agent": agent, "kind": "extract"}
    left = len(await storage.store.asearch((WORK,), filter=wanted, limit=_WORK_ITEMS, refresh_ttl=False))
    if not await drain(_BEHIND_SECONDS):
        raise RuntimeError(f"what is done behind the turns took more than {_BEHIND_SECONDS:.0f} seconds")
    return {"behind_left": left, "behind_s": round(time.perf_counter() - start, 2)}


USERS = (10, 50, 200)
MEMORIES = 100
"""Of each user."""

COLUMNS = (
    *("turns_per_s", "first_token_p50_ms", "first_token_p95_ms", "turn_p95_ms", "errors", "degraded"),
    *("pool_requests_a_turn", "pool_wait_ms", "cpu_ms", "behind_left", "behind_s", "peak_rss_bytes"),
)


async def measured(users: Sequence[int], turns: int) -> dict[str, Metrics]:
    found: dict[str, Metrics] = {}
    names = map(user_name, range(max(users)))
    kept = (put(name, record) for name in names for _, record in memories(name, MEMORIES))
    async with database_server() as url:
        async with opened(url, HashEmbeddings()) as storage, in_bulk(storage.pool):
            await write(MemoryFacade(storage.store), kept)
        runs = [(number, system) for number in users for system in (*MANAGERS, PEER)]
        for number, system in counted(runs, "Serving crowds", "crowds"):
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
                job = alone.submit(measure, system, number, turns, url)
                found[f"{system}.{number}"] = await asyncio.wrap_future(job)
    return found


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    command = Command("load", __doc__)
    command.add_argument("--users", type=int, nargs="+", default=USERS, help="users at once")
    command.add_argument("--turns", type=int, default=5, help="turns of each user")
    told = command.parse_args(argv)
    found = asyncio.run(measured(told.users, told.turns))
    print_table("Users at once", COLUMNS, found)
    write_rows(told.json, found, [PEER], {**vars(told), "memories": MEMORIES})


if __name__ == "__main__":
    main()
