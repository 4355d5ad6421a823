"""A milestone is called something and told by how it ended; all else is a task."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from react_mem.memory.context import render_memories
from react_mem.memory.language.statements import sentences
from react_mem.memory.llm.answers import Answer
from react_mem.memory.model.interface import MemoryResultItem, MemoryScope
from react_mem.memory.model.records import Episode, Level
from react_mem.memory.write import committing as drafts
from react_mem.memory.write.extraction.checks import check
from react_mem.memory.write.extraction.proposal import MAX_TITLE
from tests.support.labels import NOTHING, proposal
from tests.unit.extraction.judging import Said, judged, reasons, shown

SAID: Said = [("user", "We weighed cities and have decided: the shop moves to Hue."), ("assistant", "Noted.")]
MILESTONE = {
    "goal": "Weigh cities for the shop",
    "steps": [],
    "outcome": "We weighed cities. The shop moves to Hue.",
    "lessons": [],
    "milestone": "The shop moves to Hue",
    "snapshot": "",
    "importance": 0.5,
}
WHERE = {"session_id": "monday", "agent_id": "helper"}


def record(**changed: Any) -> Episode:
    draft = judged(SAID, proposal(episode={**MILESTONE, **changed})).episode
    assert draft is not None
    return drafts.episode(draft, ("id-1", "id-2"), ("step-1",), **WHERE)


def test_a_milestone_is_found_by_its_title_and_outcome_and_shown_as_one() -> None:
    made = record()
    assert (made.level, made.milestone_title, made.linked_steps) == (
        Level.MILESTONE,
        "The shop moves to Hue",
        ("step-1",),
    )
    assert made.text == f"The shop moves to Hue: {MILESTONE['outcome']}"
    item = MemoryResultItem(scope=MemoryScope.EPISODIC, id=made.id, payload=made.to_value(), source="episode")
    assert f"[milestone {made.created_at:%Y-%m-%d}" in render_memories([item], 200).text


@pytest.mark.parametrize("missing", [{"milestone": " "}, {"outcome": ""}])
def test_what_is_called_nothing_or_has_no_outcome_is_a_task(missing: dict[str, Any]) -> None:
    made = record(**missing)
    assert (made.level, made.milestone_title) == (Level.TASK, "")
    assert made.text.startswith("Weigh cities for the shop")


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"milestone": "x" * (MAX_TITLE + 1)}, "milestone is too long"),
        ({"goal": "Buy a yacht in Monaco"}, "no message tells of it"),
    ],
)
def test_a_milestone_that_does_not_hold_is_refused(wrong: dict[str, Any], reason: str) -> None:
    extraction = judged(SAID, proposal(episode={**MILESTONE, **wrong}))
    assert extraction.episode is None
    assert reasons(extraction) == [reason]


def test_an_episode_that_was_stored_before_there_were_milestones_still_reads() -> None:
    value = record(milestone="").to_value()
    del value["milestone_title"], value["linked_steps"]
    assert (Episode.from_value(value).milestone_title, Episode.from_value(value).linked_steps) == ("", ())


STORY = "We weighed cities. We have decided. The shop moves to Hue. It was paid in Monaco. All is noted."


def test_a_snapshot_is_told_in_the_sentences_that_hold() -> None:
    made = record(snapshot=STORY)
    assert made.text == f"The shop moves to Hue: {STORY.replace('It was paid in Monaco. ', '')}"
    assert made.outcome == MILESTONE["outcome"]
    assert len(sentences(record(snapshot="We weighed cities. " * 9).text)) == 5


def wanted(payload: dict[str, Any], said: Said = SAID) -> Episode | None:
    briefing = shown(said)
    first, *rest = briefing.messages
    briefing = replace(briefing, messages=[replace(first, snapshot=True), *rest])
    draft = check(Answer(payload), briefing).episode
    return None if draft is None else drafts.episode(draft, ("id-1",), **WHERE)


def test_what_the_switching_engine_asks_for_is_a_milestone_whatever_the_model_calls_it() -> None:
    made = wanted(proposal(episode={**MILESTONE, "milestone": ""}))
    assert made is not None
    assert (made.level, made.milestone_title) == (Level.MILESTONE, "Weigh cities for the shop")


def test_a_snapshot_that_is_asked_for_is_made_of_the_messages_where_the_model_tells_of_none() -> None:
    made = wanted(NOTHING)
    assert made is not None
    assert made.level is Level.MILESTONE
    assert made.goal == made.situation == SAID[0][1]
    # the request once, and nobody's name before it
    assert made.text == SAID[0][1]
    assert judged(SAID, NOTHING).episode is None
    # there is no request in it
    assert wanted(NOTHING, [("assistant", "Noted."), ("user", "Thanks!")]) is None


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("The upload failed. The lesson for next time: check the port before you deploy.", True),
        ("The upload failed, the port was taken.", False),
        ("> Check the port before you deploy.\nThe upload failed, as they wrote.", False),
    ],
)
def test_a_lesson_is_what_the_user_states_themselves(said: str, told: bool) -> None:
    lesson = "Check the port before you deploy."
    thread: Said = [("user", said), ("assistant", f"I will remember: {lesson}")]
    draft = judged(thread, proposal(episode={**MILESTONE, "goal": "The upload failed", "lessons": [lesson]})).episode
    assert draft is not None
    assert draft.lessons == ((lesson,) if told else ())
