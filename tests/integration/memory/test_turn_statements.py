"""Batches and statements of a turn, and of the work behind it: what is known is not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.base import BaseStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.write.turns import Turns
from tests.integration.memory.test_one_round_trip import counted


@pytest.fixture
def counts() -> Counter[str]:
    return Counter()


@pytest.fixture
async def store(database_url: str, counts: Counter[str]) -> AsyncIterator[BaseStore]:
    async with counted("memory store", database_url, counts) as store:
        assert isinstance(store, MemoryStore)
        yield store


def turns(store: BaseStore, session: str = "monday") -> Turns:
    return Turns(MemoryFacade(store), None, "ann", session, "tester")


def said(number: int, answer: str = "") -> list[BaseMessage]:
    """Return a question and its answer."""
    return [
        HumanMessage(f"I keep thing number {number}.", id=f"q{number}"),
        AIMessage(answer or "Noted.", id=f"a{number}{answer}"),
    ]


async def begin(turns: Turns, thread: list[BaseMessage], since: str | None) -> None:
    """Read, and open the turn, as the lifecycle of a turn does."""
    query = MemoryQuery(
        user_id="ann", session_id=turns.session_id, agent_id="tester", query="thing", scopes=list(MemoryScope)
    )
    await turns.memory.read(query)
    await turns.open(thread, since)


async def test_a_turn_is_closed_with_one_look_at_where_its_conversation_is(
    store: BaseStore, counts: Counter[str]
) -> None:
    one, thread, since = turns(store), list[BaseMessage](), None
    for number in range(3):
        question, answer = said(number)
        await begin(one, [*thread, question], since)
        counts.clear()
        thread += [question, answer]
        await one.close(thread, question.id)
        # and one write under a guard
        assert counts["abatch"] == 1
        since = answer.id
    notes = await one.memory.pending("ann")
    assert [(note["forked"], len(note["source_ids"])) for note in notes] == [(False, 2)] * 3


async def test_a_turn_that_another_one_was_faster_than_is_a_fork(store: BaseStore) -> None:
    one, other = turns(store), turns(store)
    before = said(0)
    await begin(one, before[:1], None)
    await one.close(before, "q0")
    first, second = said(1), said(2)
    # both go on from the same place, and neither has been closed when the other begins
    await begin(one, [*before, first[0]], "a0")
    await begin(other, [*before, second[0]], "a0")
    await one.close([*before, *first], "q1")
    await other.close([*before, *second], "q2")
    notes = {note["source_ids"][0]: note["forked"] for note in await one.memory.pending("ann")}
    assert sorted(notes.values()) == [False, False, True]


async def test_a_turn_and_its_work_take_few_round_trips(store: BaseStore, counts: Counter[str]) -> None:
    one, thread, since = turns(store), list[BaseMessage](), None
    for number in range(4):
        question, answer = said(number)
        counts.clear()
        await begin(one, [*thread, question], since)
        thread += [question, answer]
        await one.close(thread, question.id)
        report = await one.extract()
        since = answer.id
        assert (report.stored, report.emptied) == ([question.text], True)
        if number > 0:
            # what waits, and then its messages, its chain and what is known of what it states; the rest is known
            # what a summary stands for is read with it
            assert counts["abatch"] == 3 + 3 * report.summarised
            # two reads and three writes, of which two are a statement each and one has rows of the index
            assert counts["statements"] <= 17 + 12 * report.summarised
    facts = await one.memory.list_records("ann", [MemoryScope.SEMANTIC])
    assert len(facts) == 4
