"""Summing up on the stores that there are: atomic where they are, and the same chain on each."""

from __future__ import annotations

import asyncio
from typing import Any

from langgraph.store.base import BaseStore
from psycopg import AsyncConnection

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.write.chain import fold
from react_mem.memory.write.session import Session
from tests.support.citus import one_server
from tests.support.databases import open_memory_store, word_model
from tests.unit.memory.summaries.talking import Conversation


def facts(count: int) -> list[str]:
    return [f"I have {number} cats in town {number}." for number in range(1, count + 1)]


async def summaries(store: BaseStore) -> list[dict[str, Any]]:
    found = await store.asearch(scope_namespace("ann", MemoryScope.DIALOG), filter={"kind": "summary"}, limit=100)
    return [item.value for item in found]


@one_server  # a trigger tears
async def test_a_write_that_fails_half_way_leaves_neither_summary_nor_gap(database_url: str) -> None:
    async with (
        open_memory_store(database_url, word_model()) as store,
        await AsyncConnection.connect(database_url, autocommit=True) as conn,
    ):
        # of the batch that holds a summary, the row of the chain cannot be written
        await conn.execute(
            "CREATE FUNCTION tear() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'torn'; END $$ LANGUAGE plpgsql"
        )
        await conn.execute(
            "CREATE TRIGGER torn BEFORE INSERT OR UPDATE ON store FOR EACH ROW "
            """WHEN (NEW.value->>'kind' = 'chain' AND NEW.value->'entries' @> '[{"kind": "summary"}]') """
            "EXECUTE FUNCTION tear()"
        )
        talk = Conversation(store).shaped(window="oldest")
        report = await talk.say(*facts(3))
        assert "torn" in report.problem
        assert await summaries(store) == []
        assert await talk.names() == "M1 M2 M3 M4 M5 M6"
        await conn.execute("DROP TRIGGER torn ON store")
        await talk.say("I like tea.")
        assert await talk.names() == "L1(1-3) M4 M5 M6 M7 M8"
        assert await talk.reachable() == [message.content for message in talk.thread]
        assert len(await summaries(store)) == 1


def fold_elsewhere(url: str, policy: MemoryPolicy) -> int:
    """Sum up with a store and an event loop of its own: nothing of this process is shared but the database."""

    async def work() -> int:
        async with open_memory_store(url, word_model()) as store:
            memory = MemoryFacade(store, policy)
            done = await fold(Session(memory, None, "ann", "talk", "tester"))
            return done.summarised

    return asyncio.run(work())


async def test_workers_of_several_processes_fold_what_is_due_once(database_url: str) -> None:
    async with open_memory_store(database_url, word_model()) as store:
        talk = Conversation(store).shaped(n_sum=200, window="oldest")
        await talk.say(*facts(8))
        policy = talk.shaped(n_sum=6).memory.policy
        done = await asyncio.gather(*(asyncio.to_thread(fold_elsewhere, database_url, policy) for _ in range(3)))
        made = await summaries(store)
        assert sum(done) == len(made) == 5
        assert await talk.names() == "L2(1-9) L1(10-12) M13 M14 M15 M16"
        assert await talk.reachable() == [message.content for message in talk.thread]
