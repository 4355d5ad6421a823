"""What a model labels on a branch of a thread holds on that branch: changes, ends, other words, dependence, doubt."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.store.base import BaseStore

from tests.integration.test_forks import HUE, Thread, agent, kind, store, way
from tests.support.labels import Says, labelled, prompt_of
from tests.support.scripted_model import ScriptedModel

__all__ = ["kind", "store", "way"]

MOVED, LEFT, HOME = "I moved to Hanoi last week.", "I no longer live in Hue.", "My home is in Hue."
BUS, PERHAPS = "I take the early bus to work.", "These days I sleep in Hanoi."
TEA = "I like green tea."

LABELS = (
    Says(HUE),
    Says(TEA),
    Says(MOVED, "changes", HUE),
    Says(LEFT, "ends", HUE),
    Says(HOME, "same", HUE),
    Says(BUS, needs=[HUE]),
    Says(PERHAPS, "unsure", HUE),
)


def label(messages: list[BaseMessage]) -> AIMessage:
    return AIMessage(json.dumps(labelled(prompt_of(messages), *LABELS)))


@pytest.fixture
def talk(kind: str, store: BaseStore) -> Thread:
    model = ScriptedModel(script=[f"noted {number}" for number in range(40)])
    small = ScriptedModel(script=[label])
    return Thread(agent(kind, store, model, small, summaries={"enabled": False}), model, store)


@pytest.mark.parametrize(("ending", "after"), [(MOVED, [MOVED]), (LEFT, [])])
async def test_an_end_holds_on_its_branch_only(ending: str, after: list[str], talk: Thread) -> None:
    await talk.say(HUE)
    ended = await talk.say(ending)
    assert await talk.facts() == after
    await talk.say(TEA, at=await talk.before(ending))
    assert await talk.facts() == sorted([TEA, HUE])
    await talk.say("Where do I live?", at=ended)
    assert await talk.facts() == after
    assert HUE in await talk.facts(current=False)


async def test_a_fact_that_is_said_in_other_words_only_is_put_in_those(talk: Thread) -> None:
    await talk.say(HUE)
    there = talk.named("2")
    await there.say(HOME)
    assert await talk.facts() == [HUE]
    # the first conversation takes it back, the second does not
    old = (await talk.graph.aget_state(talk.config)).config
    await talk.say(TEA, at=await talk.before(HUE))
    assert await talk.facts() == sorted([TEA, HOME])
    # and to say it again in those words says nothing new
    await talk.named("3").say(HOME)
    assert await talk.facts() == sorted([TEA, HOME])
    assert (await talk.fact(HOME))["support"] == 2
    await talk.say("Where do I live?", at=old)
    assert [text for text in await talk.facts() if text in (HUE, HOME)] == [HOME]
    assert (await talk.fact(HOME))["support"] == 3


async def test_what_depends_on_what_changed_is_in_doubt_on_that_branch_only(talk: Thread) -> None:
    await talk.say(HUE)
    await talk.say(BUS)
    moved = await talk.say(MOVED)
    asking = talk.named("2")
    await asking.say("Which early bus do I take?")
    assert "(in doubt" in talk.prompt()
    await talk.say(TEA, at=await talk.before(MOVED))
    assert await talk.facts() == sorted([TEA, HUE, BUS])
    await asking.say("And which early bus is it now?")
    assert BUS in talk.prompt()
    assert "(in doubt" not in talk.prompt()
    await talk.say("Where do I live?", at=moved)
    await asking.say("Which early bus then?")
    assert "(in doubt" in talk.prompt()


async def test_a_doubt_holds_on_its_branch_only(talk: Thread) -> None:
    await talk.say(HUE)
    perhaps = await talk.say(PERHAPS)
    asking = talk.named("2")
    await asking.say("Do I live in Hue?")
    assert await talk.facts() == sorted([HUE, PERHAPS])
    assert "(in doubt" in talk.prompt()
    await talk.say(TEA, at=await talk.before(PERHAPS))
    await asking.say("So do I live in Hue?")
    assert HUE in talk.prompt()
    assert "(in doubt" not in talk.prompt()
    await talk.say("Where do I live?", at=perhaps)
    await asking.say("And now, do I live in Hue?")
    assert "(in doubt" in talk.prompt()
