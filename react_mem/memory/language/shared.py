"""Data of several languages: how what is said goes on where no mark stands, yes and no, and how numbers are spelt.

It decides where the user's words are parted, and never what is true.
"""

from __future__ import annotations

import re

from react_mem.memory.language import FILES, UNSPACED, denial_of, number_words
from react_mem.memory.language.comparison import words


def asks_from(text: str, start: int = 0) -> int | None:
    """Return where a question or a request begins in a text; None where none does.

    Args:
        text: The text, written without punctuation perhaps.
        start: Where to look from.

    >>> text = "I start at three every day which bread can I bake"
    >>> text[asks_from(text) :], asks_from("Trabajo en un banco y tengo dos gatos")
    ('which bread can I bake', None)
    """
    return min((match.start() for one in _ASKING if (match := one.search(text, start))), default=None)


def joins(word: str) -> bool:
    """Return whether a word begins a new part of what is said: "and", "aber".

    >>> joins("und"), joins("bread")
    (True, False)
    """
    return word.casefold() in _JOINING


def denies(text: str) -> bool:
    """Return whether a text has a word that denies, of a language without a file.

    >>> denies("nee leider nich"), denies("Ja, genau")
    (True, False)
    """
    return not _DENYING.isdisjoint(words(text))


def is_denying(word: str) -> bool:
    """Return whether a case-folded word denies by itself, of a language without a file.

    >>> is_denying("kein"), is_denying("tee")
    (True, False)
    """
    return word in _DENYING


def is_denied(text: str) -> bool:
    """Return whether a text denies, in a language with a file or without."""
    return denial_of(text) or denies(text)


def assents(text: str) -> bool:
    """Return whether a text begins with a word that agrees, of a language without a file.

    >>> assents("Sí, por desgracia"), assents("qué va")
    (True, False)
    """
    return not _ASSENTING.isdisjoint(words(text)[:1])


def spelt(text: str) -> set[str]:
    """Return the numbers that a text has as words, as digits.

    >>> sorted(spelt("Wir sind fünf Leute")), sorted(spelt("四人家族です"))
    (['5'], ['4'])
    """
    found = {_COUNTING[word] for word in words(text) if word in _COUNTING}
    return found | {number for word, number in _DENSE_COUNTING.items() if word in text}


def without_counting(text: str) -> str:
    """Return a text without the numbers that it has as words.

    >>> without_counting("zwei Katzen").strip(), without_counting("四人家族です")
    ('Katzen', '人家族です')
    """
    return _COUNTED.sub("", text)


def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    listed = [
        (bool(data.get("unspaced")), f"(?:{one})") for data in FILES.values() for one in data.get("asks_behind", ())
    ]
    unspaced = "|".join(one for dense, one in listed if dense)
    spaced = "|".join(one for dense, one in listed if not dense)
    flags = re.IGNORECASE | re.VERBOSE
    return re.compile(rf"(?<![^\W{UNSPACED}])(?:{spaced})", flags), re.compile(unspaced, flags)


def _listed(name: str) -> frozenset[str]:
    return frozenset(word for data in FILES.values() for word in str(data.get(name) or "").split())


_ASKING = _patterns()
_JOINING, _DENYING, _ASSENTING = _listed("joins"), _listed("denying"), _listed("assenting")
_COUNTING = {
    word: str(number) for data in FILES.values() for number, words in enumerate(number_words(data)) for word in words
}
_DENSE_COUNTING = {word: number for word, number in _COUNTING.items() if re.search(f"[{UNSPACED}]", word)}
_LONGEST_FIRST = [re.escape(word) for word in sorted(_COUNTING, key=len, reverse=True)]
_DENSE_WORDS = [word for word in _LONGEST_FIRST if word in _DENSE_COUNTING]
_SPACED_WORDS = [word for word in _LONGEST_FIRST if word not in _DENSE_COUNTING]
_COUNTED = re.compile(
    rf"{'|'.join(_DENSE_WORDS)}|(?<![^\W{UNSPACED}])(?:{'|'.join(_SPACED_WORDS)})\b",
    re.IGNORECASE,
)
