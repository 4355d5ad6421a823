"""Links cost a write nothing, and a forgetting little: they are derived where they are read."""

from __future__ import annotations

from collections import Counter

import pytest
from langgraph.store.base import BaseStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.graph import links
from react_mem.memory.graph.links import reader
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import Change, put
from react_mem.memory.store import sealed_entries
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.transactions import transact
from tests.integration.memory.test_one_round_trip import counted
from tests.support.linking import record, store_records

TURN = [
    record("message", "asked", minute=1),
    record("message", "answered", minute=2),
    record("experience", "step", "asked"),
    record("fact", "fact", "asked", needs=("home",)),
    record("episode", "episode", "asked", "answered"),
    record("summary", "summary", "asked", "answered"),
    record("concept", "Hue", "fact"),
]


async def write_turn(store: BaseStore) -> None:
    changes: list[Change] = [put("ann", one, indexed=False) for one in TURN]

    async def step() -> tuple[None, list[Change]]:
        return None, changes

    await transact(store, "ann", step)


@pytest.mark.parametrize("name", ["in memory", "memory store"])
async def test_a_write_is_one_look_at_the_revision_and_one_batch(name: str, database_url: str) -> None:
    counts: Counter[str] = Counter()
    async with counted(name, database_url, counts) as store:
        # what the store has to learn once
        await write_turn(store)
        counts.clear()
        await write_turn(store)
        if name == "in memory":
            assert counts == {"abatch": 2}
        else:
            # it takes the owner's row, checks the revision that was written before, writes, drops what the index had
            assert (counts["abatch"], counts["statements"], counts["round trips"]) == (0, 1, 1)


async def test_memories_and_all_their_links_are_one_statement(database_url: str) -> None:
    counts: Counter[str] = Counter()
    async with counted("memory store", database_url, counts) as store:
        await write_turn(store)
        read = reader(store, "ann")
        counts.clear()
        found = await read([one.id for one in TURN])
        assert len(found) == len(TURN)
        assert (counts["statements"], counts["round trips"]) == (1, 1)


async def test_forgetting_an_owner_takes_few_statements(database_url: str) -> None:
    counts: Counter[str] = Counter()
    async with counted("memory store", database_url, counts) as store:
        records = [
            *(record("message", f"m{turn}", minute=turn, session=f"s{turn // 10}") for turn in range(300)),
            *(record("fact", f"f{number}", "m0", "m1", "m2") for number in range(300)),
        ]
        await store.abatch([put("ann", one, indexed=False) for one in records])
        if isinstance(store, MemoryStore):
            await store.scale.settle()
        counts.clear()
        sessions = await MemoryFacade(store).forget_user("ann")
        assert (len(sessions), sessions.receipt.problems) == (30, ())
        assert await store.asearch(("memory", "ann"), limit=10) == []
        # however many records there are: one is for the data key, two are for attachments, of which nothing is to be
        # left either, two for whose threads are, and two for the scale of an unknown embedder, which the check after it
        # has measured
        assert counts["statements"] <= 37


def test_the_index_knows_every_field_that_names_records() -> None:
    assert {*links._FIELDS, "links", "alike"} == {*sealed_entries.LINKS, sealed_entries.ALIKE}


async def test_of_what_else_was_said_only_what_is_linked_is_read(memory_store: MemoryStore) -> None:
    other = record("fact", "other", "asked")
    await store_records(memory_store, *TURN, other)
    spaces = [scope_namespace("ann", scope) for scope in MemoryScope]
    found = {value["id"] for _, value in await memory_store.alinked(spaces, ["other"])}
    # the message, and what was done and concluded then: no other fact of it, and no summary
    assert found == {"other", "asked", "step", "episode"}
