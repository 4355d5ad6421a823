"""Query understanding without a model: words, entities and times of a question."""

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
"""Words of a question that count: a long one has said by then what it is about."""

_WEAK = 0.4
"""Weight of a word that says which kind of answer is wanted rather than where it is: "what kind of pet". Measured on
conversations and on the stress set: 1.0 costs a point of recall, 0.25 changes nothing."""

_WEAK_WORDS = frozenset(index_terms(cue_words("weak_in_questions")))


@dataclass(frozen=True)
class Question:
    """A question, read.

    Args:
        text: What is embedded: the question without the names of those who speak, who are in every sentence and in
            none of their own.
        terms: Its words with their weight, `MAX_TERMS` at most.
        speaker: The mark of whoever must have said what is asked for; empty if it does not show.
        periods: The times it names.
        asks_when: Whether it asks for a time.
        names: The names of those who speak that it has in it, as words; they are not among its `terms`.
        missing: The arms that do without what it says, because it could not be read, with the cause.
    """

    text: str
    terms: tuple[tuple[str, float], ...]
    speaker: str
    periods: tuple[Period, ...]
    asks_when: bool
    names: tuple[str, ...] = ()
    missing: Mapping[Arm, str] = field(default_factory=dict, compare=False)

    def naming(self) -> Question:
        """Return the question with the names among its words: a fact names people, a message is said by them."""
        if not self.names:
            return self
        named = tuple((name, 1.0) for name in self.names)
        return replace(self, terms=(*named, *self.terms)[:MAX_TERMS], speaker="")


def read_question(query: str, now: datetime, speakers: Iterable[str] = ()) -> Question:
    """Read a question.

    Args:
        query: What is asked; the first `MAX_INDEXED_CHARS` characters count.
        now: When it is asked, which "last summer" is relative to.
        speakers: The names of those who take part in the owner's conversations.
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
    """Return the names that a question has in it, however many ways of writing one there are."""
    said = set(index_words(asked))
    parts = {name: frozenset(index_words(name)) for name in speakers}
    found = [name for name, its in parts.items() if its and its <= said and _is_name(name, asked)]
    # who asks for "Ann Lee" asks for one, though there is an "Ann" too
    return [name for name in found if not any(parts[name] < parts[other] for other in found)]


def _is_name(name: str, asked: str) -> bool:
    """Return whether a name is meant where its words stand: "will" is not a person, "Will" is."""
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
