"""Calendar days, and the words and patterns of times in languages with spaces, folded, as their files list them.

The other modules put these together; they hold the shapes of times and no word of a language.
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal, cast

from react_mem.memory.language import LANGUAGES, Language, pattern_of
from react_mem.memory.language.folding import fold


@dataclass(frozen=True, order=True)
class Period:
    """The days from `start` to `end`, both included."""

    start: date
    end: date


Recurring = Callable[[int], Period | None]  # yearly recurrence: year -> period; None in a year without one


def shift(day: date, days: int) -> date:
    """Return the day so many days later, within the calendar."""
    return date.fromordinal(min(max(day.toordinal() + days, 1), date.max.toordinal()))


def of_unit(day: date, unit: str, offset: int) -> Period:
    """Return the day, week, weekend, month or year at an offset from the one around a day."""
    match unit:
        case "day":
            moved = shift(day, offset)
            return Period(moved, moved)
        case "week" | "weekend":
            first, last = (5, 6) if unit == "weekend" else (0, 6)
            monday = day.toordinal() - day.weekday() + 7 * offset
            return Period(shift(day, monday + first - day.toordinal()), shift(day, monday + last - day.toordinal()))
        case "month":
            year, month = divmod(day.year * 12 + day.month - 1 + offset, 12)
            return months_of_year(month + 1)(min(max(year, 1), date.max.year)) or Period(day, day)
        case _:
            year = min(max(day.year + offset, 1), date.max.year)
            return Period(date(year, 1, 1), date(year, 12, 31))


def day_of(month: Period, number: int) -> Period | None:
    """Return the numbered day of a month, if it has one."""
    return days_of_year(month.start.month, number)(month.start.year)


def months_of_year(first: int, count: int = 1) -> Recurring:
    """Return the recurrence of so many months from the first, by the year of its start."""

    def of(year: int) -> Period | None:
        over, last = divmod(first + count - 2, 12)
        if not 1 <= year <= date.max.year - over:
            return None
        end = date(year + over, last + 1, calendar.monthrange(year + over, last + 1)[1])
        return Period(date(year, first, 1), end)

    return of


def days_of_year(month: int, day: int, last_month: int | None = None, last: int | None = None) -> Recurring:
    """Return the recurrence from a day of a year to another; by default the same day."""

    def of(year: int) -> Period | None:
        try:
            start, end = date(year, month, day), date(year, last_month or month, last or day)
        except ValueError:  # the 29th of February, the 31st of June
            return None
        return Period(start, end) if start <= end else None

    return of


# A named period of a question, before the rest of the question changes it.

REACH_YEARS = 10  # years searched for a month without a year, and the reach of "before 2020" and "after 2020"
CONTEXT_CHARS = 40  # characters before a named period that may change it: "the very beginning of"
Holder = Literal["week", "month", "year"]  # unit that holds a weekday, a numbered day or a month
Side = Literal["at", "since", "from", "until", "to", "by", "before", "after"]
"""Relation of a text to a period: in it, or on a side. `from` and `to` also mark a route, "from Hue to Hoi An"."""


@dataclass(frozen=True)
class Scene:
    """A folded question and its day; `bare` is true without diacritics."""

    said: str
    today: date
    bare: bool


@dataclass(frozen=True)
class Named:
    """Possible periods named between `start` and `end` of the question.

    `holds` is the unit that it is, which may hold another; `held_by` the unit that may hold it, and `within` returns
    its period within such a holder.
    """

    periods: Sequence[Period]
    holds: Holder | None = None
    held_by: Holder | None = None
    within: Callable[[Period], Period | None] = field(default=lambda holder: holder)
    start: int = 0
    end: int = 0


Reader = Callable[[re.Match[str], Scene], Named | None]


# Words of times.

YEAR = r"(?:19|20)\d\d(?!\d)"


def one_of(words: Iterable[str]) -> str:
    """Return the pattern of any of these words; of none, a pattern that finds nothing."""
    # the longest first: "muoi hai" is not "muoi"
    return "(?:" + ("|".join(sorted(words, key=len, reverse=True)) or "(?!)") + ")"


def _words(listed: str) -> list[str]:
    """Return the words of a line; `_` in a word is a space."""
    return [word.replace("_", " ") for word in listed.split()]


class _Times:
    """The words for times of one language, and its patterns with these words in their places."""

    def __init__(self, language: Language) -> None:
        self._data = language.times
        self.months = self._numbered("months", 1)
        self.weekdays = self._numbered("weekdays", 0)
        self.short_weekdays = self._numbered("weekdays_short", 0)
        told = {fold(word): value for value, words in enumerate(language.number_words) if value for word in words}
        self.numbers: dict[str, int] = {**self._data.get("counts", {}), **told}
        self.units = {word: unit for unit, listed in self._data.get("units", {}).items() for word in _words(listed)}
        self.which = {word: offset for offset, words in self._data.get("which", {}).items() for word in words}
        self.seasons = {
            word: months_of_year(first, 3)
            for first, listed in self._data.get("seasons", {}).items()
            for word in _words(listed)
        }
        self._parts: dict[str, str] = {**self._data.get("parts", {}), "year": YEAR}
        self.doubtful = set(self.line("doubtful"))
        plain = set(self.months) - self.doubtful
        self._lists: dict[str, Iterable[str]] = {
            "months": self.months,
            "plain_months": plain,
            "sure_months": plain | set(self.line("sure_beside")),
            "doubtful_months": self.doubtful & set(self.months),
            "weekdays": self.weekdays | self.short_weekdays,
            "weekdays_long": self.weekdays,
            "seasons": self.seasons,
            "holidays": HOLIDAYS,
            "numbers": self.numbers,
            "number_words": told,
            "units": self.units,
            "which_words": self.which,
        }

    def line(self, name: str) -> list[str]:
        return _words(str(self._data.get(name) or ""))

    def patterns(self, topic: str, name: str) -> list[str]:
        return [self._filled(pattern) for pattern in self._data.get(topic, {}).get(name, ())]

    def small(self, name: str) -> list[str]:
        """Return the patterns of small words around times."""
        return [self._filled(word) for word in _words(self._data.get("small", {}).get(name, ""))]

    def asks(self) -> list[str]:
        """Return the patterns of questions for a time."""
        return [self._filled(pattern) for pattern in self._data.get("asks_when", ())]

    def tells(self) -> Iterator[str]:
        """Yield the patterns of expressions of time, each with a first word."""
        for heads, tail in self._data.get("tells_when", ()):
            for head in heads.split():
                words = self._lists[head[1:-1]] if head[:1] == "{" else [self._filled(head.replace("_", " "))]
                yield from (f"{word}(?:{self._filled(tail)})" for word in words)

    def _numbered(self, name: str, first: int) -> dict[str, int]:
        """Return the words of a list -> the number of their line, counted from `first`."""
        lines = self._data.get(name, ())
        return {word: place for place, line in enumerate(lines, first) for word in _words(line)}

    def _filled(self, pattern: str) -> str:
        def fill(place: re.Match[str]) -> str:
            name = place[1]
            return self._filled(self._parts[name]) if name in self._parts else one_of(self._lists[name])

        return _PLACE.sub(fill, pattern)


_PLACE = pattern_of(r"\{([a-z_]+)\}")
_SPACED = [one for one in LANGUAGES if not one.unspaced and one.times]


def _all(name: str) -> list[tuple[Any, Any]]:
    return [pair for one in _SPACED for pair in one.times.get(name, {}).items()]


HOLIDAYS = {name: days_of_year(*days) for name, days in _all("holidays")}
"""A movable holiday has the days between which it falls: near enough to rank memories by."""

TIMES = [_Times(language) for language in _SPACED]


def _merged(name: str) -> dict[str, Any]:
    return {word: value for times in TIMES for word, value in getattr(times, name).items()}


def _line(name: str) -> list[str]:
    return [word for times in TIMES for word in times.line(name)]


MONTHS: Mapping[str, int] = _merged("months")
WEEKDAYS: Mapping[str, int] = _merged("weekdays")
SHORT_WEEKDAYS: Mapping[str, int] = _merged("short_weekdays")
NUMBERS: Mapping[str, int] = _merged("numbers")
UNITS: Mapping[str, str] = _merged("units")
WHICH: Mapping[str, int] = _merged("which")
SEASONS: Mapping[str, Recurring] = _merged("seasons")  # a winter belongs to the year in which it starts
PHRASES: list[tuple[str, tuple[int, int]]] = [(phrase, (first, last)) for phrase, (first, last) in _all("phrases")]
"""Patterns, each with its first and last day relative to today."""

SIDES = {word: cast(Side, side) for side, words in _all("sides") for word in words}
"""Words before a time -> the side of it."""

DOUBTFUL = frozenset(_line("doubtful"))
"""Months and seasons that are more often a verb, a name or a thing: they count only in the place of a time."""

MARKED = frozenset(_line("marked"))  # words of `WHICH` that count only with diacritics
DAY_FIRST, YEAR_WORDS = one_of(_line("day_first")), one_of(_line("year_word"))
_VAGUE = {word: (low, high) for word, (low, high) in _all("vague")}


def patterns(topic: Literal["rules", "contexts"], name: str) -> list[str]:
    """Return the patterns of a topic in all languages."""
    return [pattern for times in TIMES for pattern in times.patterns(topic, name)]


def context(name: str) -> str:
    """Return the pattern of a context before or behind a time, in any language."""
    return one_of(patterns("contexts", name))


def small(name: str) -> str:
    """Return the pattern of small words around times, of all languages."""
    return one_of(word for times in TIMES for word in times.small(name))


def is_other_word(word: str, *, bare: bool) -> bool:
    """Return true if a number is rather another word, where diacritics would be written: "sau"."""
    return word in WHICH and not bare


def number_of(word: str) -> tuple[int, int]:
    """Return the least and the most that a number may mean.

    >>> number_of("two"), number_of("few"), number_of("14")
    ((2, 2), (2, 5), (14, 14))
    """
    if word in _VAGUE:
        return _VAGUE[word]
    number = NUMBERS.get(word) or int(word)
    return number, number


# Numbers in digits and in the numerals of scripts without spaces.

_TABLE = [forms for one in LANGUAGES if one.unspaced for forms in enumerate(one.number_words)]
_VALUES = {form: value for value, forms in _TABLE for form in forms if len(form) == 1}
# a year is spelt digit by digit, each in the first of its forms; a zero in any
_DIGITS = [form for value, forms in _TABLE if value < 10 for form in (forms[:1] if value else forms)]
_MILLENNIA = [forms[0] for value, forms in _TABLE if value in (1, 2)]

NUMBER = rf"(?<![\d.])\d{{1,3}}|[{''.join(_VALUES)}]{{1,3}}"
YEAR_IN_NUMERALS = f"[{''.join(_MILLENNIA)}][{''.join(_DIGITS)}]{{3}}"


def number(written: str) -> int:
    """Return the value of a written number.

    >>> number("24"), number("二十四"), number("十"), number("二〇二六")
    (24, 24, 10, 2026)
    """
    whole = below_ten = 0
    for numeral in written:
        value = _VALUES.get(numeral)
        value = int(unicodedata.numeric(numeral)) if value is None else value
        if value == 10:
            whole, below_ten = whole + 10 * (below_ten or 1), 0
        else:
            below_ten = 10 * below_ten + value
    return whole + below_ten


# Texts as they are read for times: folded, save where diacritics tell a word of time from another.

MAX_QUESTION = 2_000  # characters of a question read for times: a paste behind it names times of its own
_SPELT = [pair for language in LANGUAGES for pair in language.times.get("spelt", {}).items()]
_PRINT = str.maketrans({"’": "'", "–": "-"})


def for_times(text: str) -> str:
    """Return text folded, without double spaces and with typographic marks as typed ones.

    Diacritics stay where they tell a word of time from another.

    >>> for_times("Tháng  Sáu"), for_times("Tôi đi")
    ('thang 6', '_ di')
    """
    if text.isascii():
        return " ".join(text.lower().split())
    text = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    for spelt, clear in _SPELT:
        text = text.replace(spelt, clear)
    return fold(text.translate(_PRINT))


# Recognition of years among bare numbers of four digits, by the words of grammar that they stand behind: behind any
# other word a number may be part of its name.

_REACH = 80  # characters before a year that may hold other years of a list
_AND = rf"(?: ?- ?|,? ?(?:&|\b{small('year_joins')}\b) ?|, ?)"
_LEAD = pattern_of(
    rf"(?:\A|(?<!\d)[,.;?!] |\b{one_of((*_line('year_leads'), *SEASONS, *HOLIDAYS))}[ -]|\b{small('year_behind')} )"
    rf"(?:(?:{small('year_noun')} )?{YEAR}{_AND}(?:{small('year_noun_behind')} )?)*\Z",
    re.ASCII,
)


def is_year(text: str, start: int) -> bool:
    """Return true if the four digits at a place of a folded text are a year.

    >>> is_year("born in 1945", 8), is_year("do i own cyberpunk 2077", 19)
    (True, False)
    """
    before = text[max(0, start - _REACH) : start]
    return _LEAD.search(before if start <= _REACH else f"_{before}") is not None
