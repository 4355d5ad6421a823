"""Cues by which a language lowers what it says: suppositions, and what takes back what was said before, as data.

Each language's file lists them under `lowers`. They may only make less of what a model reads out of words, so a
language without a file, or a cue that is missing, costs no fact.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from react_mem.memory.language import FILES, languages_of

_READ = 400
"""Characters that are looked at: a clause is no longer."""


@dataclass(frozen=True)
class Cues:
    """Cues of one language's file.

    Args:
        writes: Finds a letter that the language is written in.
        conditions: Finds what makes a clause, and the one behind it, a supposition: "if".
        hypothetical: Finds what says that a sentence tells of nothing that is: "suppose".
        supposes: Finds what makes a clause alone one: "maybe".
        takes_back: Matches the beginning of a clause that takes back the one before: "just kidding", "no wait".
        contrasts: Matches the beginning of a clause that is set against the one before: "but".
        asks: Finds an end that only a question has, with its mark or without.
        own_subject: Matches the beginning of a clause whose subject is the one who speaks: "I", and not "my".
    """

    writes: re.Pattern[str]
    conditions: re.Pattern[str]
    hypothetical: re.Pattern[str]
    supposes: re.Pattern[str]
    takes_back: re.Pattern[str]
    contrasts: re.Pattern[str]
    asks: re.Pattern[str]
    own_subject: re.Pattern[str]


def is_condition(text: str) -> bool:
    """Return whether a text says what holds in a case that is only thought of.

    >>> is_condition("Wenn ich im Lotto gewinne"), is_condition("要是我去了新西兰"), is_condition("I live in Hue")
    (True, True, False)
    """
    return any(one.conditions.search(folded) for one, folded in _told(text))


def is_supposed(text: str) -> bool:
    """Return whether a text supposes, wishes or guesses, and does not state.

    >>> is_supposed("ojalá viviera en la playa"), is_supposed("Jess would kill me"), is_supposed("I'd like to sleep")
    (True, True, False)
    """
    return any(one.conditions.search(folded) or one.supposes.search(folded) for one, folded in _told(text))


def is_hypothetical(sentence: str) -> bool:
    """Return whether a sentence tells what would be, in a case that is only thought of.

    What holds whenever something is the case is told for true, and so is a wish.

    >>> is_hypothetical("If I lived in Rome I would be happy."), is_hypothetical("If it rains I take the bus.")
    (True, False)
    >>> is_hypothetical("Wenn ich in Rom wohnte, wäre ich froh."), is_hypothetical("I would love to live in Rome.")
    (True, False)
    """
    return any(
        one.hypothetical.search(folded) or (one.conditions.search(folded) and one.supposes.search(folded))
        for one, folded in _told(sentence)
    )


def contrasts(text: str) -> bool:
    """Return whether a text begins as what is set against what was said before it, and so does not follow from it.

    >>> contrasts("but I rent"), contrasts("I would rent")
    (True, False)
    """
    return any(one.contrasts.search(folded) for one, folded in _told(text))


def takes_back(text: str) -> bool:
    """Return whether a text begins by taking back what was said before it, as a joke or a slip.

    >>> takes_back("haha just kidding"), takes_back("äh Quatsch, nach Rügen"), takes_back("I never joke")
    (True, True, False)
    """
    return any(one.takes_back.search(folded) for one, folded in _told(text))


def ends_as_question(text: str) -> bool:
    """Return whether a text ends as only a question does.

    >>> ends_as_question("转行会太晚吗"), ends_as_question("我的衣服")
    (True, False)
    """
    return any(one.asks.search(folded) for one, folded in _told(text))


def is_of_oneself(text: str) -> bool:
    """Return whether the subject of a text is the one who says it.

    >>> is_of_oneself("I got promoted"), is_of_oneself("Yo no sé jugar"), is_of_oneself("My sister got promoted")
    (True, True, False)
    """
    return any(one.own_subject.search(folded) for one, folded in _told(text))


def is_oneself(name: str) -> bool:
    """Return whether a name is only a word for the one who speaks.

    >>> is_oneself("我"), is_oneself("I"), is_oneself("Tom"), is_oneself("con")
    (True, True, False, False)
    """
    if is_of_oneself(name) and len(name.split()) == 1:
        return True
    return any(one.unspaced and one.first_person.fullmatch(name) for one in languages_of(name))


def _told(text: str) -> Iterator[tuple[Cues, str]]:
    folded = unicodedata.normalize("NFC", text[:_READ]).casefold()
    return ((one, folded) for one in CUES if one.writes.search(folded))


CUES = tuple(
    Cues(**{name: re.compile(data["lowers"][name], re.I | re.X) for name in Cues.__dataclass_fields__})
    for data in FILES.values()
    if "lowers" in data
)
