"""What is shown page by page is read page by page: rows are counted, not seconds."""

from __future__ import annotations

from collections import Counter

import pytest
from langgraph.store.base import BaseStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.operations import put
from react_mem.memory.model.records import Record
from tests.integration.memory.test_one_round_trip import counted
from tests.support.linking import record
from tests.support.stores import open_any_store

CONVERSATIONS, MESSAGES = 30, 10


def said() -> list[Record]:
    """Return conversations of messages, each summed up twice; the last message of the first was said last of all."""
    records: list[Record] = []
    for place in range(CONVERSATIONS):
        name = f"talk {place:02}"
        for turn in range(MESSAGES):
            minute = 10_000 if (place, turn) == (0, MESSAGES - 1) else place * 100 + turn
            text = f"{name} begins." if turn == 0 else f"{name}, {turn}."
            records.append(record("message", f"m{place}-{turn}", session=name, minute=minute, turn=turn, text=text))
        records.append(record("summary", f"s{place}", session=name, level="1", covers=4, text=f"A part of {name}."))
        records.append(record("summary", f"t{place}", session=name, level="master", covers=10, text=f"All of {name}."))
    return records


async def fill(store: BaseStore, user: str = "ann") -> MemoryFacade:
    memory = MemoryFacade(store)
    await memory.apply([put(user, one, indexed=False) for one in said()])
    return memory


@pytest.mark.parametrize("name", ["in memory", "memory store", "sealed memory store"])
async def test_all_conversations_are_on_the_pages_in_one_order(name: str, database_server: str) -> None:
    async with open_any_store(name, database_server) as store:
        memory = await fill(store)
        await fill(store, "bob")
        shown, cursor, turns = [], "", 0
        while turns == 0 or cursor:
            page = await memory.conversations("ann", limit=7, cursor=cursor)
            assert page.total == CONVERSATIONS
            shown += page.items
            cursor, turns = page.next_cursor or "", turns + 1
        names = [f"talk {place:02}" for place in (0, *reversed(range(1, CONVERSATIONS)))]
        assert ([one.id for one in shown], turns) == (names, 5)
        assert {(one.messages, one.about, one.summary) for one in shown[:2]} == {
            (MESSAGES, "talk 00 begins.", "All of talk 00."),
            (MESSAGES, "talk 29 begins.", "All of talk 29."),
        }
        assert shown[0].first.tzinfo is not None
        assert shown[0].last > shown[1].last > shown[1].first
        assert (await memory.conversations("nobody")).model_dump() == {"items": [], "next_cursor": None, "total": 0}


async def test_a_page_of_conversations_reads_no_other(database_url: str) -> None:
    counts: Counter[str] = Counter()
    async with counted("memory store", database_url, counts) as store:
        memory = await fill(store)
        counts.clear()
        page = await memory.conversations("ann", limit=5)
        assert len(page.items) == 5
        # of each, and of one more, three messages and two summaries
        assert (counts["statements"], counts["rows"]) == (1, 30)


@pytest.mark.parametrize("name", ["in memory", "memory store", "sealed memory store"])
async def test_a_graph_is_of_the_newest_and_says_so(name: str, database_server: str) -> None:
    async with open_any_store(name, database_server) as store:
        memory = MemoryFacade(store)
        facts = [record("fact", f"f{place}", f"m{place}", minute=place) for place in range(40)]
        messages = [record("message", f"m{place}", minute=place) for place in range(40)]
        await memory.apply([put("ann", one, indexed=False) for one in [*facts, *messages]])
        cut = await MemoryFacade(store).show_graph("ann", limit=10)
        assert {node.id for node in cut.nodes} == {f"{kind}{place}" for kind in "fm" for place in range(35, 40)}
        assert {("f39", "m39"), ("f35", "m35")} <= {(link.source, link.target) for link in cut.links}
        assert (cut.left_out, cut.cut) == (70, "the 10 newest of 80 memories")
        whole = await MemoryFacade(store).show_graph("ann", kinds=["fact"])
        assert (len(whole.nodes), whole.left_out, whole.cut) == (40, 0, "")
