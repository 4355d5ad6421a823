"""A fact that others vouch for is its owner's once they say it in their words, and the others' again without them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.base import Item
from langgraph.store.memory import InMemoryStore

from react_mem.integrations import ImportOwners
from react_mem.integrations.importers.importer import import_from
from react_mem.memory import MemoryFacade
from react_mem.memory.merging import forks as beliefs
from react_mem.memory.merging.facts import write_facts
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import FACT, MESSAGE
from react_mem.memory.model.operations import Extractor, Operation
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Fact, Message, fact_id, now
from react_mem.memory.rights.erasure import erasing
from react_mem.memory.write.remembering import remember
from react_mem.memory.write.turns import Turns
from tests.support.importing import Told
from tests.support.labels import Labeller, Says
from tests.unit.memory.test_importing import fact as entry
from tests.unit.memory.test_reconcile import DAYS, OSLO, START, Facts, apply, say

HOME, PLACE, CITY = "Oslo is home.", "My place is in Oslo.", "Oslo is my city."

said_before = st.lists(
    st.tuples(st.sampled_from([OSLO, HOME]), st.sampled_from([one for one in Origin if one is not Origin.USER])),
    min_size=1,
    max_size=4,
)
said_by_user = st.lists(st.sampled_from([PLACE, CITY]), min_size=1, max_size=2)


def told(said: Sequence[tuple[str, Origin]]) -> list[Operation]:
    """Return what is said as operations: the first is new, the others say the same, each in a message of its own."""
    first = said[0][0]
    return [
        say(text, f"m{place}", "same" if place else "new", first if place else None, origin=origin)
        for place, (text, origin) in enumerate(said)
    ]


def believed(facts: Iterable[Fact]) -> list[tuple[str, Origin, tuple[str, ...]]]:
    return sorted((fact.text, fact.origin, fact.source_ids) for fact in facts if fact.current)


def erased(facts: Facts, messages: Iterable[str], *, revives: bool = True) -> list[Fact]:
    """Return the facts that are left without some messages."""
    at = {"created_at": START, "updated_at": START}
    items = [Item(value=fact.to_value(), key=id_, namespace=FACT.namespace("ann"), **at) for id_, fact in facts.items()]
    for id_ in DAYS:
        message = Message(id=id_, session_id="s", agent_id="a", text="x", content="x", role="user", turn=0)
        items.append(Item(value=message.to_value(), key=id_, namespace=MESSAGE.namespace("ann"), **at))
    left = {item.key: item.value for item in items}
    left |= {change.key: change.value for change in erasing(items, set(messages), revives=revives)}
    return [Fact.from_value(value) for value in left.values() if value is not None and FACT.matches(value)]


@given(said_before, said_by_user, st.booleans())
def test_it_is_the_strongest_that_says_it_and_without_them_the_next(
    before: list[tuple[str, Origin]], own: list[str], revives: bool
) -> None:
    operations = told([*before, *((text, Origin.USER) for text in own)])
    others, theirs = operations[: len(before)], operations[len(before) :]
    facts = apply(operations)
    sources = tuple(source for one in theirs for source in one.source_ids)
    # one fact, in words of theirs, on their messages alone
    assert believed(facts.values()) == [(own[0], Origin.USER, sources)]
    # without these it is as if they had never said it
    assert believed(erased(facts, sources, revives=revives)) == believed(apply(others).values())
    assert apply(operations, facts) == facts


def test_what_the_user_ended_does_not_come_back_without_their_saying_it() -> None:
    facts = apply(
        [
            say(OSLO, origin=Origin.IMPORT),
            say(HOME, "m2", "same", OSLO),
            Operation("ends", "", target_id=fact_id("user", HOME), source_ids=("m3",)),
        ]
    )
    assert believed(facts.values()) == []
    assert believed(erased(facts, ["m2"])) == []
    assert believed(erased(facts, ["m2", "m3"])) == [(OSLO, Origin.IMPORT, ("m1",))]
    moved = apply([say("I live in Rome.", "m4", "changes", HOME)], apply([say(HOME, "m2")], {}))
    assert [text for text, *_ in believed(moved.values())] == ["I live in Rome."]


def test_a_branch_that_is_left_takes_it_back_and_one_that_is_followed_again_says_it_again() -> None:
    facts = apply([say(OSLO, origin=Origin.IMPORT), say(HOME, "m2", "same", OSLO)])
    left = {**facts, **{fact.id: fact for fact in beliefs.believed(facts, ["m2"], DAYS, START)}}
    assert believed(left.values()) == [(OSLO, Origin.IMPORT, ("m1",))]
    again = {**left, **{fact.id: fact for fact in beliefs.believed(left, [], DAYS, START)}}
    assert believed(again.values()) == [(HOME, Origin.USER, ("m2",))]


# --- by the ways in which it is said ----------------------------------------------------------------------------------


@pytest.fixture
def memory() -> MemoryFacade:
    return MemoryFacade(InMemoryStore())


async def chat(memory: MemoryFacade, text: str, reader: Extractor | None, session: str = "monday") -> None:
    turns = Turns(memory, reader, "ann", session, "assistant")
    await turns.close([HumanMessage(text, id="q"), AIMessage("Noted.", id="a")], None)
    await turns.extract()


async def current(memory: MemoryFacade) -> list[tuple[str, Origin]]:
    return [(fact.text, fact.origin) for fact in await memory.semantic.history(user_id="ann") if fact.current]


@pytest.mark.parametrize(
    ("known", "said", "clause"),
    [
        ("I am allergic to peanuts.", "Peanuts make me ill.", "Peanuts"),
        ("Tôi sống ở Huế.", "Nhà tôi ở Huế.", "Nhà tôi"),
        ("我住在上海。", "我的家在上海。", "我的家"),
    ],
)
async def test_an_import_that_is_said_in_other_words(known: str, said: str, clause: str, memory: MemoryFacade) -> None:
    source = Told(entry("1", known))
    await import_from(memory, source, ImportOwners(user="ann"))
    reader = Labeller(Says(clause, "same", known))
    await chat(memory, said, reader)
    assert await current(memory) == [(said, Origin.USER)]
    # nor is it there twice if it is imported once more, or told by a backup of the same words
    await import_from(memory, source, ImportOwners(user="ann"))
    await import_from(memory, Told(entry("2", known)), ImportOwners(user="ann"))
    assert await current(memory) == [(said, Origin.USER)]
    await memory.delete_session("ann", "monday")
    assert await current(memory) == [(known, Origin.IMPORT)]


@pytest.mark.parametrize("how", ["told", "said in a conversation"])
@pytest.mark.parametrize("text", ["I live in Hue.", "My home is in Hue."])
async def test_without_a_model_what_the_user_says_is_theirs(text: str, how: str, memory: MemoryFacade) -> None:
    lives = Operation("new", "I live in Hue.", source_ids=("m1",), origin=Origin.IMPORT)
    home = Operation("same", "My home is in Hue.", target_id=lives.id, source_ids=("m2",), origin=Origin.IMPORT)
    at = {"at": now(), "session_id": "file", "agent_id": "a"}
    await write_facts(memory.store, "ann", [lives, home], **at)
    for _ in range(2):
        if how == "told":
            told = await remember(memory, "ann", text, agent_id="assistant")
            assert [(one.text, one.origin) for one in told.memories] == [(text, Origin.USER)]
        else:
            await chat(memory, text, None)
        # that another fact is also put so is only known to who reads them beside each other
        beside = [] if text == lives.text else [(lives.text, Origin.IMPORT)]
        assert sorted(await current(memory)) == sorted([*beside, (text, Origin.USER)])


async def test_forgetting_it_forgets_what_it_took_the_place_of(memory: MemoryFacade) -> None:
    await import_from(memory, Told(entry("1", "I live in Hue.")), ImportOwners(user="ann"))
    await chat(memory, "My home is in Hue.", Labeller(Says("My home", "same", "I live in Hue")))
    await memory.forget("ann", fact_id("user", "My home is in Hue."))
    assert await memory.semantic.history(user_id="ann") == []
    page = await memory.page("ann", kinds=["fact"])
    assert (page.items, await memory.records("ann", MemoryScope.SEMANTIC, [fact_id("user", "I live in Hue.")])) == (
        [],
        {},
    )


@pytest.mark.parametrize(("gone", "left"), [("monday", "My home is in Hue."), ("tuesday", "I live in Hue.")])
async def test_the_words_of_a_forgotten_conversation_go_with_it(gone: str, left: str, memory: MemoryFacade) -> None:
    reader = Labeller(Says("I live in Hue"), Says("My home", "same", "I live in Hue", text="The user's home is Hue."))
    await chat(memory, "I live in Hue.", reader, "monday")
    await chat(memory, "My home is in Hue.", reader, "tuesday")
    receipt = await memory.delete_session("ann", gone)
    assert not receipt.problems
    [fact] = await memory.semantic.history(user_id="ann")
    assert (fact.text, fact.wordings, fact.reading, fact.support) == (left, (), "", 1)
    assert fact.current


@pytest.mark.parametrize("origin", [Origin.TOOL, Origin.WEB])
def test_no_tool_and_no_page_lifts_what_an_import_says_in_other_words(origin: Origin) -> None:
    [fact] = apply([say(OSLO, origin=Origin.IMPORT), say(HOME, "m2", "same", OSLO, origin=origin)]).values()
    assert (fact.text, fact.origin) == (OSLO, Origin.IMPORT)
