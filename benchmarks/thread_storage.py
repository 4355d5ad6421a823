"""Cost of keeping a long thread: stored bytes and time, beside `langchain.agents.create_agent`.

    python -m benchmarks.thread_storage --json results/thread_storage.json [--turns 200]

Every turn is a question, one tool call, its result and an answer, each message about 300 characters. The loops are the
same, the model is scripted and answers at once, and the checkpointer is `AsyncPostgresSaver` on an embedded database,
one database a loop. `react` and `react_mem` keep their messages in a `DeltaChannel`, which stores what a step adds;
`create_agent` in a plain channel, which stores the whole history at every step. The memories of `react_mem` are not
the thread: they are counted by themselves, and its time includes storing them (nothing is extracted).
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import tool
from langgraph.graph.state import CompiledStateGraph
from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg.sql import SQL, Composed, Identifier

from benchmarks.progress import counted, interruptible
from benchmarks.report import add_json_option, print_table, write_json
from react_mem.agents.answering_model import AnsweringModel
from react_mem.agents.config import AgentConfig
from react_mem.agents.context import AgentContext
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.opening import Storage, open_storage
from react_mem.memory.store import StorageSettings
from react_mem.memory.store.embedded import embedded_database

MESSAGE_CHARS = 300
"""A short paragraph: what people and models write to each other."""

MANAGERS = ("react", "react_mem")
PEER = "create_agent"
COLUMNS = ("thread_bytes", "thread_disk_bytes", "memory_disk_bytes", "seconds", "median_turn_ms", "read_state_ms")
SYSTEM_PROMPT = "You help."

_PAYLOADS = {
    "checkpoints": "octet_length(checkpoint::text) + octet_length(metadata::text)",
    "checkpoint_blobs": "coalesce(octet_length(blob), 0)",
    "checkpoint_writes": "octet_length(blob)",
}
_MEMORY_TABLES = ("store", "store_vectors")

Graph = CompiledStateGraph[Any, Any, Any, Any]


class ScriptedModel(AnsweringModel):
    """Calls the tool once a turn, then answers."""

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Return the model itself: it knows its tool."""
        return self

    def _answer(self, messages: list[BaseMessage], stop: list[str] | None = None, **options: Any) -> AIMessage:
        said = paragraph(f"answer {len(messages)}")
        answer = AIMessage(said)
        if not isinstance(messages[-1], ToolMessage):
            call = {"name": "look_up", "args": {"topic": said[:40]}, "id": f"call_{len(messages)}", "type": "tool_call"}
            answer = AIMessage(said, tool_calls=[call])
        return answer


@tool
async def look_up(topic: str) -> str:
    """Look a topic up."""
    return paragraph(f"all about {topic}")


def paragraph(start: str) -> str:
    """Return a text of `MESSAGE_CHARS` characters that compresses as prose does, not as a repetition.

    >>> len(paragraph("tea")), paragraph("tea") == paragraph("tea")
    (300, True)
    """
    choose = random.Random(start).choices  # noqa: S311 - no secret
    words = ("".join(choose("etaoinshrdlucmfwypvbgkq", k=length)) for length in choose(range(2, 10), k=MESSAGE_CHARS))
    return f"{start}: {' '.join(words)}"[:MESSAGE_CHARS]


def build(name: str, storage: Storage) -> Graph:
    """Build one of the loops over the scripted model."""
    if name == PEER:
        peer: Any = create_agent(
            ScriptedModel(),
            [look_up],
            system_prompt=SYSTEM_PROMPT,
            context_schema=AgentContext,
            checkpointer=storage.checkpointer,
            store=storage.store,
        )
        return cast("Graph", peer)
    policy = MemoryPolicy.model_validate({"extraction": {"mode": "off"}})
    config = AgentConfig(name="benchmark", manager=name, system_prompt=SYSTEM_PROMPT, memory=policy)
    agent = resolve_agent(config, model=ScriptedModel(), tools=[look_up])
    return build_agent(agent, checkpointer=storage.checkpointer, store=storage.store)


async def measure(name: str, turns: int, server_url: str) -> dict[str, float]:
    """Hold one conversation and weigh it.

    Args:
        name: The loop.
        turns: How many turns.
        server_url: The database server; the conversation gets a database of its own.

    Returns:
        The numbers.
    """
    async with await AsyncConnection.connect(server_url, autocommit=True) as conn:
        await conn.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    url = urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    async with open_storage(StorageSettings.model_validate({"database_url": url})) as storage:
        graph = build(name, storage)
        config: Any = {"configurable": {"thread_id": "1"}}
        times = []
        for turn in counted(range(turns), "Holding a thread", "turns"):
            question = {"messages": [{"role": "user", "content": paragraph(f"question {turn}")}]}
            started = time.perf_counter()
            await graph.ainvoke(question, config, context=AgentContext(user_id="ann"))
            times.append(time.perf_counter() - started)
        started = time.perf_counter()
        state = await graph.aget_state(config)
        read = time.perf_counter() - started
        if len(state.values["messages"]) != 4 * turns:
            raise RuntimeError(f"{name} kept {len(state.values['messages'])} messages of {4 * turns}")
        return {
            **await _weigh(storage),
            "seconds": round(sum(times), 2),
            "median_turn_ms": round(1000 * statistics.median(times), 1),
            "read_state_ms": round(1000 * read, 1),
        }


async def _weigh(storage: Storage) -> dict[str, int]:
    numbers: dict[str, int] = {"thread_bytes": 0, "thread_disk_bytes": 0, "memory_disk_bytes": 0}
    async with storage.pool.connection() as conn:
        for table, size in _PAYLOADS.items():
            query = SQL("SELECT coalesce(sum({}), 0)::bigint AS bytes FROM {}").format(SQL(size), Identifier(table))
            numbers[f"{table}_bytes"] = await _number(conn, query)
            numbers["thread_bytes"] += numbers[f"{table}_bytes"]
            numbers["thread_disk_bytes"] += await _disk(conn, table)
        for table in _MEMORY_TABLES:
            numbers["memory_disk_bytes"] += await _disk(conn, table)
    return numbers


async def _disk(conn: AsyncConnection[DictRow], table: str) -> int:
    return await _number(conn, SQL("SELECT pg_total_relation_size({}) AS bytes").format(table))


async def _number(conn: AsyncConnection[DictRow], query: Composed) -> int:
    row = await (await conn.execute(query)).fetchone()
    assert row is not None
    return int(row["bytes"])


async def run(turns: int) -> dict[str, dict[str, float]]:
    """Measure every loop, one after another, on a database that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        async with embedded_database(Path(folder) / "postgres") as server_url:
            return {name: await measure(name, turns, server_url) for name in (PEER, *MANAGERS)}


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print and write.

    Args:
        argv: The arguments; by default those of the process.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.thread_storage", description=__doc__.partition("\n")[0])
    add_json_option(parser)
    parser.add_argument("--turns", type=int, default=200, help="turns of the thread (default: %(default)s)")
    arguments = parser.parse_args(argv)
    numbers = asyncio.run(run(arguments.turns))
    print_table(f"A thread of {arguments.turns} turns", COLUMNS, numbers)
    ours = {f"{name}.{metric}": value for name in MANAGERS for metric, value in numbers[name].items()}
    write_json(arguments.json, ours, {PEER: numbers[PEER]}, {"turns": arguments.turns})


if __name__ == "__main__":
    main()
