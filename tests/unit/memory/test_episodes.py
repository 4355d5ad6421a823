"""Episodes of a turn: held to what was said and observed; the same one is told once."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from react_mem.memory.context.found_memory import FoundMemory
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.facts import hold_episode, same_episode
from react_mem.memory.model.interface import MemoryScope, MemoryWriteEvent
from react_mem.memory.model.operations import EpisodeDraft, Extraction
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.records import Episode, Level, record_id
from react_mem.memory.write.turns import Turns

SAID = ["Please book me a flight to Hue on 12 May.", "Booked: flight VN 1541 for 840 dollars."]
OBSERVED = ['search_flights({"to": "Hue"}) -> VN 1541, 840 dollars, no refund', "book(VN 1541) -> confirmed"]
GOAL = "Book a flight to Hue on 12 May"


def held(
    goal: str = GOAL, said: list[str] = SAID, observed: list[str] = OBSERVED, **fields: Any
) -> EpisodeDraft | None:
    return hold_episode(EpisodeDraft(goal, **fields), said, observed)


@pytest.mark.parametrize(
    "goal",
    [
        "Plan a wedding for the whole family",
        "Book a flight to Paris on 12 May",
        "预订五月十二日去顺化的机票",
    ],
)
def test_an_episode_whose_goal_nobody_had_is_none(goal: str) -> None:
    assert held(goal) is None


def test_parts_with_invented_names_and_numbers_are_left_out() -> None:
    draft = held(
        steps=("searched for flights", "called the Hilton"),
        outcome="The flight was booked. It costs 900 dollars.",
        lessons=("The flight to Rome has no refund.", "Pay 900 dollars for a refund."),
    )
    assert draft == EpisodeDraft(GOAL, steps=("searched for flights",), outcome="The flight was booked.")


def test_lessons_come_from_what_tools_returned_alone() -> None:
    lesson = "VN 1541 has no refund."
    assert held(lessons=(lesson,)) == EpisodeDraft(GOAL, lessons=(lesson,))
    assert held(lessons=(lesson,), observed=[]) == EpisodeDraft(GOAL)
    # nothing of it was observed, though it names nothing
    assert held(lessons=("Always double-check everything early.",)) == EpisodeDraft(GOAL)
    # what the user says is no observation
    assert held(lessons=("Fly on 12 May.",)) == EpisodeDraft(GOAL)


# Told again


def episode(goal: str, source: str = "m1", **fields: Any) -> Episode:
    level = fields.get("level", Level.TASK)
    return Episode(
        id=record_id("episode", level, source),
        text=goal,
        goal=goal,
        session_id="s",
        agent_id="a",
        source_ids=(source,),
        **fields,
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Book a flight to Hue on 12 May", "Booking the flight to Hue on 12 May"),
        ("Đặt vé máy bay đi Huế", "Người dùng đặt vé máy bay đi Huế"),
        ("预订去顺化的机票", "预订顺化的机票"),
    ],
)
def test_the_same_goal_in_other_words_is_the_same_episode(one: str, other: str) -> None:
    known = episode(one)
    assert same_episode(episode(other, "m2"), [episode("Water the plants", "m0"), known]) is known


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Book a cheap direct morning flight to Hue", "Book a cheap direct morning flight to Hanoi"),
        ("预订去顺化的机票", "预订去河内的机票"),
        ("Fix the login page", "Paint the kitchen"),
    ],
)
def test_another_goal_is_another_episode(one: str, other: str) -> None:
    assert same_episode(episode(other, "m2"), [episode(one)]) is None
    assert same_episode(episode(one, "m2"), [episode(other)]) is None


class Tells:
    """An extractor that tells of an episode with each turn."""

    def __init__(self, *goals: str) -> None:
        self.goals = list(goals)

    async def extract(self, *arguments: Any, **options: Any) -> Extraction:
        goal = self.goals.pop(0)
        return Extraction(episode=EpisodeDraft(goal, outcome=f"turn {len(self.goals)}"))


async def test_turns_that_tell_the_same_add_to_one_episode() -> None:
    tells = Tells("Book a flight to Hue", "Booking flight to Hue", "Book a flight to Rome", "book a flight to Hue!")
    memory = MemoryFacade(InMemoryStore(), MemoryPolicy.model_validate({"extraction": {"mode": "inline"}}))
    turns = Turns(memory, tells, "ann", "talk", "tester")
    thread: list[Any] = []
    for number in range(4):
        known = thread[-1].id if thread else None
        thread += [HumanMessage(f"Any news, {number}?", id=f"q{number}"), AIMessage("No.", id=f"a{number}")]
        await turns.close(thread, known)
        await turns.extract()
    found = await memory.list_records("ann", [MemoryScope.EPISODIC])
    told = {item.payload["goal"]: item.payload for item in found}
    assert set(told) == {"Book a flight to Hue", "Book a flight to Rome"}
    assert told["Book a flight to Hue"]["outcome"] == "turn 0"
    assert len(told["Book a flight to Hue"]["source_ids"]) == 6


async def test_an_episode_is_found_and_shown_by_the_request_that_began_it() -> None:
    memory = MemoryFacade(InMemoryStore(), MemoryPolicy())
    begun = "My sister marries in Rome, can you get me there?"
    owner: dict[str, Any] = {"user_id": "ann", "session_id": "s", "agent_id": "a"}
    await memory.episodic.record("Book a flight", **owner, outcome="Booked.", situation=begun)
    await memory.episodic.record("Book a room", **owner, situation="Could you book a room?", thoughts="It is late.")
    milestone: dict[str, Any] = {"level": Level.MILESTONE, "milestone_title": "Shop moved", "outcome": "It is open."}
    await memory.episodic.record("Move the shop", **owner, **milestone, situation="The rent in Hanoi is too high.")
    found = await memory.list_records("ann", [MemoryScope.EPISODIC])
    assert {item.payload["text"] for item in found} == {
        f"Book a flight Booked.\n{begun}",
        "Book a room",
        "Shop moved: It is open.\nThe rent in Hanoi is too high.",
    }
    [best, *_] = await memory.episodic.recall("Who marries?", user_id="ann")
    assert begun in FoundMemory(best).line()
    # told again, with what was thought then
    told = await memory.episodic.record("book a flight!", **owner, situation="Once more.", thoughts="Try the train.")
    assert (told.situation, told.thoughts) == (begun, "Try the train.")
    assert told.text == f"Book a flight Booked.\n{begun}"


async def test_what_was_thought_goes_with_an_export_and_with_what_is_forgotten() -> None:
    memory, other = MemoryFacade(InMemoryStore(), MemoryPolicy()), MemoryFacade(InMemoryStore(), MemoryPolicy())
    owner: dict[str, Any] = {"user_id": "ann", "session_id": "s", "agent_id": "a"}
    thoughts = "The shop is open till six. She is allergic to peanuts."
    await memory.episodic.record("Find a cake", **owner, thoughts=thoughts)
    await other.import_user("bob", [line async for line in memory.export_user("ann")])
    [copied] = await other.list_records("bob", [MemoryScope.EPISODIC])
    assert copied.payload["thoughts"] == thoughts
    said = {"text": "I am allergic to peanuts", "about": "user"}
    scope = MemoryScope.SEMANTIC
    await memory.write(MemoryWriteEvent(user_id="ann", session_id="s", agent_id="a", scope=scope, data=said))
    [fact] = await memory.list_records("ann", [scope])
    await memory.forget("ann", fact.id)
    [left] = await memory.list_records("ann", [MemoryScope.EPISODIC])
    assert left.payload["thoughts"] == "The shop is open till six."
