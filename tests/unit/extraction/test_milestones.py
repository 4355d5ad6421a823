"""A milestone is called something and told by how it ended; all else is a task."""

from __future__ import annotations

from typing import Any

import pytest

from react_mem.memory.context import render_memories
from react_mem.memory.model.interface import MemoryResultItem, MemoryScope
from react_mem.memory.model.records import Episode, Level, now
from react_mem.memory.write import drafts
from react_mem.memory.write.drafts import Stamp
from react_mem.memory.write.extraction.checks import MAX_OUTCOME, MAX_TITLE
from react_mem.memory.write.extraction.proposal import strict_schema
from tests.support.labels import proposal
from tests.unit.extraction.judging import Said, judged, reasons

SAID: Said = [("user", "We weighed cities and have decided: the shop moves to Hue."), ("assistant", "Noted.")]
MILESTONE = {
    "goal": "Weigh cities for the shop",
    "steps": [],
    "outcome": "We weighed cities. The shop moves to Hue.",
    "lessons": [],
    "milestone": "The shop moves to Hue",
}
STAMP = Stamp("monday", "helper", now())


def record(**changed: Any) -> Episode:
    draft = judged(SAID, proposal(episode={**MILESTONE, **changed})).episode
    assert draft is not None
    return drafts.episode(draft, ("id-1", "id-2"), STAMP, ("step-1",))


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
        ({"outcome": "x" * (MAX_OUTCOME + 1)}, "a part of the episode is too long"),
        ({"goal": "Buy a yacht in Monaco"}, "no message tells of it"),
    ],
)
def test_a_milestone_that_does_not_hold_is_refused(wrong: dict[str, Any], reason: str) -> None:
    extraction = judged(SAID, proposal(episode={**MILESTONE, **wrong}))
    assert extraction.episode is None
    assert reasons(extraction) == [reason]


def test_the_form_of_an_episode_is_that_of_the_answers() -> None:
    forms = strict_schema([], clauses=1)["properties"]["episode"]["anyOf"]
    [form] = [one for one in forms if one.get("type") == "object"]
    assert set(form["required"]) == set(form["properties"]) == set(MILESTONE)


def test_an_episode_that_was_stored_before_there_were_milestones_still_reads() -> None:
    value = record(milestone="").to_value()
    del value["milestone_title"], value["linked_steps"]
    assert (Episode.from_value(value).milestone_title, Episode.from_value(value).linked_steps) == ("", ())
