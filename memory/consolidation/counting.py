"""What can be counted: the same said of many things, the same goal with the same end, the same lesson twice.

No model words it, so that it says nothing but what its sources do, in their own words and language.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory.canonical import object_key, predicate_key
from memory.consolidation.records import MIN_SOURCES, Form
from memory.records import Episode, Fact, normalise

MIN_TIMES = 3
"""Twice is a coincidence."""

_SHOWN = 8
"""Things that one text lists, the latest: it is a line of the prompt."""

MAX_SOURCES = 50
_MAX_OBJECT = 60
_PREFERRED = {"likes", "drinks", "eats", "plays"}


@dataclass(frozen=True)
class Drawn:
    """What was drawn, before it is a record.

    Args:
        form: What it is.
        about: Whom or what it is about, in one form.
        text: What it says.
        source_ids: The memories that say so.
        proofs: How many they are; more than are listed, where there are many.
        against: How many say the opposite.
        made_by: `rules`, or the model.
        key: What makes it the same when its text has changed; empty where it is its text.
    """

    form: Form
    about: str
    text: str
    source_ids: tuple[str, ...]
    proofs: int
    against: int = 0
    made_by: str = "rules"
    key: str = ""


def counted(facts: Sequence[Fact], former: Sequence[Fact], episodes: Sequence[Episode]) -> list[Drawn]:
    """Return what facts and episodes show by their number.

    Args:
        facts: Current facts.
        former: Facts that are over: they speak against what the others show.
        episodes: Episodes.
    """
    return [*_of_facts(facts, former), *_of_goals(episodes), *_of_lessons(episodes)]


def _of_facts(facts: Sequence[Fact], former: Sequence[Fact]) -> Iterable[Drawn]:
    slots: defaultdict[tuple[str, bool], list[Fact]] = defaultdict(list)
    for fact in facts:
        # of what there is one at a time there is nothing to count
        if fact.slot and not fact.exclusive and 0 < len(fact.object) <= _MAX_OBJECT:
            slots[fact.slot, fact.affirmed].append(fact)
    over = Counter((fact.slot, fact.affirmed) for fact in former)
    for (slot, affirmed), members in sorted(slots.items()):
        latest = sorted(members, key=lambda fact: (fact.said_at, fact.id), reverse=True)
        things = {fact.object_key or object_key(fact.object): fact for fact in reversed(latest)}
        if len(things) < MIN_TIMES:
            continue
        listed = sorted(things.values(), key=lambda fact: (fact.said_at, fact.id), reverse=True)[:_SHOWN]
        said = listed[0]
        predicate = said.predicate.replace("_", " ").strip()
        text = f"{said.subject.strip()} {predicate}: {', '.join(fact.object.strip() for fact in listed)}"
        preferred = predicate_key(said.predicate).name
        yield Drawn(
            form="preference" if preferred in _PREFERRED or preferred.startswith("favorite_") else "pattern",
            about=slot,
            text=text[:1].upper() + text[1:],
            source_ids=tuple(fact.id for fact in latest[:MAX_SOURCES]),
            proofs=len(members),
            against=over[slot, affirmed] + len(slots.get((slot, not affirmed), ())),
            key=f"slot {affirmed}",
        )


def _of_goals(episodes: Sequence[Episode]) -> Iterable[Drawn]:
    goals: defaultdict[str, list[Episode]] = defaultdict(list)
    for episode in episodes:
        if key := object_key(episode.goal):
            goals[key].append(episode)
    for key, members in sorted(goals.items()):
        ends = Counter(object_key(episode.outcome) for episode in members if episode.outcome)
        end, times = min(ends.items(), key=lambda pair: (-pair[1], pair[0]), default=("", 0))
        alike = [episode for episode in members if end and object_key(episode.outcome) == end]
        if times < MIN_TIMES:
            continue
        last = max(alike, key=lambda episode: (episode.created_at, episode.id))
        yield Drawn(
            form="pattern",
            about="user",
            text=f"{last.goal.strip().rstrip('.')}: {last.outcome.strip()}",
            source_ids=_latest(alike),
            proofs=times,
            against=len(members) - times,
            key=f"goal {key}",
        )


def _of_lessons(episodes: Sequence[Episode]) -> Iterable[Drawn]:
    lessons: defaultdict[str, dict[str, Episode]] = defaultdict(dict)
    worded: dict[str, str] = {}
    for episode in sorted(episodes, key=lambda episode: (episode.created_at, episode.id)):
        for lesson in episode.lessons:
            if key := normalise(lesson):
                lessons[key][episode.id] = episode
                worded[key] = lesson.strip()
    for key, members in sorted(lessons.items()):
        if len(members) >= MIN_SOURCES:
            yield Drawn("rule", "user", worded[key], _latest(members.values()), len(members), key=f"lesson {key}")


def _latest(episodes: Iterable[Episode]) -> tuple[str, ...]:
    ordered = sorted(episodes, key=lambda episode: (episode.created_at, episode.id), reverse=True)
    return tuple(episode.id for episode in ordered[:MAX_SOURCES])
