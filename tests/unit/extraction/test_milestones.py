"""A milestone is called something, told in a few sentences, and shown by messages; all else is a task."""

from __future__ import annotations

from typing import Any

import pytest

from memory import drafts
from memory.context import render_memories
from memory.drafts import Origin
from memory.extraction.checks import MAX_SNAPSHOT, MAX_TITLE
from memory.extraction.proposal import strict_schema
from memory.interface import MemoryResultItem, MemoryScope
from memory.records import Episode, Level, now
from tests.unit.extraction.test_checks import judged, reasons

SAID: Any = [("user", "We have decided: the shop moves to Hue."), ("assistant", "Noted.")]
MILESTONE = {
    "goal": "Choose a city",
    "situation": "",
    "steps": [],
    "outcome": "Hue",
    "lessons": [],
    "level": "milestone",
    "milestone_title": "The shop moves to Hue",
    "snapshot": "The user weighed cities. The choice fell on Hue. The shop moves there.",
    "source_ids": ["m1"],
    "importance": 0.9,
}
ORIGIN = Origin("monday", "helper", now())


def record(**changed: Any) -> Episode:
    draft = judged(SAID, {"episode": {**MILESTONE, **changed}}).episode
    assert draft is not None
    return drafts.episode(draft, ("id-1", "id-2"), ORIGIN, ("step-1",))


def test_a_milestone_is_found_by_its_title_and_snapshot_and_shown_as_one() -> None:
    made = record()
    assert (made.level, made.milestone_title, made.linked_steps) == (
        Level.MILESTONE,
        "The shop moves to Hue",
        ("step-1",),
    )
    assert made.text == f"The shop moves to Hue: {MILESTONE['snapshot']}"
    item = MemoryResultItem(scope=MemoryScope.EPISODIC, id=made.id, payload=made.to_value(), source="episode")
    assert render_memories([item], 200).text.startswith(
        f"- [milestone {made.created_at:%Y-%m-%d}] The shop moves to Hue:"
    )


@pytest.mark.parametrize("missing", [{"milestone_title": " "}, {"snapshot": ""}, {"source_ids": []}])
def test_what_is_called_nothing_or_shown_by_nothing_is_a_task(missing: dict[str, Any]) -> None:
    made = record(**missing)
    assert (made.level, made.milestone_title, made.text) == (Level.TASK, "", "Choose a city Hue")


@pytest.mark.parametrize("level", ["task", "conversation"])
def test_only_a_milestone_has_a_title(level: str) -> None:
    made = record(level=level)
    assert (made.level, made.milestone_title, made.text) == (Level(level), "", "Choose a city Hue")


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"source_ids": ["m9"]}, "cites a message that does not exist"),
        ({"milestone_title": "x" * (MAX_TITLE + 1)}, "milestone_title is too long"),
        ({"snapshot": "x" * (MAX_SNAPSHOT + 1)}, "snapshot is too long"),
        ({"importance": 2}, "importance is not between 0 and 1"),
    ],
)
def test_a_milestone_that_does_not_hold_is_refused(wrong: dict[str, Any], reason: str) -> None:
    extraction = judged(SAID, {"episode": {**MILESTONE, **wrong}})
    assert extraction.episode is None
    assert reason in reasons(extraction)[0]


def test_a_model_can_cite_only_what_it_was_shown() -> None:
    forms = strict_schema(["m1"], [])["properties"]["episode"]["anyOf"]
    [episode] = [form for form in forms if form.get("type") == "object"]
    assert episode["properties"]["source_ids"]["items"] == {"type": "string", "enum": ["m1"]}
    assert set(episode["required"]) == set(MILESTONE)


def test_an_episode_that_was_stored_before_there_were_milestones_still_reads() -> None:
    value = record(level="task").to_value()
    del value["milestone_title"], value["linked_steps"]
    assert (Episode.from_value(value).milestone_title, Episode.from_value(value).linked_steps) == ("", ())
