"""The statements that are sent to a database, and to how many shards each goes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from psycopg import AsyncConnection, AsyncCursor
from psycopg.errors import Error
from psycopg.rows import DictRow, dict_row

from benchmarks.stand_ins import InstantModel, words
from react_mem.agents.config import AgentConfig
from react_mem.agents.context import AgentContext
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.maintenance.worker import drain
from react_mem.memory.opening import Storage

_OPTIONS: Any = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": None}

Statement = tuple[bytes, Any]

_TASKS = re.compile(r"Task Count: (\d+)")
_PLANNED = re.compile(rb"\s*(?:\(*\s*SELECT|INSERT|UPDATE|DELETE|WITH)\b", re.IGNORECASE)


@contextmanager
def recorded() -> Iterator[list[Statement]]:
    """Record every statement that is sent meanwhile, with its parameters."""
    statements: list[Statement] = []
    execute, executemany = AsyncCursor.execute, AsyncCursor.executemany

    def text(query: Any) -> bytes:
        return query if isinstance(query, bytes) else str(query).encode()

    async def watched(self: Any, query: Any, params: Any = None, **options: Any) -> Any:
        statements.append((text(query), params))
        return await execute(self, query, params, **options)

    async def watched_many(self: Any, query: Any, rows: Any, **options: Any) -> Any:
        kept = list(rows)
        statements.extend((text(query), params) for params in kept)
        return await executemany(self, query, kept, **options)

    AsyncCursor.execute, AsyncCursor.executemany = watched, watched_many  # type: ignore[method-assign, assignment]
    try:
        yield statements
    finally:
        AsyncCursor.execute, AsyncCursor.executemany = execute, executemany  # type: ignore[method-assign]


async def tasks_of(conn: AsyncConnection[DictRow], statements: Sequence[Statement]) -> dict[str, int]:
    """Return how many tasks each statement has: one where it goes to one shard, none where it reads no shard."""
    found: dict[str, int] = {}
    for query, params in statements:
        if not _PLANNED.match(query):
            continue
        name = " ".join(query.decode().split())
        # of a function that is run where the owner's rows are, the plan says just that: it is one task
        tasks = await _tasks(conn, query, params)
        found[name] = max(found.get(name, 0), tasks)
    return found


async def _tasks(conn: AsyncConnection[DictRow], query: bytes, params: Any) -> int:
    try:
        rows = await (await conn.execute(b"EXPLAIN (COSTS OFF) " + query, params)).fetchall()
    except Error as error:
        raise RuntimeError(f"{query.decode()}: {error}") from error
    plan = "\n".join(row["QUERY PLAN"] for row in rows)
    counts = [int(count) for count in _TASKS.findall(plan)]
    if "Distributed Subplan" in plan or "pull to coordinator" in plan:
        return max([*counts, len(counts), 2])
    return max(counts, default=0)


async def tasks_of_a_turn(storage: Storage, url: str) -> dict[str, int]:
    """Return to how many shards the statements of a turn, and of the work behind it, go at most."""
    agent = resolve_agent(
        AgentConfig(name="benchmark", manager="react_mem", system_prompt="You help."),
        model=InstantModel(),
        small_model=InstantModel(),
    )
    graph = build_agent(agent, store=storage.store, checkpointer=storage.checkpointer)
    config: Any = {"configurable": {"thread_id": "load"}}
    said = {"messages": [("user", f"I like {words('turn', 5)}. What do I like?")]}
    async with agent.work.running(storage.store):
        await graph.ainvoke(said, config, context=AgentContext(user_id="user-0"))
        with recorded() as statements:
            await graph.ainvoke(said, config, context=AgentContext(user_id="user-0"))
            await drain(60)
    async with await AsyncConnection[DictRow].connect(url, **_OPTIONS) as conn:
        return await tasks_of(conn, statements)
