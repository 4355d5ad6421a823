"""Episodes and preferences of summaries: from the same messages, linked both ways, gone with what is forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import Any

from langgraph.store.memory import InMemoryStore

from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.operations import (
    EpisodeDraft,
    ExistingMemory,
    Extraction,
    Operation,
    TranscriptMessage,
    put,
)
from react_mem.memory.model.records import Summary
from tests.unit.memory.summaries.talking import Conversation

COOL, EARLY, OTHER = "I prefer a cool climate.", "I like trains in the morning.", "I live in Hue."


class Trips:
    """An extractor that keeps what the user says as facts, and takes a turn for an attempt to plan a trip."""

    async def extract(
        self,
        messages: Sequence[TranscriptMessage],
        existing: Sequence[ExistingMemory],
        *,
        deadline: float,
        zone: tzinfo = UTC,
    ) -> Extraction:
        said = [message for message in messages if message.role == "user" and not message.context]
        goal = f"Plan a trip: {said[-1].text}"
        return Extraction(
            ops=tuple(Operation("new", message.text, source_ids=(message.id,)) for message in said),
            episode=EpisodeDraft(goal, outcome="planned", steps=("looked up trains",)),
            summary=f"They plan a trip: {' '.join(message.text for message in said)}",
        )


def talking(*, reads: bool = True, **shape: Any) -> Conversation:
    talk = Conversation(InMemoryStore()).shaped(
        window="oldest", n_sum=4, sum_window=2, n_sum_sum=2, max_sum_lvl=2, **shape
    )
    if reads:
        talk.turns = replace(talk.turns, extractor=Trips())
    return talk


async def of_invocations(talk: Conversation) -> list[Summary]:
    found = await talk.memory.list_records("ann", [MemoryScope.DIALOG])
    made = [Summary.from_value(item.payload) for item in found if item.source == "summary"]
    return sorted((one for one in made if not one.chain), key=lambda summary: summary.created_at)


async def texts(talk: Conversation, *scopes: MemoryScope) -> dict[str, str]:
    return {item.id: item.payload["text"] for item in await talk.memory.list_records("ann", scopes)}


async def told(talk: Conversation, summary: Summary) -> tuple[list[str], list[str]]:
    """Return the preferences and the episodes that a summary names, in words."""
    known = await texts(talk, MemoryScope.SEMANTIC, MemoryScope.EPISODIC)
    return [known[id_] for id_ in summary.task_preferences], [known[id_] for id_ in summary.episodes]


async def test_the_summary_of_an_invocation_names_its_episode_and_what_is_preferred() -> None:
    talk = talking()
    await talk.say(COOL, OTHER)
    first, second = await of_invocations(talk)
    assert await told(talk, first) == ([COOL], [f"Plan a trip: {COOL} planned"])
    assert await told(talk, second) == ([], [f"Plan a trip: {OTHER} planned"])
    assert "task_preferences" not in second.to_value()
    assert Summary.from_value(second.to_value()) == second


async def test_the_summaries_of_a_chain_name_what_comes_from_their_messages_at_every_level() -> None:
    talk = talking()
    await talk.say(COOL, OTHER, EARLY)
    first, second, higher = await talk.summaries()
    assert (first.level, second.level, higher.level) == ("1", "1", "2")
    of_first, of_second, of_both = [await told(talk, one) for one in (first, second, higher)]
    assert of_first == ([COOL], [f"Plan a trip: {COOL} planned"])
    assert of_second == ([], [f"Plan a trip: {OTHER} planned"])
    assert of_both == ([COOL], [*of_first[1], *of_second[1]])
    await talk.say("I have a bicycle.", "I swim on Sundays.", "I read a lot.", "I cook on Fridays.", "I know Lan.")
    master = (await talk.summaries())[-1]
    assert master.level == "master"
    assert COOL in (await told(talk, master))[0]


async def test_what_is_forgotten_is_named_no_more() -> None:
    talk = talking()
    await talk.say(OTHER, COOL)
    # of another part of the conversation, which names it all the same
    [chained] = await talk.summaries()
    facts = await texts(talk, MemoryScope.SEMANTIC)
    [cool] = [id_ for id_, text in facts.items() if text == COOL]
    named = chained.model_copy(update={"task_preferences": (cool,)})
    await talk.memory.apply([put("ann", named)])
    await talk.memory.forget("ann", cool)
    [chained] = await talk.summaries()
    assert chained.task_preferences == ()
    left = str([item.payload for item in await talk.memory.list_records("ann")])
    assert cool not in left
    assert "cool climate" not in left
