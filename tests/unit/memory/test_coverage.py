"""What a model leaves unread is kept as said, clause by clause, offered once more, and kept once."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import Extractor, Unread
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.records import Message
from react_mem.memory.write.committing import MAX_VERBATIM, unread_facts
from react_mem.memory.write.conversations import end_conversation
from react_mem.memory.write.session import TurnReport
from react_mem.memory.write.turns import Turns
from tests.support.labels import Labeller, Says

NOTHING = Labeller(rest=None)


def turns(store: InMemoryStore, model: Extractor | None) -> Turns:
    memory = MemoryFacade(store, MemoryPolicy.model_validate({"extraction": {"mode": "inline", "recover_after": 0}}))
    return Turns(memory, model, "ann", "1", "tester")


async def read(store: InMemoryStore, said: str, model: Extractor | None, number: int = 0) -> TurnReport:
    one = turns(store, model)
    await one.close([HumanMessage(said, id=f"q{number}"), AIMessage("Fine.", id=f"a{number}")], None)
    return await one.extract()


async def values(store: InMemoryStore) -> list[dict[str, Any]]:
    found = await store.asearch(scope_namespace("ann", MemoryScope.SEMANTIC), limit=1000)
    return [item.value for item in found if item.value["kind"] == "fact"]


async def facts(store: InMemoryStore, *, verbatim: bool) -> list[str]:
    found = [value for value in await values(store) if value["current"]]
    return sorted(value["text"] for value in found if value["verbatim"] is verbatim)


@pytest.mark.parametrize(
    ("said", "labelled", "kept"),
    [
        ("I like tofu a lot, and I never touch shellfish.", ["tofu"], ["and I never touch shellfish."]),
        ("I have a boat. I ride a bike.", ["boat"], ["I ride a bike."]),
        ("我很喜欢在家里吃豆腐，从来不吃任何贝类。", ["豆腐"], ["从来不吃任何贝类。"]),
        ("Tôi rất thích đậu phụ; tôi không ăn hải sản.", ["đậu phụ"], ["tôi không ăn hải sản."]),
        ("Ich bin gegen Erdnüsse allergisch.", [], ["Ich bin gegen Erdnüsse allergisch."]),
        ("甲殻類は絶対に食べない。", [], ["甲殻類は絶対に食べない。"]),
        ("Hi there! How are you? Thanks a lot.", [], []),
        ("I like tofu. Where can I buy tofu?", ["like tofu"], []),
    ],
)
async def test_what_no_label_covers_is_kept_as_said(said: str, labelled: list[str], kept: list[str]) -> None:
    store = InMemoryStore()
    await read(store, said, Labeller(*map(Says, labelled), rest=None))
    assert await facts(store, verbatim=True) == kept
    assert len(await facts(store, verbatim=False)) == len(labelled)


async def test_what_a_label_sets_aside_is_not_kept() -> None:
    store = InMemoryStore()
    report = await read(store, "I like tofu. Maybe I will buy a boat. Lovely weather today.", Labeller(Says("tofu")))
    assert await facts(store, verbatim=True) == []
    assert (await facts(store, verbatim=False), report.problem) == (["I like tofu."], "")


async def test_what_is_unread_is_offered_once_more_and_not_again() -> None:
    store = InMemoryStore()
    await read(store, "I have a boat.", NOTHING)
    again = Labeller(rest=None)
    for number in (1, 2, 3):
        await read(store, "Thanks!", again, number)
    assert [prompt.count("I have a boat.") for prompt in again.prompts if "[1]" in prompt] == [2, 1, 1], again.prompts
    assert await facts(store, verbatim=True) == ["I have a boat."]


async def test_what_the_second_reading_labels_is_a_fact_of_its_own_and_kept_once() -> None:
    store = InMemoryStore()
    await read(store, "I like tofu a lot, and I have a boat.", Labeller(Says("tofu"), rest=None))
    await read(store, "Thanks!", Labeller(Says("tofu", "same", "tofu"), Says("boat")), 1)
    assert await facts(store, verbatim=True) == []
    assert await facts(store, verbatim=False) == ["I like tofu a lot,", "and I have a boat."]
    assert all((value["support"], value["unread"]) == (1, False) for value in await values(store))


async def test_a_statement_that_names_itself_as_its_repetition_is_read() -> None:
    # what is offered again is shown among the memories as well
    store = InMemoryStore()
    await read(store, "I have a boat.", NOTHING)
    await read(store, "Thanks!", Labeller(Says("boat", "same", "boat")), 1)
    [value] = await values(store)
    assert (value["text"], value["verbatim"], value["unread"], value["support"]) == ("I have a boat.", False, False, 1)


async def test_a_long_message_loses_no_clause_and_fills_no_memory() -> None:
    store = InMemoryStore()
    many = 70
    await read(store, " ".join(f"I own book number {n}." for n in range(many)), Labeller())
    assert len(await facts(store, verbatim=True)) == many - 60
    await read(store, " ".join(f"I own coin number {n}." for n in range(500)), NOTHING, 1)
    kept = [text for text in await facts(store, verbatim=True) if "coin" in text]
    assert len(kept) == MAX_VERBATIM


async def test_of_a_statement_that_is_read_in_part_the_rest_is_kept() -> None:
    store = InMemoryStore()
    await read(store, "I like tofu a lot, and I have a boat.", None)
    await end_conversation(turns(store, Labeller(Says("tofu"), rest=None)))
    assert await facts(store, verbatim=False) == ["I like tofu a lot,"]
    assert await facts(store, verbatim=True) == ["and I have a boat."]


async def test_a_conversation_that_is_concluded_loses_no_clause_that_the_model_is_not_shown() -> None:
    store = InMemoryStore()
    said = [f"I own book number {n}. I own coin number {n}." for n in range(40)]
    for number, text in enumerate(said):
        await read(store, text, None, number)
    assert len(await facts(store, verbatim=True)) == 80
    await end_conversation(turns(store, Labeller(*(Says(f"book number {n}.") for n in range(40)), rest=None)))
    left = [*await facts(store, verbatim=True), *await facts(store, verbatim=False)]
    assert sorted(left) == sorted(sentence for text in said for sentence in text.replace(". ", ".|").split("|"))


async def test_what_was_kept_as_said_goes_when_it_is_read_at_the_end_of_the_conversation() -> None:
    store = InMemoryStore()
    await read(store, "I like tofu a lot, and I never touch shellfish.", Labeller(Says("tofu"), rest=None))
    await end_conversation(turns(store, Labeller(Says("tofu"), Says("shellfish"))))
    assert await facts(store, verbatim=True) == []
    assert await facts(store, verbatim=False) == ["I like tofu a lot,", "and I never touch shellfish."]


async def test_what_is_asked_to_be_forgotten_is_not_kept_as_said() -> None:
    store = InMemoryStore()
    await read(store, "I like green tea.", Labeller(Says("green tea")))
    await read(store, "Forget that I like green tea!", Labeller(Says("Forget", "forget", "green tea")), 1)
    assert "tea" not in " ".join([*await facts(store, verbatim=True), *await facts(store, verbatim=False)])


async def test_what_only_depends_on_what_was_said_is_not_reported_as_new() -> None:
    store = InMemoryStore()
    await read(store, "I live in Oslo.", Labeller(Says("Oslo")))
    report = await read(store, "My commute is short.", Labeller(Says("commute", needs=["Oslo"])), 1)
    assert (report.stored, report.retired) == (["My commute is short."], [])
    report = await read(store, "I moved to Rome.", Labeller(Says("Rome", "changes", "Oslo")), 2)
    assert (report.stored, report.retired) == (["I moved to Rome."], ["I live in Oslo."])
    [commute] = [value for value in await values(store) if "commute" in value["text"]]
    assert len(commute["doubts"]) == 1


def test_words_of_a_message_are_trusted_no_more_than_the_message() -> None:
    where: dict[str, Any] = {"session_id": "1", "agent_id": "tester", "turn": 0}
    said = Message(id="m", text="I like tea.", content="I like tea.", role="user", origin=Origin.QUOTED, **where)
    [fact] = unread_facts([Unread("I like tea.", "m")], [said], "tester")
    assert fact.origin is Origin.QUOTED
