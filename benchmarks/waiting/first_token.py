"""The first token on a server while memory is at work on earlier turns, beside the same agent without that work."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph_sdk.client import LangGraphClient

from benchmarks.locomo.databases import new_database
from benchmarks.locomo.metrics import percentile
from benchmarks.stand_ins import proposal, words
from benchmarks.waiting.server import STATS
from tests.support.dev_server import DevServer
from tests.support.openai_server import Match, OpenAIServer, Reply, Request

USERS = ("ann", "bob")
LONG_CHARS = 150_000
"""Of the last message of each user: a pasted document."""

_AGENTS = {"remembers": "background", "off": "off"}
"""Background work of each agent behind a turn."""

_HERE = Path(__file__).parent

Metrics = dict[str, float]


@dataclass
class Served:
    """One system on a server of its own.

    Args:
        graph: The graph that is run.
        context: What the runs are told beside the user.
        server: The server.
        folder: Where it runs.
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
            "first_token_p50_ms": percentile(self.first_tokens_ms, 50),
            "first_token_p95_ms": percentile(self.first_tokens_ms, 95),
            "loop_stall_ms_max": round(max(stalls), 1),
            "loop_stalls_over_20ms": sum(stall > 20 for stall in stalls),
            "degraded": self.degraded,
        }


async def measure(database_server: str, folder: Path, turns: int, seconds: float) -> dict[str, Metrics]:
    """Talk to all systems in turn: the same words, one turn each, one after the other.

    Each has a server of its own, so that the work of one is in nobody else's way; they share the machine.

    Args:
        database_server: The database server; each system has a database of its own.
        folder: An empty folder.
        turns: How many turns of each system count.
        seconds: How long the model takes to draw facts from a turn.

    Returns:
        What the turns of each came to, by system: `react_mem`, `off` and `create_agent`.
    """
    with OpenAIServer() as model:

        def draws(request: Request) -> Reply:
            return Reply(json=proposal(request.last), delay=seconds)

        model.add(Reply(text="They spoke of many things."), when=Match(contains="You sum up"), repeat=True)
        model.add(draws, when=Match(schema=True), repeat=True)
        model.add(Reply(text="Noted, and what else is there to tell?"), repeat=True)
        agents = _agents(folder)
        async with (
            _served("agent", {"agent": "remembers"}, "react_mem", database_server, folder, model, agents) as ours,
            _served("agent", {"agent": "off"}, "off", database_server, folder, model, agents) as off,
            _served("peer", {}, "create_agent", database_server, folder, model, agents) as peer,
        ):
            systems = {"react_mem": ours, "off": off, "create_agent": peer}
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


def ratio(found: Mapping[str, Metrics], percent: int) -> float:
    """Return how many times as long as without memory work the first token takes, by a percentile of both."""
    name = f"first_token_p{percent}_ms"
    return round(found["react_mem"][name] / found["off"][name], 3)


def _agents(folder: Path) -> Path:
    agents = folder / "agents"
    agents.mkdir()
    for name, extraction in _AGENTS.items():
        config = {"manager": "react_mem", "memory": {"extraction": {"mode": extraction, "debounce": 0.1}}}
        (agents / f"{name}.yaml").write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML
    return agents


@asynccontextmanager
async def _served(
    graph: str,
    context: Mapping[str, Any],
    name: str,
    database_server: str,
    folder: Path,
    model: OpenAIServer,
    agents: Path,
) -> AsyncIterator[Served]:
    own = folder / name
    own.mkdir()
    environment = {
        "DATABASE_URL": await new_database(database_server, f"waiting_{name}"),
        "EMBEDDING_MODEL": "local",
        "OPENAI_BASE_URL": model.base_url,
        "OPENAI_API_KEY": "none",
        "REACT_MEM_AGENTS": str(agents),
        "LOG_LEVEL": "WARNING",
        STATS: str(own / "stats.json"),
    }
    server = DevServer(own, environment, {"store": {"path": "benchmarks.waiting.server.open_watched_store"}})
    config = json.loads((own / "langgraph.json").read_text(encoding="utf-8"))
    config["graphs"]["peer"] = f"{_HERE / 'server.py'}:peer"
    (own / "langgraph.json").write_text(json.dumps(config), encoding="utf-8")
    await asyncio.to_thread(server.start)
    try:
        yield Served(graph, dict(context), server, own)
    finally:
        await asyncio.to_thread(server.stop)
