"""An episode and a summary, held to the messages that they tell of."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from react_mem.memory.merging.episodes import hold_episode, hold_summary
from react_mem.memory.model.operations import EpisodeDraft, TranscriptMessage
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.write.extraction.briefing import Briefing
from react_mem.memory.write.extraction.evidence import repeats_example
from react_mem.memory.write.extraction.proposal import MAX_LESSONS, MAX_STEPS, ProposedEpisode, Refused, bounded

MAX_PART = 300
MAX_SUMMARY = 500
MAX_TITLE = 80
MAX_OUTCOME = 900


def check_episode(proposed: ProposedEpisode, briefing: Briefing) -> EpisodeDraft:
    """Return an episode as far as the messages tell of it, or refuse it."""
    bounded(proposed.goal, MAX_PART, "goal")
    if len(proposed.outcome) > MAX_OUTCOME or any(len(p) > MAX_PART for p in (*proposed.steps, *proposed.lessons)):
        raise Refused("a part of the episode is too long")
    if len(proposed.steps) > MAX_STEPS or len(proposed.lessons) > MAX_LESSONS:
        raise Refused("too many steps or lessons")
    milestone = " ".join(proposed.milestone.split())
    if len(milestone) > MAX_TITLE:
        raise Refused("milestone is too long")
    said, observed = _shown(briefing)
    draft = EpisodeDraft(
        goal=proposed.goal.strip(),
        steps=tuple(step.strip() for step in proposed.steps if step.strip()),
        outcome=proposed.outcome.strip(),
        lessons=tuple(lesson.strip() for lesson in proposed.lessons if lesson.strip()),
        milestone=milestone,
        origin=lowest([Origin.ASSISTANT, *(_origin(m) for m in briefing.messages)]),
    )
    if any(repeats_example(part, [*said, *observed]) for part in (draft.goal, draft.outcome, draft.milestone)):
        raise Refused("it repeats an example of the instructions")
    held = hold_episode(draft, said, observed, _dates(briefing))
    if held is None:
        raise Refused("no message tells of it")
    return held


def check_summary(value: Any, briefing: Briefing) -> str:
    """Return a summary as far as it sums up the messages; empty where there is none. One that is no text is refused."""
    if value is None or value == "":
        return ""
    if not isinstance(value, str) or len(value) > MAX_SUMMARY:
        raise Refused("the summary is not a short text")
    said, observed = _shown(briefing)
    held = hold_summary(" ".join(value.split()), [*said, *observed], _dates(briefing))
    return "" if repeats_example(held, [*said, *observed]) else held


def _shown(briefing: Briefing) -> tuple[list[str], list[str]]:
    said = [message.text for message in briefing.messages if message.role != "tool"]
    return said, [message.text for message in briefing.messages if message.role == "tool"]


def _dates(briefing: Briefing) -> list[datetime]:
    return [message.at for message in briefing.messages if message.at is not None]


def _origin(message: TranscriptMessage) -> Origin:
    return Origin.TOOL if message.role == "tool" else message.origin
