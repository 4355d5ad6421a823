"""Waiting time for memory work: for earlier turns, for other users, and for the embedding of documents.

    python -m benchmarks.waiting --json results/waiting.json [--turns 20] [--extraction 12]

- The first token of `react_mem` on `langgraph dev` while the model takes 12 seconds to extract facts from each turn,
  over that of the same agent with `extraction: {mode: off}`, and LangChain's `create_agent` beside them; two users in
  turn, each system on a server of its own. Stalls of each server's event loop are measured meanwhile, and during
  extraction from a pasted text of 150,000 characters of each user.
- Questions of one user while the local model embeds another user's document of 20,000 characters.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langgraph_sdk.client import LangGraphClient

from benchmarks.databases import database_server, new_database, opened
from benchmarks.measures import p50_p95, percentile
from benchmarks.progress import interruptible
from benchmarks.report import Command, Metrics, print_table, write_json
from benchmarks.stand_ins import TimedEmbeddings, embed_with, fill, proposal, words
from benchmarks.waiting.server import STATS
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from tests.support.dev_server import DevServer
from tests.support.openai_server import Match, OpenAIServer, Reply, Request

USERS = ("ann", "bob")
LONG_CHARS = 150_000
"""Characters of each user's last message, a pasted document."""

_AGENTS = {"remembers": "background", "off": "off"}
"""Extraction mode of each agent."""

_SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "react_mem": ("agent", {"agent": "remembers"}),
    "off": ("agent", {"agent": "off"}),
    "create_agent": ("peer", {}),
}
"""By name the graph, and the context of its runs beside the user."""


@dataclass
class Served:
    graph: str
    context: dict[str, Any]
    server: DevServer
    folder: Path
    first_tokens_ms: list[float] = field(default_factory=list)
    degraded: int = 0
    _threads: dict[str, tuple[LangGraphClient, str]] = field(default_factory=dict)

    async def turn(self, user: str, said: str, *, counts: bool = True) -> None:
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
        files = self.folder.glob("stats.json.*")
        stalls = [stall for file in files for stall in json.loads(file.read_text(encoding="utf-8"))]
        return {
            **p50_p95("first_token", self.first_tokens_ms),
            "loop_stall_ms_max": round(max(stalls), 1),
            "loop_stalls_over_20ms": sum(stall > 20 for stall in stalls),
            "degraded": self.degraded,
        }


async def first_tokens(database_server: str, folder: Path, turns: int, seconds: float) -> dict[str, Metrics]:
    """Talk to all systems in turn, in the same words; extraction takes `seconds`.

    Each has a server of its own, so that no work blocks another system; they share the machine.
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


DOCUMENT_CHARS = 20_000
QUESTIONS = 50
_MEMORIES = 100
_PAUSE = 0.1
"""Seconds between two questions."""

COLUMNS = ("first_token_p50_ms", "first_token_p95_ms", "loop_stall_ms_max", "loop_stalls_over_20ms", "degraded")


async def measure(turns: int, seconds: float) -> tuple[dict[str, Metrics], Metrics]:
    with tempfile.TemporaryDirectory() as folder:
        async with database_server() as url:
            asked = await questions(url)
            return await first_tokens(url, Path(folder), turns, seconds), asked


async def questions(database_server: str) -> Metrics:
    """Return a question's waiting time for its vector, on an idle and on a busy embedder."""
    async with opened(await new_database(database_server, "waiting_questions")) as storage:
        watch = TimedEmbeddings(storage.embedding.embeddings)
        embed_with(storage.store, watch)
        memory = MemoryFacade(storage.store)
        await fill(memory, "ann", _MEMORIES)
        idle, _ = await _ask(memory, watch, "idle")
        text = words("document", DOCUMENT_CHARS // 5)[:DOCUMENT_CHARS]
        # many paragraphs, as documents have: each is a text of its own to the embedder
        pages = [Document(page_content=text[start : start + 1_000]) for start in range(0, DOCUMENT_CHARS, 1_000)]
        ingesting = asyncio.create_task(memory.semantic.add_documents(pages, user_id="bob"))
        busy, degraded = await _ask(memory, watch, "busy")
        await ingesting
    return {
        **{f"question_idle_ms_p{part}": percentile(idle, part) for part in (50, 95)},
        **{f"question_wait_ms_p{part}": percentile(busy, part) for part in (50, 95)},
        "degraded_reads": degraded,
    }


async def _ask(memory: MemoryFacade, watch: TimedEmbeddings, name: str) -> tuple[Sequence[float], int]:
    watch.waits_ms.clear()
    reads: list[asyncio.Task[Any]] = []
    for number in range(QUESTIONS):
        query = MemoryQuery(
            user_id="ann",
            session_id="1",
            agent_id="benchmark",
            scopes=[MemoryScope.SEMANTIC, MemoryScope.DIALOG],
            query=words(f"{name} {number}", 12),
        )
        reads.append(asyncio.create_task(memory.read(query)))
        await asyncio.sleep(_PAUSE)
    results = await asyncio.gather(*reads)
    return list(watch.waits_ms), sum(bool(found.missing) for found in results)


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    command = Command("waiting", __doc__)
    command.add_argument("--turns", type=int, default=20, help="turns of two users in all")
    command.add_argument("--extraction", type=float, default=12.0, help="seconds that drawing facts takes")
    told = command.parse_args(argv)
    systems, asked = asyncio.run(measure(told.turns, told.extraction))
    print_table(f"{told.turns} turns of two users", COLUMNS, systems)
    print_table("Questions while a document is embedded", tuple(asked), {"react_mem": asked})
    ours = systems.pop("react_mem")
    over = {
        f"first_token{name}_over_off": round(ours[f"first_token_{key}_ms"] / systems["off"][f"first_token_{key}_ms"], 3)
        for name, key in (("", "p50"), ("_p95", "p95"))
    }
    degraded = asked["degraded_reads"] + ours["degraded"]
    write_json(told.json, {**over, **ours, **asked, "degraded_reads": degraded}, systems, vars(told))


if __name__ == "__main__":
    main()
