"""Hedging: words that mark a supposition or retract the clause before, listed per language under `lowers`.

They only lower a model's labels, so a language without a file, or a missing word, costs no fact.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping

from react_mem.memory.language import FILES, languages_of

_READ = 400
"""Characters read: a clause is no longer."""


def is_condition(text: str) -> bool:
    """Return true for a hypothetical condition.

    >>> is_condition("Wenn ich im Lotto gewinne"), is_condition("要是我去了新西兰"), is_condition("I live in Hue")
    (True, True, False)
    """
    return any(one["conditions"].search(folded) for one, folded in _told(text))


def is_supposed(text: str) -> bool:
    """Return true for a supposition, a wish or a guess.

    >>> is_supposed("ojalá viviera en la playa"), is_supposed("Jess would kill me"), is_supposed("I'd like to sleep")
    (True, True, False)
    """
    return any(one["conditions"].search(folded) or one["supposes"].search(folded) for one, folded in _told(text))


def is_hypothetical(sentence: str) -> bool:
    """Return true for a sentence about a hypothetical case.

    A rule ("if it rains, I take the bus") and a wish count as true.

    >>> is_hypothetical("If I lived in Rome I would be happy."), is_hypothetical("If it rains I take the bus.")
    (True, False)
    >>> is_hypothetical("Wenn ich in Rom wohnte, wäre ich froh."), is_hypothetical("I would love to live in Rome.")
    (True, False)
    """
    return any(
        one["hypothetical"].search(folded) or (one["conditions"].search(folded) and one["supposes"].search(folded))
        for one, folded in _told(sentence)
    )


def contrasts(text: str) -> bool:
    """Return true for a text set against the words before it.

    >>> contrasts("but I rent"), contrasts("I would rent")
    (True, False)
    """
    return any(one["contrasts"].search(folded) for one, folded in _told(text))


def takes_back(text: str) -> bool:
    """Return true for the beginning of a retraction: the words before were a joke or a slip.

    >>> takes_back("haha just kidding"), takes_back("äh Quatsch, nach Rügen"), takes_back("I never joke")
    (True, True, False)
    """
    return any(one["takes_back"].search(folded) for one, folded in _told(text))


def ends_as_question(text: str) -> bool:
    """Return true for an end that only a question has.

    >>> ends_as_question("转行会太晚吗"), ends_as_question("我的衣服")
    (True, False)
    """
    return any(one["asks"].search(folded) for one, folded in _told(text))


def is_of_oneself(text: str) -> bool:
    """Return true for a text with the speaker as its subject.

    >>> is_of_oneself("I got promoted"), is_of_oneself("Yo no sé jugar"), is_of_oneself("My sister got promoted")
    (True, True, False)
    """
    return any(one["own_subject"].search(folded) for one, folded in _told(text))


def is_oneself(name: str) -> bool:
    """Return true for a name that is only a word for the speaker.

    >>> is_oneself("我"), is_oneself("I"), is_oneself("Tom"), is_oneself("con")
    (True, True, False, False)
    """
    if is_of_oneself(name) and len(name.split()) == 1:
        return True
    return any(one.unspaced and one.first_person.fullmatch(name) for one in languages_of(name))


def _told(text: str) -> Iterator[tuple[Mapping[str, re.Pattern[str]], str]]:
    folded = unicodedata.normalize("NFC", text[:_READ]).casefold()
    return ((one, folded) for one in _CUES if one["writes"].search(folded))


_CUES = [
    {name: re.compile(source, re.I | re.X) for name, source in data["lowers"].items()}
    for data in FILES.values()
    if "lowers" in data
]
