"""Data across languages, with a keyless model or without: questions without a mark, yes and no, spelt numbers.

It decides where the user's words are split, and never their truth.
"""

from __future__ import annotations

import re

from react_mem.memory.language import FILES, UNSPACED, denial_of, number_words, words_under
from react_mem.memory.language.comparison import words


def asks_from(text: str, start: int = 0) -> int | None:
    """Return the start of the first question or request from `start` on, with or without punctuation; None for none.

    >>> text = "I start at three every day which bread can I bake"
    >>> text[asks_from(text) :], asks_from("Trabajo en un banco y tengo dos gatos")
    ('which bread can I bake', None)
    """
    return min((match.start() for one in _ASKING if (match := one.search(text, start))), default=None)


def joins(word: str) -> bool:
    """Return true for a word that begins a new clause: "and", "aber".

    >>> joins("und"), joins("bread")
    (True, False)
    """
    return word.casefold() in _JOINING


def denies(text: str) -> bool:
    """Return true for a text with a negation of a language without a keyless model.

    >>> denies("nee leider nich"), denies("Ja, genau")
    (True, False)
    """
    return not _DENYING.isdisjoint(words(text))


def is_denying(word: str) -> bool:
    """Return true for a case-folded word that is a negation of a language without a keyless model.

    >>> is_denying("kein"), is_denying("tee")
    (True, False)
    """
    return word in _DENYING


def is_denied(text: str) -> bool:
    """Return true for a negation in any language with a file."""
    return denial_of(text) or denies(text)


def assents(text: str) -> bool:
    """Return true for a text that begins with a yes of a language without a keyless model.

    >>> assents("Sí, por desgracia"), assents("qué va")
    (True, False)
    """
    return not _ASSENTING.isdisjoint(words(text)[:1])


def spelt(text: str) -> set[str]:
    """Return the spelt numbers of a text, as digits.

    >>> sorted(spelt("Wir sind fünf Leute")), sorted(spelt("四人家族です"))
    (['5'], ['4'])
    """
    found = {_COUNTING[word] for word in words(text) if word in _COUNTING}
    return found | {number for word, number in _DENSE_COUNTING.items() if word in text}


def without_counting(text: str) -> str:
    """Return a text without its spelt numbers.

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


_ASKING = _patterns()
_JOINING, _DENYING, _ASSENTING = words_under("joins"), words_under("denying"), words_under("assenting")
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
