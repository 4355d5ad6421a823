"""Links on every store, through everything that writes and removes memories; and the arm that reads by them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.base import BaseStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.operations import EpisodeDraft, Extraction
from react_mem.memory.model.records import Level
from react_mem.memory.retrieval.last_known import note_new_alike
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.write.turns import Turns
from tests.support.linking import assert_whole, links, record, store_records
from tests.support.stores import STORES, open_any_store

OWNER: dict[str, Any] = {"user_id": "ann", "session_id": "monday", "agent_id": "tester"}


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest, database_server: str) -> AsyncIterator[BaseStore]:
    async with open_any_store(request.param, database_server) as opened:
        yield opened


async def test_what_is_written_and_removed_stays_linked(store: BaseStore) -> None:
    memory = MemoryFacade(store)
    for number, day in enumerate(("monday", "tuesday")):
        said = [record("message", f"{day}-{turn}", session=day, minute=10 * number + turn) for turn in range(4)]
        await store_records(store, *said)
        await store_records(store, record("experience", f"{day}-step", said[0].id, session=day))
        await store_records(store, record("fact", f"{day}-fact", said[0].id, session=day))
        episode = record("episode", f"{day}-e", said[0].id, session=day, minute=number, level=Level.MILESTONE)
        await store_records(store, episode)
        await store_records(store, record("summary", f"{day}-s", *(one.id for one in said), session=day))
    await store_records(store, record("fact", "both", "monday-1", "tuesday-1"), record("skill", "sop", "monday-step"))
    found = await links(store)
    assert {
        ("monday-e", "milestone", "monday-step"),
        ("monday-e", "timeline", "tuesday-e"),
        ("both", "support", "monday-1"),
        ("both", "support", "tuesday-1"),
        ("tuesday-0", "timeline", "tuesday-1"),
    } <= found
    await assert_whole(store)

    before = await links(store)
    copy = [line async for line in memory.export_user("ann")]
    await memory.delete_session("ann", "monday")
    left = await links(store)
    assert left == {link for link in before if not any("monday" in end or end == "sop" for end in link)}
    await assert_whole(store)

    await memory.import_user("bob", copy)
    assert await links(store, "bob") == before
    await memory.forget_user("ann")
    assert await links(store) == set()
    await assert_whole(store, "bob")


class Told:
    """An extractor that draws an episode from every turn."""

    async def extract(self, messages: Any, existing: Any, **limits: Any) -> Extraction:
        draft = EpisodeDraft(goal="Buy tea", outcome="Tea is bought", milestone="Tea")
        return Extraction(episode=draft, summary="They bought tea.", complete=True, calls=1)


async def test_a_turn_links_what_came_of_it(memory_store: MemoryStore) -> None:
    store, memory = memory_store, MemoryFacade(memory_store)
    turns = Turns(memory, Told(), **OWNER)
    thread = [HumanMessage("Please buy some tea", id="1")]
    await turns.open(thread, None)
    step = {"action": "shop", "arguments": {"what": "tea"}, "observation": "bought", "error": ""}
    thread.append(AIMessage("Done, it is on its way", id="2"))  # type: ignore[arg-type]
    await turns.close(thread, "1", [step])
    await turns.extract()
    ids = {item.source: item.id for item in await memory.list_records("ann") if item.source != "message"}
    [asked, answered] = sorted((await memory.dialog.get_context("ann", "monday")).messages, key=lambda m: m.turn)
    assert await links(store) == {
        (asked.id, "timeline", answered.id),
        (ids["experience"], "support", asked.id),
        (ids["episode"], "milestone", asked.id),
        (ids["episode"], "milestone", answered.id),
        (ids["episode"], "milestone", ids["experience"]),
        (ids["summary"], "summarization", asked.id),
        (ids["summary"], "summarization", answered.id),
        (ids["summary"], "summarization", ids["episode"]),
    }
    await assert_whole(store)
    thread += [HumanMessage("Thank you", id="3"), AIMessage("My pleasure", id="4")]  # type: ignore[list-item]
    await turns.close(thread, "2")
    await turns.extract()
    assert (answered.id, "timeline") in {link[:2] for link in await links(store)}
    await assert_whole(store)


async def test_maintenance_compares_what_is_new(memory_store: MemoryStore) -> None:
    memory = MemoryFacade(memory_store)
    assert await note_new_alike(memory_store, "nobody") == 0
    await memory.semantic.add(["User drinks green tea every single day of the week"], **OWNER)
    # the store learns behind the first search what its model's similarities mean
    await memory.semantic.search("anything", user_id="nobody")
    await memory_store.scale.settle()
    assert await note_new_alike(memory_store, "ann") == 0
    assert await links(memory_store) == set()
    await memory.semantic.add(["User drinks green tea every single day of week"], **OWNER)
    assert await note_new_alike(memory_store, "ann") == 1
    [(_, kind, _)] = await links(memory_store)
    assert kind == "semantic"
    assert await note_new_alike(memory_store, "ann") == 0
    await assert_whole(memory_store)
    copy = [line async for line in memory.export_user("ann")]
    await memory.import_user("bob", copy)
    assert await links(memory_store, "bob") == await links(memory_store)
