"""Words for times of the languages with spaces, folded: what their files say, in the form that the rules need.

How English and Vietnamese put these words together is in `rules`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from react_mem.memory.language import LANGUAGES
from react_mem.memory.language.folding import fold
from react_mem.memory.language.times.days import Recurring, days_of_year, months_of_year
from react_mem.memory.language.times.named import Side

_SPACED = {one.code: one for one in LANGUAGES if not one.unspaced}
_TIMES: dict[str, Mapping[str, Any]] = {code: one.times for code, one in _SPACED.items()}


def _words(listed: str) -> list[str]:
    """Return the words of a line; one of several words has `_` between them."""
    return [word.replace("_", " ") for word in listed.split()]


def _numbered(code: str, name: str, first: int) -> dict[str, int]:
    """Return the words of a list -> the place of their line in it, counted from the first."""
    lines = _TIMES[code].get(name, ())
    return {word: place for place, line in enumerate(lines, first) for word in _words(line)}


def _numbers(code: str) -> dict[str, int]:
    counted = {fold(word): value for value, words in enumerate(_SPACED[code].number_words) if value for word in words}
    return {**_TIMES[code].get("counts", {}), **counted}


def _all(name: str) -> list[tuple[Any, Any]]:
    """Return what every language's file lists under a name."""
    return [pair for times in _TIMES.values() for pair in times.get(name, {}).items()]


def _between(month: int, day: int, last_month: int | None = None, last: int | None = None) -> Recurring:
    return days_of_year(month, day, last, last_month)


MONTHS = _numbered("en", "months", 1)
MONTHS_VI = _numbered("vi", "months", 1)
WEEKDAYS = _numbered("en", "weekdays", 0)
WEEKDAYS_SHORT = _numbered("en", "weekdays_short", 0)
WEEKDAYS_VI = _numbered("vi", "weekdays", 0)
NUMBERS = _numbers("en")
NUMBERS_VI = _numbers("vi")
UNITS_VI: dict[str, str] = {word: unit for unit, listed in _TIMES["vi"]["units"].items() for word in _words(listed)}
WHICH: dict[str, int] = {word: offset for offset, words in _all("which") for word in words}
SAID_WHICH_VI = (
    rf" (?P<which>{'|'.join(word for words in _TIMES['vi']['which'].values() for word in words)})\b(?! khi\b)"
)
"""How Vietnamese says which one, behind the noun."""

SEASONS = {word: months_of_year(first, 3) for first, listed in _all("seasons") for word in _words(listed)}
"""A winter belongs to the year in which it starts."""

HOLIDAYS = {name: _between(*days) for name, days in _all("holidays")}
"""A holiday that moves has the days between which it falls: near enough to say which memory is nearer."""

PHRASES: list[tuple[str, tuple[int, int]]] = [(phrase, (first, last)) for phrase, (first, last) in _all("phrases")]
"""Patterns, and from and to so many days from today they mean."""

SIDES = {word: cast(Side, side) for side, words in _all("sides") for word in words}
"""What is said before a time, and on which side of it something then is."""

YEAR_LEADS = tuple(word for times in _TIMES.values() for word in str(times.get("year_leads", "")).split())
"""What a year stands behind, words of grammar: behind any other word a number may be part of its name."""

DOUBTFUL = frozenset(word for times in _TIMES.values() for word in str(times.get("doubtful", "")).split())
"""Months and seasons that are more often a verb, a name or a thing: they count where only a time stands."""

_VAGUE = {word: (low, high) for word, (low, high) in _all("vague")}


def one_of(words: Iterable[str]) -> str:
    """Return the pattern of any of these words."""
    # the longest first: "muoi hai" is not "muoi"
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)) + ")"


def number_of(word: str) -> tuple[int, int]:
    """Return the least and the most that a number may mean.

    >>> number_of("two"), number_of("few"), number_of("14")
    ((2, 2), (2, 5), (14, 14))
    """
    if word in _VAGUE:
        return _VAGUE[word]
    number = NUMBERS.get(word) or NUMBERS_VI.get(word) or int(word)
    return number, number
