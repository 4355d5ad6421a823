"""The first token on a server while memory is at work on earlier turns, beside the same agent without that work."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph_sdk.client import LangGraphClient

from benchmarks.databases import new_database
from benchmarks.measures import p50_p95
from benchmarks.stand_ins import proposal, words
from benchmarks.waiting.server import STATS
from tests.support.dev_server import DevServer
from tests.support.openai_server import Match, OpenAIServer, Reply, Request

USERS = ("ann", "bob")
LONG_CHARS = 150_000
"""Of the last message of each user: a pasted document."""

_AGENTS = {"remembers": "background", "off": "off"}
"""Background work of each agent behind a turn."""

_SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "react_mem": ("agent", {"agent": "remembers"}),
    "off": ("agent", {"agent": "off"}),
    "create_agent": ("peer", {}),
}
"""By name, the graph that is run and what the runs are told beside the user."""

Metrics = dict[str, float]


@dataclass
class Served:
    """One system on a server of its own.

    Args:
        context: What the runs are told beside the user.
        first_tokens_ms: Of each turn.
        degraded: Events that tell that memory was missing.
    """

    graph: str
    context: dict[str, Any]
    server: DevServer
    folder: Path
    first_tokens_ms: list[float] = field(default_factory=list)
    degraded: int = 0
    _threads: dict[str, tuple[LangGraphClient, str]] = field(default_factory=dict)

    async def turn(self, user: str, said: str, *, counts: bool = True) -> None:
        """Run a turn of a user, up to its end."""
        if user not in self._threads:
            client = self.server.client()
            self._threads[user] = client, (await client.threads.create())["thread_id"]
        client, thread = self._threads[user]
        start, first = time.perf_counter(), 0.0
        given: Any = {"messages": [{"role": "user", "content": said}]}
        async for part in client.runs.stream(
            thread,
            self.graph,
            input=given,
            context={**self.context, "user_id": user},
            stream_mode=["messages-tuple", "custom"],
        ):
            if part.event == "error":
                raise RuntimeError(part.data)
            if part.event == "messages" and not first and part.data[0].get("content"):
                first = time.perf_counter()
            self.degraded += part.event == "custom" and part.data.get("status") == "degraded"
        if counts:
            self.first_tokens_ms.append((first - start) * 1000)

    def metrics(self) -> Metrics:
        """Return what the turns came to; the server has ended."""
        files = self.folder.glob("stats.json.*")
        stalls = [stall for file in files for stall in json.loads(file.read_text(encoding="utf-8"))]
        return {
            **p50_p95("first_token", self.first_tokens_ms),
            "loop_stall_ms_max": round(max(stalls), 1),
            "loop_stalls_over_20ms": sum(stall > 20 for stall in stalls),
            "degraded": self.degraded,
        }


async def measure(database_server: str, folder: Path, turns: int, seconds: float) -> dict[str, Metrics]:
    """Talk to all systems in turn: the same words, one turn each, one after the other.

    Each has a server of its own, so that the work of one is in nobody else's way; they share the machine.

    Args:
        database_server: Where each system has a database of its own.
        folder: An empty folder.
        turns: How many turns of each system count.
        seconds: How long the model takes to draw facts from a turn.
    """
    with OpenAIServer() as model:

        def draws(request: Request) -> Reply:
            return Reply(json=proposal(request.last), delay=seconds)

        model.add(Reply(text="They spoke of many things."), when=Match(contains="You sum up"), repeat=True)
        model.add(draws, when=Match(schema=True), repeat=True)
        model.add(Reply(text="Noted, and what else is there to tell?"), repeat=True)
        agents = _agents(folder / "agents")
        environment = {
            "EMBEDDING_MODEL": "local",
            "OPENAI_BASE_URL": model.base_url,
            "OPENAI_API_KEY": "none",
            "REACT_MEM_AGENTS": str(agents),
            "LOG_LEVEL": "WARNING",
        }
        async with AsyncExitStack() as stack:
            systems = {}
            for name, (graph, context) in _SYSTEMS.items():
                own = {**environment, "DATABASE_URL": await new_database(database_server, f"waiting_{name}")}
                (folder / name).mkdir()
                systems[name] = await stack.enter_async_context(_served(graph, context, folder / name, own))
            for user in USERS:
                for system in systems.values():
                    await system.turn(user, "Hello.", counts=False)
            for number in range(turns):
                said = f"I keep {words(f'kept {number}', 8)}. What did I say about {words(f'asked {number}', 3)}?"
                for system in systems.values():
                    await system.turn(USERS[number % len(USERS)], said)
            for user in USERS:
                pasted = f"I keep {words('pasted', 8)}. {words('document', LONG_CHARS // 5)}"[:LONG_CHARS]
                for system in systems.values():
                    await system.turn(user, pasted, counts=False)
            # what is drawn from the pasted texts is watched too
            await asyncio.sleep(2 * seconds + 5)
        return {name: system.metrics() for name, system in systems.items()}


def _agents(folder: Path) -> Path:
    folder.mkdir()
    for name, extraction in _AGENTS.items():
        config = {"manager": "react_mem", "memory": {"extraction": {"mode": extraction, "debounce": 0.1}}}
        (folder / f"{name}.yaml").write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
    return folder


@asynccontextmanager
async def _served(
    graph: str, context: dict[str, Any], folder: Path, environment: dict[str, str]
) -> AsyncIterator[Served]:
    store = {"store": {"path": "benchmarks.waiting.server.open_watched_store"}}
    server = DevServer(folder, {**environment, STATS: str(folder / "stats.json")}, store)
    config = json.loads((folder / "langgraph.json").read_text(encoding="utf-8"))
    config["graphs"]["peer"] = f"{Path(__file__).with_name('server.py')}:peer"
    (folder / "langgraph.json").write_text(json.dumps(config), encoding="utf-8")
    await asyncio.to_thread(server.start)
    try:
        yield Served(graph, context, server, folder)
    finally:
        await asyncio.to_thread(server.stop)
