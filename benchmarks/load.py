"""Many users at once: turns a second, waiting, errors and memory of `react_mem` beside `react`.

    python -m benchmarks.load --json results/load.json [--users 10 50 200] [--turns 5] [--server]

Each user holds a conversation of their own, the next question as soon as the last answer is there. The model answers
at once and the embedder takes no time, so that the runtime itself is what is loaded: one process with one event loop,
on one database, with the connections and the time limits that are shipped. What `react_mem` does behind the turns is
done while they go on, as it is shipped. Every user has memories from the start.

With `--server` also over HTTP, on one `langgraph dev`, with the shipped agents and the built-in model. The server keeps
its threads in memory, and runs ten turns at once; what is more waits.

Each measurement has a process of its own. Who asks shares the machine with who answers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.filling import fill, in_bulk, memories
from benchmarks.load_server import STATS, resources
from benchmarks.locomo.metrics import percentile
from benchmarks.loops import MANAGERS, SYSTEM_PROMPT
from benchmarks.report import environment, print_table, write_json
from benchmarks.stand_ins import HashEmbeddings, InstantModel, embed_with, question
from react_mem.agents.config import AgentConfig
from react_mem.agents.context import AgentContext
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.maintenance.worker import drain
from react_mem.memory.opening import open_storage
from react_mem.memory.store import StorageSettings
from react_mem.memory.store.embedded import embedded_database
from tests.support.dev_server import DevServer

USERS = (10, 50, 200)
MEMORIES = 100
"""Of each user."""

COLUMNS = (
    "turns_per_s",
    "first_token_p50_ms",
    "turn_p50_ms",
    "turn_p95_ms",
    "errors",
    "degraded",
    "pool_waits",
    "pool_wait_ms",
    "behind_s",
    "peak_rss_bytes",
)
_BEHIND_SECONDS = 300.0

Metrics = dict[str, float]
Say = Callable[[str, str, str], AsyncIterator[dict[str, Any]]]
"""From the user, the thread and the question to what is streamed: an event of ours, or one with a `token`."""


@dataclass
class Tally:
    """Results of the turns.

    Args:
        turns: Milliseconds of each.
        first_tokens: Milliseconds until its first word.
        errors: Turns that failed.
        degraded: Turns that were answered without memory, or not stored, because memory was too slow or failed.
    """

    turns: list[float] = field(default_factory=list)
    first_tokens: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    degraded: int = 0

    async def turn(self, streamed: AsyncIterator[dict[str, Any]]) -> None:
        """Wait for a turn."""
        start = time.perf_counter()
        first = 0.0
        degraded = False
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

    def metrics(self, seconds: float) -> Metrics:
        """Return the result of a run that took so long."""
        times = {"turn": self.turns or [0.0], "first_token": self.first_tokens or [0.0]}
        return {
            "turns_per_s": round(len(self.turns) / seconds, 1),
            **{f"{name}_p50_ms": percentile(values, 50) for name, values in times.items()},
            **{f"{name}_p95_ms": percentile(values, 95) for name, values in times.items()},
            "errors": len(self.errors),
            "degraded": self.degraded,
        }


async def all_at_once(users: int, turns: int, say: Say) -> Metrics:
    """Let so many users hold a conversation of so many turns each."""
    tally = Tally()

    async def converse(number: int) -> None:
        user_id = user_name(number)
        known = [record.text for _, record in memories(user_id, turns)]
        for turn in range(turns):
            await tally.turn(say(user_id, f"{user_id} talks", question(turn, known[turn])))

    start = time.perf_counter()
    await asyncio.gather(*map(converse, range(users)))
    metrics = tally.metrics(time.perf_counter() - start)
    for error in dict.fromkeys(tally.errors):
        print(f"{tally.errors.count(error)} x {error}")
    return metrics


def user_name(number: int) -> str:
    """Return who the user of this number is."""
    return f"user-{number}"


async def in_process(manager: str, users: int, turns: int, url: str) -> Metrics:
    """Measure one manager in this process."""
    settings = StorageSettings.model_validate({"database_url": url, "embedding": "local"})
    async with open_storage(settings) as storage:
        embed_with(storage.store, HashEmbeddings())
        config = AgentConfig(name="benchmark", manager=manager, system_prompt=SYSTEM_PROMPT)
        agent = resolve_agent(config, model=InstantModel(), small_model=InstantModel())
        graph = build_agent(agent, store=storage.store, checkpointer=storage.checkpointer)

        async def say(user_id: str, thread: str, said: str) -> AsyncIterator[dict[str, Any]]:
            streamed: Any = graph.astream(
                {"messages": [("user", said)]},
                {"configurable": {"thread_id": f"{manager} {users} {thread}"}},
                context=AgentContext(user_id=user_id),
                stream_mode=["messages", "custom"],
            )
            async for mode, part in streamed:
                yield {"type": "token"} if mode == "messages" else part

        await Tally().turn(say("somebody", "warm-up", "Hello."))
        metrics = await all_at_once(users, turns, say)
        start = time.perf_counter()
        if not await drain(_BEHIND_SECONDS):
            raise RuntimeError(f"what is done behind the turns took more than {_BEHIND_SECONDS:.0f} seconds")
        return {**metrics, "behind_s": round(time.perf_counter() - start, 2), **resources(storage.pool)}


async def on_server(manager: str, users: int, turns: int, url: str) -> Metrics:
    """Measure one manager on a server of its own."""
    with tempfile.TemporaryDirectory() as folder:
        stats = Path(folder) / "stats.json"
        config = {"store": {"path": "benchmarks.load_server.open_stand_in_store"}}
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
            metrics = await all_at_once(users, turns, say)
        finally:
            await asyncio.to_thread(server.stop)
        return {**metrics, **json.loads(stats.read_text(encoding="utf-8"))}


Runner = Callable[[str, int, int, str], Awaitable[Metrics]]


def _alone(runner: Runner, *arguments: Any) -> Metrics:
    async def run() -> Metrics:
        return await runner(*arguments)

    return asyncio.run(run())


async def measure(levels: Sequence[int], turns: int, *, server: bool) -> dict[str, Metrics]:
    """Measure both managers for each number of users, by `manager.users` and `manager.server.users`."""
    runners: dict[str, Runner] = {"": in_process, **({"server.": on_server} if server else {})}
    found: dict[str, Metrics] = {}
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        async with embedded_database(Path(folder) / "postgres") as url:
            await _fill(url, max(levels))
            for where, runner in runners.items():
                for users in levels:
                    for manager in MANAGERS:
                        with ProcessPoolExecutor(1, context) as alone:
                            job = asyncio.wrap_future(alone.submit(_alone, runner, manager, users, turns, url))
                            found[f"{manager}.{where}{users}"] = await job
    return found


async def _fill(url: str, users: int) -> None:
    settings = StorageSettings.model_validate({"database_url": url, "embedding": "local"})
    async with open_storage(settings) as storage:
        embed_with(storage.store, HashEmbeddings())
        async with in_bulk(storage.pool):
            for number in range(users):
                await fill(MemoryFacade(storage.store), user_name(number), MEMORIES)


def _print(found: Mapping[str, Metrics], turns: int) -> None:
    rows = {name: {column: row.get(column, 0) for column in COLUMNS} for name, row in found.items()}
    print_table(f"Users at once, {turns} turns each", COLUMNS, rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print and write.

    Args:
        argv: The arguments; by default those of the process.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, required=True, help="the file to write the numbers to")
    parser.add_argument("--users", type=int, nargs="+", default=USERS, help="users at once (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=5, help="turns of each user (default: %(default)s)")
    parser.add_argument("--server", action="store_true", help="measure one `langgraph dev` too")
    arguments = parser.parse_args(argv)
    load = [os.getloadavg()[0]]
    found = asyncio.run(measure(arguments.users, arguments.turns, server=arguments.server))
    _print(found, arguments.turns)
    metrics = {f"{what}.{name}": value for what, row in found.items() for name, value in row.items()}
    load.append(os.getloadavg()[0])
    told = {"users": list(arguments.users), "turns": arguments.turns, "memories": MEMORIES}
    write_json(arguments.json, metrics, {}, {**environment(), **told, "load_average": load})


if __name__ == "__main__":
    main()
