"""Workers in several processes: work is done once, taken over from the dead, and found without reading everybody's."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.base import SearchOp

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.maintenance.runner import Outcome
from react_mem.memory.maintenance.worker import Worker
from react_mem.memory.model.namespaces import WORK, work_namespace
from react_mem.memory.model.policy import MemoryPolicy, RetentionSettings
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.searches import Target, search_statement
from react_mem.memory.work.items import Work, WorkQueue, put_work
from react_mem.memory.write.turns import Turns
from tests.support.citus import one_server

PATIENCE = 60


class Runner:
    """Notes what it does, and lets others have a go meanwhile."""

    def __init__(self, done: list[str]) -> None:
        self.done = done

    async def run(self, store: Any, user_id: str, work: Work) -> Outcome:
        await store.aget(work_namespace(user_id), work.key)
        self.done.append(user_id)
        return Outcome()

    def names(self) -> list[str]:
        return ["tester"]

    async def retention(self, agent: str) -> RetentionSettings:
        return RetentionSettings()

    async def get(self, agent: str) -> Any:
        return self


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await holds():  # noqa: ASYNC110 - another process tells nobody
            await asyncio.sleep(0.05)  # the interval of a poll


async def test_several_workers_do_each_item_once(memory_store: MemoryStore) -> None:
    now = WorkQueue(memory_store).now()
    users = [f"user{number}" for number in range(60)]
    works = [Work(kind="extract", agent="tester", session="1", due_at=now) for _ in users]
    await memory_store.abatch([put_work(user, work) for user, work in zip(users, works, strict=True)])
    done: list[str] = []
    workers = [Worker(memory_store, Runner(done), poll_seconds=0.02) for _ in range(4)]

    async def all_done() -> bool:
        return await memory_store.asearch((WORK,), limit=1) == []

    await until(all_done)
    for worker in workers:
        await worker.close(5)
    assert sorted(done) == sorted(users)


@one_server
async def test_what_is_written_while_it_is_finished_is_not_lost(memory_store: MemoryStore) -> None:
    queue = WorkQueue(memory_store)
    work = Work(kind="extract", agent="tester", session="1", due_at=queue.now() - 1)
    await memory_store.abatch([put_work("ann", work)])
    [held] = await queue.due(["tester"], 10)
    claimed = await queue.claim(held, "one")
    assert claimed is not None
    async with memory_store.pool.connection() as turn, memory_store.pool.connection() as look:

        async def waits() -> bool:
            found = await look.execute("SELECT FROM pg_locks WHERE NOT granted")
            return found.rowcount > 0

        async with turn.transaction():
            # a turn that is stored does not guard: it writes the work anew, and has not committed yet
            await turn.execute("UPDATE store SET value = %s::jsonb WHERE key = %s", (work.model_dump_json(), work.key))
            finishing = asyncio.create_task(queue.finish(claimed))
            await until(waits)
        assert not await finishing
    assert [one.work for one in await queue.due(["tester"], 10)] == [work]


async def test_a_worker_that_is_killed_at_work_is_taken_over(memory_store: MemoryStore) -> None:
    memory = MemoryFacade(memory_store, MemoryPolicy.model_validate({"extraction": {"debounce": 0}}))
    one = Turns(memory, None, "ann", "1", "tester")
    await one.close([HumanMessage("I have a cat.", id="q"), AIMessage("ok", id="a")], None)
    environment = {**os.environ, "DATABASE_URL": memory_store.pool.conninfo}
    victim = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.hanging_worker", env=environment, stdout=asyncio.subprocess.PIPE
    )
    assert victim.stdout is not None
    async with asyncio.timeout(PATIENCE):
        assert await victim.stdout.readline() == b"at work\n"
    [held] = [item.value for item in await memory_store.asearch((WORK,), filter={"kind": "extract"})]
    assert held["lease_by"]
    victim.send_signal(signal.SIGKILL)
    await victim.wait()

    done: list[str] = []
    worker = Worker(memory_store, Runner(done), poll_seconds=0.05)

    async def taken_over() -> bool:
        return await memory_store.asearch((WORK,), filter={"kind": "extract"}) == []

    await until(taken_over)
    await worker.close(5)
    assert done == ["ann"]


@one_server
async def test_what_is_due_is_found_without_reading_the_work_of_everybody(memory_store: MemoryStore) -> None:
    queue = WorkQueue(memory_store)
    async with memory_store.pool.connection() as conn:
        value = {"kind": "maintain", "agent": "tester", "session": "1", "due_at": queue.now() + 10**7, "lease_by": ""}
        await conn.execute(
            "INSERT INTO store (prefix, key, value, created_at, updated_at) SELECT 'memory_work.user' || n, 'k', "
            "%s::jsonb, now(), now() FROM generate_series(1, 10000) n",
            (json.dumps(value),),
        )
        await conn.execute("ANALYZE store")
        search = SearchOp((WORK,), filter={"due_at": {"$lte": queue.now()}, "agent": "tester"}, limit=32)
        query, parameters = search_statement([Target(0, search, None)], omit_expired=True)
        plan = await (await conn.execute(b"EXPLAIN (ANALYZE, FORMAT JSON) " + query, parameters)).fetchone()
        assert plan is not None
        text = json.dumps(plan["QUERY PLAN"])
    assert "store_work_due_idx" in text
    assert "Seq Scan" not in text
    await memory_store.abatch(
        [put_work("ann", Work(kind="extract", agent="tester", session="1", due_at=queue.now() - 1))]
    )
    assert [held.user_id for held in await queue.due(["tester"], 10)] == ["ann"]


@pytest.mark.parametrize("forgotten", ["user"])
async def test_what_is_forgotten_while_it_is_worked_on_leaves_no_work(
    memory_store: MemoryStore, forgotten: str
) -> None:
    queue = WorkQueue(memory_store)
    await memory_store.abatch([put_work("ann", Work(kind="extract", agent="tester", session="1", due_at=0))])
    held = await queue.get("ann", Work(kind="extract", agent="tester", session="1", due_at=0).place("ann"))
    assert held is not None
    claimed = await queue.claim(held, "one")
    assert claimed is not None
    memory = MemoryFacade(memory_store)
    await (memory.forget_user("ann") if forgotten == "user" else memory.delete_session("ann", "1"))
    assert await queue.renew(claimed) is None
    await queue.failed(claimed, "ValueError")
    await queue.release(claimed)
    async with memory_store.pool.connection() as conn:
        found = await conn.execute("SELECT prefix FROM store WHERE prefix LIKE 'memory_work%'")
        assert await found.fetchall() == []
