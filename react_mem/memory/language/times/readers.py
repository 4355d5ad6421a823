"""Readers of matched rules: they return the matched period.

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
from dataclasses import replace
from datetime import date

from react_mem.memory.language.times.days import (
    CONTEXT_CHARS,
    REACH_YEARS,
    Holder,
    Named,
    Period,
    Reader,
    Recurring,
    Scene,
    day_of,
    days_of_year,
    months_of_year,
    of_unit,
    shift,
)
from react_mem.memory.language.times.vocabulary import (
    DOUBTFUL,
    HOLIDAYS,
    MARKED,
    MONTHS,
    SEASONS,
    SHORT_WEEKDAYS,
    UNITS,
    WEEKDAYS,
    WHICH,
    context,
    is_other_word,
    is_year,
    number_of,
)

_DOUBTFUL_BEFORE = re.compile(f"{context('doubtful_before')}$")
_DOUBTFUL_BEHIND = re.compile(context("doubtful_behind"))
_DATED_BEFORE = re.compile(f"{context('dated_before')}$")
_LONE_DAY_BEFORE = re.compile(f"{context('lone_day_before')}$")
_LONE_DAY_ENDING = re.compile(f"{context('lone_day_ending')}$")
_LONE_DAY_BEHIND = re.compile(rf" ?(?:$|[,.;!?])|{context('lone_day_behind')}")
_ENDS = re.compile(r" ?(?:$|[^\w\s])", re.ASCII)
_HABIT = re.compile(f"{context('habit')}$")
_SHORT_BEFORE = re.compile(f"{context('short_before')}$")


HELD_IN: dict[str, Holder] = {"week": "week", "month": "month", "year": "year"}
"""The units that hold others."""


def _which(match: re.Match[str], scene: Scene) -> int | None:
    said = match.groupdict().get("which")
    return None if said is None or (said in MARKED and scene.bare) else WHICH[said]


def _yearly(of: Recurring, match: re.Match[str], scene: Scene) -> Named:
    year = match.groupdict().get("y")
    number = None if not year else int(year) if len(year) == 4 else 2000 + int(year)
    return yearly(of, _which(match, scene), number, scene.today)


def yearly(of: Recurring, which: int | None, year: int | None, today: date) -> Named:
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


def read_month(match: re.Match[str], scene: Scene) -> Named | None:
    """Read a month by its name or number, with a day or days of it, and with a year."""
    said = match.groupdict()
    word, day, last = said["month"], said.get("day"), said.get("last")
    if is_other_word(word, bare=scene.bare) or (word in DOUBTFUL and not _is_sure_month(match, scene)):
        return None
    month = MONTHS.get(word) or int(word)
    named = _yearly(days_of_year(month, int(day), int(last or day)) if day else months_of_year(month), match, scene)
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


def read_numeric(match: re.Match[str], scene: Scene) -> Named | None:
    said = match.groupdict()
    one, two = int(said["one"]), int(said["two"])
    # both orders are written, save where a word before says which
    orders = [(two, one)] if said.get("day_first") else sorted({(two, one), (one, two)})
    read = [_yearly(days_of_year(month, day), match, scene) for month, day in orders if month <= 12]
    periods = [period for named in read for period in named.periods]
    return replace(read[0], periods=periods) if len(read) == 1 else Named(periods)


def read_iso(match: re.Match[str], scene: Scene) -> Named:
    month, day = int(match["month"]), match.groupdict().get("day")
    return _yearly(days_of_year(month, int(day)) if day else months_of_year(month), match, scene)


def read_season(match: re.Match[str], scene: Scene) -> Named | None:
    if match["name"] in DOUBTFUL and not any(match.groupdict().get(name) for name in ("y", "which")):
        before = scene.said[: match.start()][-CONTEXT_CHARS:]
        if not _stands_as_time(before, match, scene):
            return None
    return _yearly(SEASONS[match["name"]], match, scene)


def read_holiday(match: re.Match[str], scene: Scene) -> Named:
    return _yearly(HOLIDAYS[match["name"]], match, scene)


def read_year(match: re.Match[str], scene: Scene) -> Named | None:
    year = int(match["y"])
    # a word for "year" may be part of the match
    if not match["decade"] and not is_year(scene.said, match.start("y")):
        return None
    if match["decade"]:
        return Named([Period(date(year, 1, 1), date(year + 9, 12, 31))])
    return Named([Period(date(year, 1, 1), date(year, 12, 31))], holds="year")


def read_day(match: re.Match[str], scene: Scene) -> Named:
    return monthly(int(match["day"]), scene.today)


def read_lone_day(match: re.Match[str], scene: Scene) -> Named | None:
    """Read a numbered day where nothing else is numbered, such as a floor or an item of a list."""
    before = scene.said[: match.start()][-CONTEXT_CHARS:]
    ends = _LONE_DAY_ENDING.search(before) and _LONE_DAY_BEHIND.match(scene.said, match.end())
    return read_day(match, scene) if ends or _LONE_DAY_BEFORE.search(before) else None


def monthly(number: int, today: date) -> Named:
    """Return the days of this number: the last one, and the next."""
    days = [day for offset in range(-2, 4) if (day := day_of(of_unit(today, "month", offset), number))]
    past, ahead = [day for day in days if day.start <= today], [day for day in days if day.start > today]
    return Named([*past[-1:], *ahead[:1]], held_by="month", within=lambda month: day_of(month, number))


def read_weekday(match: re.Match[str], scene: Scene) -> Named | None:
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
    return weekly(6 if sunday else {**SHORT_WEEKDAYS, **WEEKDAYS}[name], which, scene.today) if sure else None


def weekly(weekday: int, which: int | None, today: date) -> Named:
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


def read_relative(match: re.Match[str], scene: Scene) -> Named:
    said = match.groupdict()
    unit = UNITS.get(said["unit"], said["unit"])
    offset = -2 if said.get("second") else WHICH[said["which"]]
    return Named([of_unit(scene.today, unit, offset)], holds=HELD_IN.get(unit))


def read_counted(match: re.Match[str], scene: Scene) -> Named | None:
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
    return counted(unit, low, high, ago=bool(said.get("ago")), today=scene.today)


def counted(unit: str, low: int, high: int, *, ago: bool, today: date) -> Named:
    """Return the units at a distance from now, from `low` to `high`."""
    first, last = (-high, -low) if ago else (low, high)
    return Named([Period(of_unit(today, unit, first).start, of_unit(today, unit, last).end)])
