"""Facts come with what they are linked with where that is asked for; where it is not, nothing is read for it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from langgraph.store.base import BaseStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryResultItem, MemoryScope
from react_mem.memory.model.operations import Change, put
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.transactions import transact
from tests.integration.memory.test_one_round_trip import counted
from tests.support.linking import record


async def write(store: BaseStore, user_id: str, outcome: str) -> None:
    told: list[Any] = [
        record("message", "asked"),
        record("fact", "tea", "asked", text="I like green tea"),
        record("episode", "brewed", "asked", outcome=outcome, origin=Origin.WEB),
        record("task_step", "bought", "asked", text=f"bought by {user_id}"),
        record("fact", "other", text="green is my colour"),
    ]
    changes: list[Change] = [put(user_id, one) for one in told]

    async def step() -> tuple[None, list[Change]]:
        return None, changes

    await transact(store, user_id, step)


async def read(store: BaseStore, **recall: Any) -> dict[str, MemoryResultItem]:
    memory = MemoryFacade(store, MemoryPolicy.model_validate({"recall": recall}))
    scopes = [MemoryScope.SEMANTIC]
    query = MemoryQuery(user_id="ann", session_id="now", agent_id="agent", scopes=scopes, query="green tea")
    return {item.id: item for item in await memory.read(query)}


@pytest.mark.parametrize("name", ["in memory", "memory store"])
async def test_a_fact_comes_with_its_episode_and_its_step(name: str, database_url: str) -> None:
    async with counted(name, database_url, Counter()) as store:
        await write(store, "ann", "It was too bitter")
        await write(store, "bob", "Nobody else's business")
        found = await read(store, links=True)
        told = [(part.id, part.role, part.content) for part in found["tea"].linked]
        assert told == [
            ("brewed", "episode", "(page) It was too bitter"),
            ("bought", "task step", "(assistant) bought by ann"),
        ]
        assert found["other"].linked == ()
        assert all(item.linked == () for item in (await read(store)).values())


async def test_links_are_two_statements_and_none_by_default(database_url: str) -> None:
    counts: Counter[str] = Counter()
    async with counted("memory store", database_url, counts) as store:
        assert isinstance(store, MemoryStore)
        await write(store, "ann", "It was too bitter")
        # what is kept of the first read serves the others
        await read(store, links=True)
        taken = []
        for links in ({"links": False}, {}, {"links": True}):
            fewest = []
            for _ in range(3):  # a connection that the pool makes meanwhile has statements of its own
                counts.clear()
                await read(store, **links)
                fewest.append(counts["statements"])
            taken.append(min(fewest))
        assert taken[0] == taken[1] == taken[2] - 2
