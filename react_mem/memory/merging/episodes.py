"""Checks of a model's episode or summary against the messages and tool results; deduplication of episodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

from react_mem.memory.language import UNSPACED
from react_mem.memory.language.comparison import Vocabulary, content_words
from react_mem.memory.language.folding import MAX_INDEXED_CHARS, normalise
from react_mem.memory.language.hallucination import Told, names, unknown_numbers, values
from react_mem.memory.model.origins import lowest
from react_mem.memory.model.records import Episode, Level, written_in
from react_mem.memory.summaries.sources import shortened

if TYPE_CHECKING:
    from react_mem.memory.model.operations import EpisodeDraft


_GOAL_SHARE = 0.5  # share of a goal's words that the messages must have
_SAME_SHARE = 0.7  # share of words that two goals, or two lessons, must have of each other to be the same
_NEARLY_ALL = 0.8  # share of a request's words from which the account of its episode covers the request
_MAX_SITUATION = 300  # characters of an episode's request that are indexed and shown
_UNSPACED = re.compile(f"[{UNSPACED}]")


def hold_episode(
    draft: EpisodeDraft, said: Sequence[str], observed: Sequence[str], at: Iterable[datetime] = ()
) -> EpisodeDraft | None:
    """Return an episode without hallucinated parts, its lessons from tool results alone; None without support."""
    asked, told, seen = Told(said, at), Told([*said, *observed], at), Told(observed, at)
    goal = draft.goal.strip()
    if asked.share(goal) < _GOAL_SHARE or not told.bears_out(goal):
        return None
    outcome, snapshot = told.held(draft.outcome), told.held(draft.snapshot)
    return replace(
        draft,
        goal=goal,
        steps=tuple(filter(None, map(told.held, draft.steps))),
        outcome=outcome,
        lessons=tuple(
            lesson for lesson in map(str.strip, draft.lessons) if seen.share(lesson) and seen.bears_out(lesson)
        ),
        milestone=told.held(draft.milestone) if outcome or snapshot else "",
        snapshot=snapshot,
    )


def same_episode(new: Episode, known: Iterable[Episode]) -> Episode | None:
    """Return the stored episode with the same goal as a new one, perhaps in other words; None if there is none."""
    return next((one for one in known if one.id == new.id or _is_same(one, new)), None)


def merged(known: Episode, new: Episode) -> Episode:
    """Return a known episode merged with a new account of it: the latest outcome, all lessons."""
    lessons = list(known.lessons)
    for lesson in new.lessons:
        lessons = [*(one for one in lessons if not _alike(one, lesson)), lesson]
    outcome = new.outcome or known.outcome
    # the request that began it
    situation = known.situation or new.situation
    told = " ".join(filter(None, [new.milestone_title, known.goal, outcome, *lessons]))
    milestone = new.level is Level.MILESTONE
    return known.model_copy(
        update={
            "text": new.text if milestone else episode_text(told, situation),
            "situation": situation,
            "thoughts": new.thoughts or known.thoughts,
            "steps": new.steps or known.steps,
            "outcome": outcome,
            "lessons": tuple(lessons),
            "milestone_title": new.milestone_title or known.milestone_title,
            "linked_steps": tuple(dict.fromkeys((*known.linked_steps, *new.linked_steps))),
            "source_ids": tuple(dict.fromkeys((*known.source_ids, *new.source_ids))),
            "origin": lowest([known.origin, new.origin]),
            "importance": max(known.importance, new.importance),
            **written_in(new),
        }
    )


def episode_text(told: str, situation: str) -> str:
    r"""Return the indexed and shown text of an episode: goal and outcome, and the request unless they cover it.

    >>> episode_text("Book a flight. Booked.", "Please book me a flight")
    'Book a flight. Booked.'
    >>> episode_text("Book a flight. Booked.", "My sister marries in Rome")
    'Book a flight. Booked.\nMy sister marries in Rome'
    """
    told, begun = told[:MAX_INDEXED_CHARS], shortened(situation.strip(), _MAX_SITUATION)
    if not begun or Vocabulary([told]).share(begun) >= _NEARLY_ALL:
        return told
    return f"{told}\n{begun}"[:MAX_INDEXED_CHARS]


def _is_same(one: Episode, other: Episode) -> bool:
    if one.level is not other.level or Level.CONVERSATION in (one.level, other.level):
        return False
    return _alike(one.goal, other.goal)


def _alike(one: str, other: str) -> bool:
    """Return true if two sentences have nearly the same words, and no other name or number."""
    if normalise(one) == normalise(other):
        return True
    if unknown_numbers(one, values(other)) or unknown_numbers(other, values(one)):
        return False
    return _is_said_by(one, other) and _is_said_by(other, one)


def _is_said_by(one: str, other: str) -> bool:
    vocabulary = Vocabulary([other])
    named = Vocabulary([other], names=True)
    if vocabulary.share(one) < _SAME_SHARE or any(named.missing(name) for name in names(one, True)):
        return False
    # two characters that stand side by side may be a name: 顺化 and 河内
    known = (word in vocabulary for word in content_words(one) if _UNSPACED.match(word))
    return all(has or len(list(run)) == 1 for has, run in groupby(known))
