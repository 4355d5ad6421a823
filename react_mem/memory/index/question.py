"""Query understanding without a model: words, names and times of a question."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from react_mem.memory.index.entries import mark, says_i
from react_mem.memory.language.folding import MAX_INDEXED_CHARS, fold
from react_mem.memory.language.statements import cue_words
from react_mem.memory.language.terms import index_terms, index_words
from react_mem.memory.language.times import Period, asks_when, named_periods
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.model.interface import Arm

log = logging.getLogger(__name__)

MAX_TERMS = 24
"""Words of a question that count; a long question repeats its topic."""

_WEAK = 0.4
"""Weight of a word for the kind of answer rather than its topic: "what kind of pet". Measured on conversations and on
the stress set: 1.0 costs a point of recall, 0.25 changes nothing.
"""

_WEAK_WORDS = frozenset(index_terms(cue_words("weak_in_questions")))


@dataclass(frozen=True)
class Question:
    """A parsed question.

    Args:
        text: Text to embed, without the speakers' names: these stand in every message of others and in none of their
            own.
        terms: Its words with their weights, `MAX_TERMS` at most.
        speaker: Mark of the expected speaker; empty if unknown.
        periods: Its times.
        asks_when: True if it asks for a time.
        names: Speakers' names in it, as words; not among its `terms`.
        missing: Arms that lost their part of the question to an error, with the cause.
    """

    text: str
    terms: tuple[tuple[str, float], ...]
    speaker: str
    periods: tuple[Period, ...]
    asks_when: bool
    names: tuple[str, ...] = ()
    missing: Mapping[Arm, str] = field(default_factory=dict, compare=False)

    def naming(self) -> Question:
        """Return the question with the names among its words: for facts, which name people, unlike messages."""
        if not self.names:
            return self
        named = tuple((name, 1.0) for name in self.names)
        return replace(self, terms=(*named, *self.terms)[:MAX_TERMS], speaker="")


def read_question(query: str, now: datetime, speakers: Iterable[str] = ()) -> Question:
    """Parse a question.

    Args:
        query: The question; the first `MAX_INDEXED_CHARS` characters count.
        now: The reference for relative times such as "last summer".
        speakers: Names of the participants in the owner's conversations.
    """
    asked = query[:MAX_INDEXED_CHARS]
    named = _named(asked, speakers)
    text = _without(asked, named)
    # "Who is Ann?" asks for nothing but her
    names = {term for name in named for term in index_terms(name)} if index_terms(text) else set()
    missing: dict[Arm, str] = {}
    try:
        periods, when = named_periods(asked, now), asks_when(asked)
    except Exception as error:  # of all that is read of a question this computes with what it says
        missing[Arm.TIME] = cause_of(error)
        log.warning("memory is searched without the times of the question: %s", missing[Arm.TIME])
        periods, when = (), False
    return Question(
        text=text if index_terms(text) else asked,
        terms=_weighted(asked, names),
        speaker=_speaker(named, asked),
        periods=periods,
        asks_when=when,
        names=tuple(sorted(names)),
        missing=missing,
    )


def _named(asked: str, speakers: Iterable[str]) -> list[str]:
    """Return the speakers that a question names, the fullest matching names only."""
    said = set(index_words(asked))
    parts = {name: frozenset(index_words(name)) for name in speakers}
    found = [name for name, its in parts.items() if its and its <= said and _is_name(name, asked)]
    # who asks for "Ann Lee" asks for one, though there is an "Ann" too
    return [name for name in found if not any(parts[name] < parts[other] for other in found)]


def _is_name(name: str, asked: str) -> bool:
    """Return true if the words are meant as a name: "will" is no person, "Will" is."""
    return bool(index_terms(name)) or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", asked) is not None


def _weighted(asked: str, names: set[str]) -> tuple[tuple[str, float], ...]:
    distinct = dict.fromkeys(term for term in index_terms(asked) if term not in names)
    weights = {term: _WEAK if term in _WEAK_WORDS else 1.0 for term in distinct}
    # of a long one, the words that say most
    kept = sorted(weights, key=lambda term: (-weights[term], -len(term)))[:MAX_TERMS]
    return tuple((term, weights[term]) for term in weights if term in set(kept))


def _speaker(named: list[str], asked: str) -> str:
    marks = {mark("speaker", name) for name in named}
    if len(marks) == 1:
        return marks.pop()
    return mark("role", "user") if not named and says_i(asked) else ""


def _without(asked: str, named: list[str]) -> str:
    if not named:
        return asked
    # a name may be typed without its diacritics
    ways = sorted({way for name in named for way in (name, fold(name))}, key=len, reverse=True)
    pattern = "|".join(map(re.escape, ways))
    left = re.sub(rf"(?<!\w)(?:{pattern})(?!\w)(?:['’]s?)?", " ", asked, flags=re.IGNORECASE)
    return re.sub(r"\s+", " ", left).strip(" ,")
