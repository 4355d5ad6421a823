"""From what a rule matched to the periods that it means."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

from react_mem.memory.language.times.days import Period, Recurring, day_of, days_of_year, months_of_year, of_unit, shift
from react_mem.memory.language.times.named import CONTEXT_CHARS, REACH_YEARS, Holder, Named, Reader, Scene
from react_mem.memory.language.times.vocabulary import (
    DOUBTFUL,
    HOLIDAYS,
    MONTHS,
    MONTHS_VI,
    SEASONS,
    UNITS_VI,
    WEEKDAYS,
    WEEKDAYS_SHORT,
    WEEKDAYS_VI,
    WHICH,
    number_of,
    one_of,
)
from react_mem.memory.language.times.years import is_year

# where a word that may be something else is a month or a season
_SURE = one_of(set(MONTHS) - DOUBTFUL | {"april", "march", "june", "august"})
_AFTER_TIME_LEAD = re.compile(
    r"\b(?:in|of|during|since|by|until|till|before|after|between|through|throughout|around|about|early|mid|late"
    rf"|{_SURE} (?:and|or|to|until|through))(?: the)?[ -](?:(?:early|mid|late)[ -])?$"
)
_BEFORE_TIME = re.compile(
    rf"(?: of)? (?:last|this|next|that) year\b| ?(?:-|to|until|through) ?{_SURE}\b|-may\b| to may\b"
)
_AFTER_DAY_LEAD = re.compile(r"(?:^|\b(?:on|by|until|till|since|before|after|from|between|and|to|the)) $")
_DAY_LEAD = re.compile(r"\b(?:by|until|till|up to|since|before|after|from|(?P<on>on)) $")
_BEHIND_DAY = re.compile(r" ?(?:$|[,.;!?])| of (?:last|this|next) month\b")
_ENDS = re.compile(r" ?(?:$|[^\w\s])", re.ASCII)
_HABIT = re.compile(r"\b(?:every|each|moi) $")
_SHORT_LEAD = re.compile(r"\b(?:on|by|until|since) $")


HELD_IN: dict[str, Holder] = {"week": "week", "month": "month", "year": "year"}
"""The units that others are in."""


def _which(match: re.Match[str], scene: Scene) -> int | None:
    said = match.groupdict().get("which")
    # "thang 5 toi di dau": "toi" is rather "tôi" (I) than "tới" (next) where no diacritics are written
    return None if said is None or (said == "toi" and scene.bare) else WHICH[said]


def _yearly(of: Recurring, match: re.Match[str], scene: Scene) -> Named:
    year = match.groupdict().get("y")
    number = None if not year else int(year) if len(year) == 4 else 2000 + int(year)
    return yearly(of, _which(match, scene), number, scene.today)


def yearly(of: Recurring, which: int | None, year: int | None, today: date) -> Named:
    """Return what comes once a year: in a year, or the last or next one, or each."""
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


def read_english_month(match: re.Match[str], scene: Scene) -> Named | None:
    said = match.groupdict()
    before = scene.said[: match.start()][-CONTEXT_CHARS:]
    month, day, last = MONTHS[said["name"]], said.get("day"), said.get("last")
    if said["name"] in DOUBTFUL and not any(said.get(name) for name in ("y", "which", "th", "of")):
        if day and match.start("day") < match.start("name"):
            sure = bool(_AFTER_DAY_LEAD.search(before) or _ENDS.match(scene.said, match.end()))
        else:
            sure = bool(day or _AFTER_TIME_LEAD.search(before) or _BEFORE_TIME.match(scene.said, match.end()))
        if not sure:
            return None
    return _yearly(days_of_year(month, int(day), int(last or day)) if day else months_of_year(month), match, scene)


def read_vietnamese_month(match: re.Match[str], scene: Scene) -> Named | None:
    word, day = match["month"], match.groupdict().get("day")
    if word == "sau" and not scene.bare:
        return None
    month = MONTHS_VI.get(word) or int(word)
    named = _yearly(days_of_year(month, int(day)) if day else months_of_year(month), match, scene)
    if word == "sau" and not match["y"]:
        return replace(named, periods=[*named.periods, of_unit(scene.today, "month", 1)])
    return named


def read_numeric(match: re.Match[str], scene: Scene) -> Named | None:
    said = match.groupdict()
    one, two = int(said["one"]), int(said["two"])
    # English writes both orders; after "ngày" the day comes first
    orders = [(two, one)] if said.get("vi") else sorted({(two, one), (one, two)})
    read = [_yearly(days_of_year(month, day), match, scene) for month, day in orders if month <= 12]
    periods = [period for named in read for period in named.periods]
    return replace(read[0], periods=periods) if len(read) == 1 else Named(periods)


def read_iso(match: re.Match[str], scene: Scene) -> Named:
    month, day = int(match["month"]), match.groupdict().get("day")
    return _yearly(days_of_year(month, int(day)) if day else months_of_year(month), match, scene)


def read_season(match: re.Match[str], scene: Scene) -> Named | None:
    if match["name"] in DOUBTFUL and not (match["y"] or match["which"]):
        before = scene.said[: match.start()][-CONTEXT_CHARS:]
        if not (_AFTER_TIME_LEAD.search(before) or _BEFORE_TIME.match(scene.said, match.end())):
            return None
    return _yearly(SEASONS[match["name"]], match, scene)


def read_holiday(match: re.Match[str], scene: Scene) -> Named:
    return _yearly(HOLIDAYS[match["name"]], match, scene)


def read_year(match: re.Match[str], scene: Scene) -> Named | None:
    year = int(match["y"])
    # "nam", the word for year, may be part of the match
    if not match["decade"] and not is_year(scene.said, match.start("y")):
        return None
    if match["decade"]:
        return Named([Period(date(year, 1, 1), date(year + 9, 12, 31))])
    return Named([Period(date(year, 1, 1), date(year, 12, 31))], holds="year")


def read_day(match: re.Match[str], scene: Scene) -> Named:
    return monthly(int(match["day"]), scene.today)


def read_english_day(match: re.Match[str], scene: Scene) -> Named | None:
    # elsewhere the number may be one of a floor or of a list
    before = scene.said[: match.start()][-CONTEXT_CHARS:]
    told = _DAY_LEAD.search(before)
    if told is None or (told["on"] and not _BEHIND_DAY.match(scene.said, match.end())):
        return None
    return read_day(match, scene)


def monthly(number: int, today: date) -> Named:
    """Return the days of this number: the last one, and the next."""
    days = [day for offset in range(-2, 4) if (day := day_of(of_unit(today, "month", offset), number))]
    past, ahead = [day for day in days if day.start <= today], [day for day in days if day.start > today]
    return Named([*past[-1:], *ahead[:1]], held_by="month", within=lambda month: day_of(month, number))


def read_weekday(match: re.Match[str], scene: Scene) -> Named | None:
    name, which = match["name"], _which(match, scene)
    before = scene.said[: match.start()][-CONTEXT_CHARS:]
    if _HABIT.search(before) or (name in WEEKDAYS_SHORT and not (match["which"] or _SHORT_LEAD.search(before))):
        return None
    return weekly((WEEKDAYS | WEEKDAYS_SHORT)[name], which, scene.today)


def read_vietnamese_weekday(match: re.Match[str], scene: Scene) -> Named | None:
    name, which = match["name"], _which(match, scene)
    # "lần thứ ba" is the third time
    stands = match["sunday"] or match["which"] or match["lead"] or not match.start() or match["follows"] is not None
    if not stands or match["lead"] == "moi " or (name == "sau" and not scene.bare):
        return None
    return weekly(6 if match["sunday"] else WEEKDAYS_VI[name], which, scene.today)


def weekly(weekday: int, which: int | None, today: date) -> Named:
    """Return what comes once a week: the last or next one, or both."""
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
    unit = UNITS_VI.get(said["unit"], said["unit"])
    offset = -2 if said.get("second") else WHICH[said["which"]]
    return Named([of_unit(scene.today, unit, offset)], holds=HELD_IN.get(unit))


def read_counted(match: re.Match[str], scene: Scene) -> Named | None:
    """Read "two weeks ago", "in two weeks" and "the last two weeks"."""
    said = match.groupdict()
    if said["count"] == "sau" and not scene.bare:
        return None
    low, high = number_of(said["count"] or "one")
    unit = UNITS_VI.get(said["unit"], said["unit"])
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
    """Return the units that are so many from now, at least and at most."""
    first, last = (-high, -low) if ago else (low, high)
    return Named([Period(of_unit(today, unit, first).start, of_unit(today, unit, last).end)])
