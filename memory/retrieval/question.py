"""What a question asks for, as far as it shows without a model: words, whom it is about, and when."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from memory.records import MAX_INDEXED_CHARS
from memory.retrieval.entries import mark
from memory.retrieval.times import Period, asks_when, named_periods
from memory.retrieval.words import terms, words

MAX_TERMS = 24
"""Words of a question that count: as many as one comparison tells apart (see `memory.storage.recall`)."""

_WEAK = 0.4
"""What a word counts that says which kind of answer is wanted rather than where it is: "what kind of pet". Measured on
conversations and on the stress set: 1.0 costs a point of recall, 0.25 changes nothing."""

_WEAK_WORDS = frozenset(
    terms(
        "kind type name plan time year month week day people person start happen event activity favorite new different "
        "specific feel enjoy likely consider take give find loai ten ngay thang nam tuan nguoi thich"
    )
)
_SELF = frozenset(["i", "me", "my", "mine", "myself", "we", "our", "ours", "toi", "minh", "em", "chung"])


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
    """

    text: str
    terms: tuple[tuple[str, float], ...]
    speaker: str
    periods: tuple[Period, ...]
    asks_when: bool


def read_question(query: str, now: datetime, speakers: Iterable[str] = ()) -> Question:
    """Read a question.

    Args:
        query: What is asked; the first `MAX_INDEXED_CHARS` characters count.
        now: When it is asked, which "last summer" is relative to.
        speakers: The names of those who take part in the owner's conversations.
    """
    asked = query[:MAX_INDEXED_CHARS]
    said = set(words(asked))
    named = [name for name in dict.fromkeys(speakers) if (parts := words(name)) and said.issuperset(parts)]
    return Question(
        text=_without(asked, named),
        terms=_weighted(asked, {term for name in named for term in terms(name)}),
        speaker=_speaker(named, said),
        periods=named_periods(asked, now),
        asks_when=asks_when(asked),
    )


def _weighted(asked: str, names: set[str]) -> tuple[tuple[str, float], ...]:
    distinct = dict.fromkeys(term for term in terms(asked) if term not in names)
    weights = {term: _WEAK if term in _WEAK_WORDS else 1.0 for term in distinct}
    # of a long one, the words that say most
    kept = sorted(weights, key=lambda term: (-weights[term], -len(term)))[:MAX_TERMS]
    return tuple((term, weights[term]) for term in weights if term in set(kept))


def _speaker(named: list[str], said: set[str]) -> str:
    if len(named) == 1:
        return mark("speaker", named[0])
    return mark("role", "user") if not named and said & _SELF else ""


def _without(asked: str, named: list[str]) -> str:
    if not named:
        return asked
    pattern = "|".join(re.escape(name) for name in sorted(named, key=len, reverse=True))
    left = re.sub(rf"\b(?:{pattern})\b(?:['’]s?)?", " ", asked, flags=re.IGNORECASE)
    return re.sub(r"\s+", " ", left).strip(" ,") or asked
