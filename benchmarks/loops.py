"""The compared loops: `react`, `react_mem`, and two peers, on one database server."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

from langchain.agents import create_agent
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessageChunk
from langgraph.store.base import BaseStore, PutOp
from langgraph.store.postgres.aio import AsyncPostgresStore
from langgraph.store.postgres.base import PostgresIndexConfig
from langmem import create_manage_memory_tool, create_search_memory_tool

from benchmarks.databases import DatabaseCpu, database_server, new_database, opened, watch_database
from benchmarks.progress import counted
from benchmarks.stand_ins import (
    DIMS,
    HashEmbeddings,
    InstantModel,
    TimedEmbeddings,
    embed_with,
    fill,
    in_batches,
    in_bulk,
    memories,
    question,
)
from react_mem.agents.config import AgentConfig
from react_mem.agents.context import AgentContext
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.maintenance.worker import drain
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.opening import Storage

MANAGERS = ("react", "react_mem")
PEERS = ("create_agent", "langmem")
SYSTEM_PROMPT = "You help."
_BEHIND_SECONDS = 60.0

Turn = dict[str, float]
"""Cost of a turn: `turn_ms`, `first_token_ms`, `cpu_ms` of this process, `embedding_ms` of the embedder,
`database_cpu_ms`, `model_calls`, `prompt_tokens`; for the work behind the turn the same with the prefix `behind_`.
`database_cpu_ms` covers both.
"""


@dataclass
class System:
    """One of the compared loops; `small` extracts facts behind a turn."""

    name: str
    graph: Any
    model: InstantModel
    embedder: TimedEmbeddings
    small: InstantModel | None = None
    database: DatabaseCpu | None = None
    turns: list[Turn] = field(default_factory=list)

    async def turn(self, user_id: str, thread: str, said: str) -> Turn:
        before, first = await self._spent(), 0.0
        async for message, _ in self.graph.astream(
            {"messages": [("user", said)]},
            {"configurable": {"thread_id": f"{self.name} {thread}", "user_id": user_id}},
            context=AgentContext(user_id=user_id),
            stream_mode="messages",
        ):
            if not first and isinstance(message, AIMessageChunk) and message.text:
                first = 1000 * time.perf_counter()
        turn = await self._since(before)
        turn |= {"turn_ms": turn.pop("ms"), "first_token_ms": first - before["ms"]}
        prompts = self.model.prompt_tokens()
        turn |= {"prompt_tokens": sum(prompts), "model_calls": len(prompts)}
        before = await self._spent()
        if self.small and not await drain(_BEHIND_SECONDS):
            raise RuntimeError(f"what {self.name} does behind a turn took more than {_BEHIND_SECONDS:.0f} seconds")
        behind = await self._since(before) if self.small else dict.fromkeys(before, 0.0)
        behind["model_calls"] = len(self.small.asked) if self.small else 0
        for model in filter(None, (self.model, self.small)):
            model.asked.clear()
        turn["database_cpu_ms"] += behind["database_cpu_ms"]
        return turn | {f"behind_{name}": value for name, value in behind.items()}

    async def _since(self, before: Turn) -> Turn:
        return {name: value - before[name] for name, value in (await self._spent()).items()}

    async def _spent(self) -> Turn:
        found = {"ms": time.perf_counter(), "cpu_ms": time.process_time(), "embedding_ms": self.embedder.seconds}
        database = await self.database.milliseconds() if self.database is not None else 0.0
        return {**{name: 1000 * seconds for name, seconds in found.items()}, "database_cpu_ms": database}


@dataclass(frozen=True)
class Bench:
    """All open systems: LangMem's memories are in `peer`, ours and all threads in `storage`."""

    systems: Sequence[System]
    storage: Storage
    peer: AsyncPostgresStore
    embedder: TimedEmbeddings
    local: Embeddings
    thread_turns: int = 10

    async def fill(self, sizes: Sequence[int]) -> None:
        """Write memories of a user for each size, named after it; LangMem has the same texts."""
        async with in_bulk(self.storage.pool), in_bulk(cast(Any, self.peer.conn)):
            for size in sizes:
                await fill(MemoryFacade(self.storage.store), str(size), size)
                said = (
                    PutOp(("memories", str(size)), record.id, {"content": record.text})
                    for _, record in memories(str(size), size)
                )
                for batch in in_batches(said):
                    await self.peer.abatch(batch)

    async def run(self, names: Sequence[str], user_id: str, turns: int, *, first: int = 0) -> list[System]:
        """Run turns on some systems, one after the other, and return these with their turns.

        The first system rotates, so that no position is better; each turn, from the number `first` on, asks a new
        question.
        """
        systems = [replace(system, turns=[]) for system in self.systems if system.name in names]
        known = [record.text for _, record in memories(user_id, min(turns, 100))]
        for number in counted(range(first, first + turns), f"A user with {user_id} memories", "turns"):
            said = question(number, known[number % len(known)])
            place = number % len(systems)
            for system in (*systems[place:], *systems[:place]):
                system.turns.append(await system.turn(user_id, f"{user_id} {number // self.thread_turns}", said))
        return systems


@asynccontextmanager
async def open_bench() -> AsyncIterator[Bench]:
    embedder = TimedEmbeddings(HashEmbeddings())
    async with AsyncExitStack() as stack:
        server_url = await stack.enter_async_context(database_server())
        urls = [await new_database(server_url, name) for name in ("ours", "peer")]
        storage = await stack.enter_async_context(opened(urls[0]))
        local = storage.embedding.embeddings
        embed_with(storage.store, embedder)
        index = PostgresIndexConfig(dims=DIMS, embed=embedder)
        peer = await stack.enter_async_context(
            AsyncPostgresStore.from_conn_string(urls[1], index=index, pool_config={"min_size": 1, "max_size": 10})
        )
        await peer.setup()
        database = await stack.enter_async_context(watch_database(server_url))
        systems = [*(open_manager(name, storage, embedder) for name in MANAGERS), *_peers(storage, peer, embedder)]
        yield Bench([replace(one, database=database) for one in systems], storage, peer, embedder, local)


def open_manager(name: str, storage: Storage, embedder: TimedEmbeddings) -> System:
    # what is done behind a turn waits until it is asked for
    policy = MemoryPolicy.model_validate({"extraction": {"debounce": 3600}})
    model, small = InstantModel(), InstantModel()
    config = AgentConfig(name="benchmark", manager=name, system_prompt=SYSTEM_PROMPT, memory=policy)
    agent = resolve_agent(config, model=model, small_model=small)
    graph = build_agent(agent, store=storage.store, checkpointer=storage.checkpointer)
    return System(name, graph, model, embedder, small if name == "react_mem" else None)


def _peers(storage: Storage, peer: BaseStore, embedder: TimedEmbeddings) -> list[System]:
    def remember(said: str) -> list[tuple[str, dict[str, Any]]]:
        return [("search_memory", {"query": said}), ("manage_memory", {"action": "create", "content": said})]

    namespace = ("memories", "{user_id}")
    tools = [create_manage_memory_tool(namespace), create_search_memory_tool(namespace)]
    systems = []
    for name, model, own in zip(PEERS, (InstantModel(), InstantModel(remembers=remember)), ((), tools), strict=True):
        graph = create_agent(
            model,
            list(own),
            system_prompt=SYSTEM_PROMPT,
            context_schema=AgentContext,
            checkpointer=storage.checkpointer,
            store=peer,
        )
        systems.append(System(name, graph, model, embedder))
    return systems
