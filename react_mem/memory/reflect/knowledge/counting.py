"""Countable regularities: facts with a common beginning, repeated goals with one outcome, repeated lessons.

No model is involved, so the text has only the words of the sources, in their language.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from react_mem.memory.language.comparison import content_words, word_ends
from react_mem.memory.language.folding import fold, normalise
from react_mem.memory.model.concepts import MIN_SOURCES, Form
from react_mem.memory.model.records import Episode, Fact

MIN_TIMES = 3
"""Twice is a coincidence."""

_SHOWN = 8
"""Latest examples in one text, a line of the prompt."""

MAX_SOURCES = 50
_MIN_BEGINNING, _MAX_BEGINNING = 2, 8
"""Words of a common beginning: one, such as "I", says nothing."""

_MAX_REST = 60
"""Characters after the beginning: they become one item of a list."""

_MARKS = " .!?;:,…。！？、，"


@dataclass(frozen=True)
class Drawn:
    """Knowledge before it is a record: `proofs` and `against` count all memories for and against it.

    `key` is its identity while the text changes; empty where the text is the identity.
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
    """Return the regularities of current facts and episodes; former facts count against them."""
    return [*_of_facts(facts, former), *_of_goals(episodes), *_of_lessons(episodes)]


@dataclass(frozen=True)
class _Said:
    """A fact with its text in NFKC form and its folded words, each with its end in the text."""

    fact: Fact
    text: str
    words: Sequence[tuple[str, int]]

    @classmethod
    def of(cls, fact: Fact) -> _Said:
        return cls(fact, unicodedata.normalize("NFKC", fact.text), word_ends(fact.text))

    @property
    def beginnings(self) -> list[_Beginning]:
        """The subject with the first words of the fact, the shortest beginning first."""
        about, words = normalise(self.fact.about), [word for word, _ in self.words]
        return [(about, *words[:count]) for count in range(_MIN_BEGINNING, min(len(words), _MAX_BEGINNING + 1))]

    def parts(self, beginning: _Beginning) -> tuple[str, str]:
        _, end = self.words[len(beginning) - 2]
        return self.text[:end].strip(_MARKS), self.text[end:].strip(_MARKS)

    def rest(self, beginning: _Beginning) -> tuple[str, ...]:
        return tuple(word for word, _ in self.words[len(beginning) - 1 :])


_Beginning = tuple[str, ...]


def _of_facts(facts: Sequence[Fact], former: Sequence[Fact]) -> Iterable[Drawn]:
    over = Counter(beginning for fact in former for beginning in _Said.of(fact).beginnings)
    alike: defaultdict[_Beginning, list[_Said]] = defaultdict(list)
    for said in map(_Said.of, facts):
        for beginning in said.beginnings:
            if 0 < len(said.parts(beginning)[1]) <= _MAX_REST:
                alike[beginning].append(said)
    counted_: set[str] = set()
    # what has more words in common says more: a fact counts there
    for beginning, members in sorted(alike.items(), key=lambda pair: (-len(pair[0]), pair[0])):
        left = [said for said in members if said.fact.id not in counted_]
        latest = sorted(left, key=lambda said: (said.fact.said_at, said.fact.id), reverse=True)
        things = {said.rest(beginning): said for said in reversed(latest)}
        # "I have a" has no word that says anything
        if len(things) < MIN_TIMES or not content_words(latest[0].parts(beginning)[0]):
            continue
        counted_ |= {said.fact.id for said in latest}
        listed = sorted(things.values(), key=lambda said: (said.fact.said_at, said.fact.id), reverse=True)[:_SHOWN]
        start, _ = listed[0].parts(beginning)
        about = "" if beginning[0] == "user" else f"{listed[0].fact.about.strip()}: "
        yield Drawn(
            form="pattern",
            about=beginning[0],
            text=f"{about}{start}: {', '.join(said.parts(beginning)[1] for said in listed)}",
            source_ids=tuple(said.fact.id for said in latest[:MAX_SOURCES]),
            proofs=len(latest),
            against=over[beginning],
            key=f"begins {' '.join(beginning[1:])}",
        )


def _of_goals(episodes: Sequence[Episode]) -> Iterable[Drawn]:
    goals: defaultdict[str, list[Episode]] = defaultdict(list)
    for episode in episodes:
        if key := _words(episode.goal):
            goals[key].append(episode)
    for key, members in sorted(goals.items()):
        ends = Counter(_words(episode.outcome) for episode in members if episode.outcome)
        end, times = min(ends.items(), key=lambda pair: (-pair[1], pair[0]), default=("", 0))
        alike = [episode for episode in members if end and _words(episode.outcome) == end]
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


def _words(text: str) -> str:
    """Return the sorted content words of a text, a key for equal statements."""
    return " ".join(sorted(map(fold, content_words(text)))) or normalise(text)
