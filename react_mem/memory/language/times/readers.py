"""Readers of matched rules: they return the matched period; and the rules of scripts without spaces.

Groups that a pattern may name, by reader:

- `numeric`: `one`, `two`, `y`, `day_first` where the day comes first
- `month`: `month`, `day`, `last` of several days, `which`, `y`; `of` and `th` make a doubtful word sure
- `day`, `lone_day`: `day`
- `season`, `holiday`: `name`, `which`, `y`
- `weekday`: `name` or `sunday`, `which`; `lead` and `follows` for the signs that tell it from an ordinal
- `relative`: `unit`, `which`, or `second` for the one before the last
- `counted`: `count`, `unit`, and one of `ago`, `ahead`, `past`, `coming`
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from react_mem.memory.language import LANGUAGES, pattern_of
from react_mem.memory.language.times.vocabulary import (
    CONTEXT_CHARS,
    DOUBTFUL,
    HOLIDAYS,
    MARKED,
    MONTHS,
    NUMBER,
    REACH_YEARS,
    SEASONS,
    SHORT_WEEKDAYS,
    UNITS,
    WEEKDAYS,
    WHICH,
    YEAR_IN_NUMERALS,
    Holder,
    Named,
    Period,
    Reader,
    Recurring,
    Scene,
    Side,
    context,
    day_of,
    days_of_year,
    for_times,
    is_other_word,
    is_year,
    months_of_year,
    number,
    number_of,
    of_unit,
    one_of,
    shift,
)

_DOUBTFUL_BEFORE = pattern_of(f"{context('doubtful_before')}$")
_DOUBTFUL_BEHIND = pattern_of(context("doubtful_behind"))
_DATED_BEFORE = pattern_of(f"{context('dated_before')}$")
_LONE_DAY_BEFORE = pattern_of(f"{context('lone_day_before')}$")
_LONE_DAY_ENDING = pattern_of(f"{context('lone_day_ending')}$")
_LONE_DAY_BEHIND = pattern_of(rf" ?(?:$|[,.;!?])|{context('lone_day_behind')}")
_ENDS = pattern_of(r" ?(?:$|[^\w\s])", re.ASCII)
_HABIT = pattern_of(f"{context('habit')}$")
_SHORT_BEFORE = pattern_of(f"{context('short_before')}$")

_HELD_IN: dict[str, Holder] = {"week": "week", "month": "month", "year": "year"}  # the units that hold others


def _which(match: re.Match[str], scene: Scene) -> int | None:
    said = match.groupdict().get("which")
    return None if said is None or (said in MARKED and scene.bare) else WHICH[said]


def _yearly(of: Recurring, match: re.Match[str], scene: Scene) -> Named:
    year = match.groupdict().get("y")
    in_full = None if not year else int(year) if len(year) == 4 else 2000 + int(year)
    return _recurring(of, _which(match, scene), in_full, scene.today)


def _recurring(of: Recurring, which: int | None, year: int | None, today: date) -> Named:
    """Return a yearly recurrence: in a given year, the last or next one, or each."""
    if year:
        named = of(year)
        return Named([named] if named else [])
    years = range(max(today.year - REACH_YEARS - 1, 1), min(today.year + 9, date.max.year))
    known = [period for year in years if (period := of(year))]
    ahead = [period for period in known if period.start > today][:1]
    match which:
        case -1:
            return Named([period for period in known if period.end < today][-1:])
        case 0:
            now = [period for period in known if period.start <= today <= period.end]
            return Named(now or [period for period in known if period.start.year == today.year])
        case 1:
            return Named(ahead)
    earliest = shift(today, -REACH_YEARS * 365)
    begun = [period for period in known if period.start <= today and period.end >= earliest]
    return Named(begun + ahead, held_by="year", within=lambda year: of(year.start.year))


def _read_month(match: re.Match[str], scene: Scene) -> Named | None:
    said = match.groupdict()
    word, day, last = said["month"], said.get("day"), said.get("last")
    if is_other_word(word, bare=scene.bare) or (word in DOUBTFUL and not _is_sure_month(match, scene)):
        return None
    month = MONTHS.get(word) or int(word)
    named = _yearly(
        days_of_year(month, int(day), last=int(last or day)) if day else months_of_year(month), match, scene
    )
    if word in WHICH and not said.get("y"):
        return replace(named, periods=[*named.periods, of_unit(scene.today, "month", WHICH[word])])
    return named


def _is_sure_month(match: re.Match[str], scene: Scene) -> bool:
    said = match.groupdict()
    if any(said.get(name) for name in ("y", "which", "th", "of")):
        return True
    before = scene.said[: match.start()][-CONTEXT_CHARS:]
    if said.get("day") and match.start("day") < match.start("month"):
        return bool(_DATED_BEFORE.search(before) or _ENDS.match(scene.said, match.end()))
    return bool(said.get("day") or _stands_as_time(before, match, scene))


def _stands_as_time(before: str, match: re.Match[str], scene: Scene) -> bool:
    return bool(_DOUBTFUL_BEFORE.search(before) or _DOUBTFUL_BEHIND.match(scene.said, match.end()))


def _read_numeric(match: re.Match[str], scene: Scene) -> Named | None:
    said = match.groupdict()
    one, two = int(said["one"]), int(said["two"])
    # both orders are written, save where a word before says which
    orders = [(two, one)] if said.get("day_first") else sorted({(two, one), (one, two)})
    read = [_yearly(days_of_year(month, day), match, scene) for month, day in orders if month <= 12]
    periods = [period for named in read for period in named.periods]
    return replace(read[0], periods=periods) if len(read) == 1 else Named(periods)


def _read_iso(match: re.Match[str], scene: Scene) -> Named:
    month, day = int(match["month"]), match.groupdict().get("day")
    return _yearly(days_of_year(month, int(day)) if day else months_of_year(month), match, scene)


def _read_season(match: re.Match[str], scene: Scene) -> Named | None:
    if match["name"] in DOUBTFUL and not any(match.groupdict().get(name) for name in ("y", "which")):
        before = scene.said[: match.start()][-CONTEXT_CHARS:]
        if not _stands_as_time(before, match, scene):
            return None
    return _yearly(SEASONS[match["name"]], match, scene)


def _read_holiday(match: re.Match[str], scene: Scene) -> Named:
    return _yearly(HOLIDAYS[match["name"]], match, scene)


def _read_year(match: re.Match[str], scene: Scene) -> Named | None:
    year = int(match["y"])
    # a word for "year" may be part of the match
    if not match["decade"] and not is_year(scene.said, match.start("y")):
        return None
    if match["decade"]:
        return Named([Period(date(year, 1, 1), date(year + 9, 12, 31))])
    return Named([Period(date(year, 1, 1), date(year, 12, 31))], holds="year")


def _read_day(match: re.Match[str], scene: Scene) -> Named:
    return _monthly(int(match["day"]), scene.today)


def _read_lone_day(match: re.Match[str], scene: Scene) -> Named | None:
    """Read a numbered day where nothing else is numbered, such as a floor or an item of a list."""
    before = scene.said[: match.start()][-CONTEXT_CHARS:]
    ends = _LONE_DAY_ENDING.search(before) and _LONE_DAY_BEHIND.match(scene.said, match.end())
    return _read_day(match, scene) if ends or _LONE_DAY_BEFORE.search(before) else None


def _monthly(number: int, today: date) -> Named:
    """Return the days of this number: the last one, and the next."""
    days = [day for offset in range(-2, 4) if (day := day_of(of_unit(today, "month", offset), number))]
    past, ahead = [day for day in days if day.start <= today], [day for day in days if day.start > today]
    return Named([*past[-1:], *ahead[:1]], held_by="month", within=lambda month: day_of(month, number))


def _read_weekday(match: re.Match[str], scene: Scene) -> Named | None:
    """Read a weekday; one with a group `lead` only where it cannot be an ordinal."""
    said = match.groupdict()
    name, sunday, which = said["name"], said.get("sunday"), _which(match, scene)
    before = scene.said[: match.start()][-CONTEXT_CHARS:]
    # right before the day: a word such as "mới" (just) may come before what leads to it
    habit = not said.get("lead") and _HABIT.search(before)
    if habit or (name and is_other_word(name, bare=scene.bare)):
        return None
    if "lead" in said:
        around = said["lead"] or said["follows"] is not None or not match.start()
        sure = sunday or said["which"] or around
    else:
        sure = name not in SHORT_WEEKDAYS or said["which"] or _SHORT_BEFORE.search(before)
    return _weekly(6 if sunday else {**SHORT_WEEKDAYS, **WEEKDAYS}[name], which, scene.today) if sure else None


def _weekly(weekday: int, which: int | None, today: date) -> Named:
    """Return a weekday: the last or next one, or both."""
    since = (today.weekday() - weekday) % 7
    match which:
        case -1:
            days = [shift(today, -(since or 7))]
        case 0:
            days = [shift(today, weekday - today.weekday())]
        case 1:
            days = [shift(today, 7 - since)]
        case _:
            days = [shift(today, -since), shift(today, 7 - since)]

    def within(week: Period) -> Period:
        day = shift(week.start, weekday)
        return Period(day, day)

    return Named([Period(day, day) for day in days], held_by="week" if which is None else None, within=within)


def read_phrase(offsets: tuple[int, int]) -> Reader:
    def read(match: re.Match[str], scene: Scene) -> Named:
        return Named([Period(shift(scene.today, offsets[0]), shift(scene.today, offsets[1]))])

    return read


def _read_relative(match: re.Match[str], scene: Scene) -> Named:
    said = match.groupdict()
    unit = UNITS.get(said["unit"], said["unit"])
    offset = -2 if said.get("second") else WHICH[said["which"]]
    return Named([of_unit(scene.today, unit, offset)], holds=_HELD_IN.get(unit))


def _read_counted(match: re.Match[str], scene: Scene) -> Named | None:
    """Read "two weeks ago", "in two weeks" and "the last two weeks"."""
    said = match.groupdict()
    if is_other_word(said["count"], bare=scene.bare):
        return None
    low, high = number_of(said["count"]) if said["count"] else (1, 1)
    unit = UNITS.get(said["unit"], said["unit"])
    if unit in {"minute", "hour"}:
        unit, low, high = "day", 0, 0
    elif unit == "decade":
        unit, low, high = "year", 10 * low, 10 * high
    if said.get("past") or said.get("coming"):
        days = high * {"day": 1, "week": 7, "weekend": 7, "month": 31, "year": 366}[unit]
        ends = (-days, 0) if said.get("past") else (0, days)
        return Named([Period(shift(scene.today, ends[0]), shift(scene.today, ends[1]))])
    return _counted(unit, low, high, ago=bool(said.get("ago")), today=scene.today)


def _counted(unit: str, low: int, high: int, *, ago: bool, today: date) -> Named:
    """Return the units at a distance from now, from `low` to `high`."""
    first, last = (-high, -low) if ago else (low, high)
    return Named([Period(of_unit(today, unit, first).start, of_unit(today, unit, last).end)])


READERS: dict[str, Reader] = {
    "iso": _read_iso,
    "numeric": _read_numeric,
    "month": _read_month,
    "lone_day": _read_lone_day,
    "day": _read_day,
    "season": _read_season,
    "holiday": _read_holiday,
    "year": _read_year,
    "weekday": _read_weekday,
    "relative": _read_relative,
    "counted": _read_counted,
}
"""Readers by the kind of their patterns; of two that match the same words the earlier one reads."""


# Times in scripts without spaces between words: rules made from the files of such languages.

_UNSPACED_YEAR = rf"(?:(?<!\d)(?:19|20)\d\d|{YEAR_IN_NUMERALS})"


class _UnspacedTimes:
    """The rules of one language, from the `times` of its file."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self._units = {word: unit for unit, listed in words["units"].items() for word in for_times(listed).split()}
        self._spans = {
            word: (unit, offset)
            for unit, offsets in words["spans"].items()
            for offset, listed in offsets.items()
            for word in for_times(listed).split()
        }
        self._weekdays = {word: day for day, listed in enumerate(words["weekdays"]) for word in listed.split()}
        self._vague = {word: (low, high) for word, (low, high) in words["vague"].items()}
        self._every = pattern_of(rf"(?:{words['every']})\Z")
        readers: dict[str, Reader] = {
            "weekday": self._read_weekday,
            "date": _read_date,
            "year": _read_date,
            "day": self._read_day,
            "loose_day": self._read_day,
            "counted": self._read_counted,
            "span": self._read_span,
        }
        self.rules = [(self.compiled(words[name]), self._unless_every(read)) for name, read in readers.items()]

    def compiled(self, source: str) -> re.Pattern[str]:
        """Return a pattern of the file with the words put in their places."""
        words = {
            "n": f"(?:{NUMBER}|{one_of(self._vague)})",
            "year": _UNSPACED_YEAR,
            "unit": one_of(self._units),
            "weekday": one_of(self._weekdays),
            "span": one_of(self._spans),
            **{unit: one_of(word for word, of in self._spans.items() if of[0] == unit) for unit in ("week", "month")},
        }
        for name, pattern in words.items():
            source = source.replace(f"{{{name}}}", pattern)
        return pattern_of(source, re.ASCII)

    def _unless_every(self, read: Reader) -> Reader:
        def once(match: re.Match[str], scene: Scene) -> Named | None:
            before = scene.said[: match.start()][-CONTEXT_CHARS:]
            return None if self._every.search(before) else read(match, scene)

        return once

    def _read_weekday(self, match: re.Match[str], scene: Scene) -> Named:
        weekday = self._weekdays[match["weekday"]]
        if not match["span"]:
            return _weekly(weekday, None, scene.today)
        monday = of_unit(scene.today, *self._spans[match["span"]]).start
        return Named([Period(shift(monday, weekday), shift(monday, weekday))])

    def _read_day(self, match: re.Match[str], scene: Scene) -> Named | None:
        day = number(match["day"])
        if not (span := match.groupdict().get("span")):
            return _monthly(day, scene.today)
        found = day_of(of_unit(scene.today, *self._spans[span]), day)
        return Named([found]) if found else None

    def _read_counted(self, match: re.Match[str], scene: Scene) -> Named:
        count, unit = match["count"], self._units[match["unit"]]
        low, high = self._vague.get(count) or (number(count), number(count))
        if unit in {"minute", "hour"}:
            unit, low, high = "day", 0, 0
        return _counted(unit, low, high, ago=bool(match["ago"]), today=scene.today)

    def _read_span(self, match: re.Match[str], scene: Scene) -> Named:
        unit, offset = self._spans[match["span"]]
        return Named([of_unit(scene.today, unit, offset)], holds=_HELD_IN.get(unit))


def _read_date(match: re.Match[str], scene: Scene) -> Named | None:
    said = match.groupdict()
    year = number(said["y"]) if said.get("y") else None
    if not said.get("month"):
        return Named([of_unit(date(year, 1, 1), "year", 0)], holds="year") if year else None
    month, day = number(said["month"]), said.get("day")
    if not 1 <= month <= 12:
        return None
    return _recurring(days_of_year(month, number(day)) if day else months_of_year(month), None, year, scene.today)


_ALL = [_UnspacedTimes(language.times) for language in LANGUAGES if language.unspaced and language.times]
UNSPACED_RULES = tuple(rule for times in _ALL for rule in times.rules)
"""Patterns of times in these languages, each with its reader."""


def _sides(place: str, end: str) -> list[tuple[Side, re.Pattern[str]]]:
    return [
        (side, pattern_of(f"(?:{around[place]}){end}"))
        for language in LANGUAGES
        if language.unspaced
        for side, around in language.times.get("sides", {}).items()
        if place in around
    ]


_BEFORE, _AFTER = _sides("before", r"\Z"), _sides("after", "")


def side_of(before: str, after: str) -> Side:
    """Return the relation of a text to a time, by the words right before and behind it."""
    told = [side for side, pattern in _BEFORE if pattern.search(before)]
    told += [side for side, pattern in _AFTER if pattern.match(after)]
    return told[0] if told else "at"
