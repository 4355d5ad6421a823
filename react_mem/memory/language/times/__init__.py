"""Times in texts: the days, the side of them, the time of day; and questions for a time.

English and Vietnamese, in any case, with and without diacritics, and the scripts without spaces whose files list
their forms of time. Without diacritics some words are ambiguous ("thang sau" is June and next month): both
readings count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from react_mem.memory.language import FILES, LANGUAGES, known_language, other_language, pattern_of
from react_mem.memory.language.times.readers import READERS, UNSPACED_RULES, read_phrase, side_of
from react_mem.memory.language.times.vocabulary import (
    CONTEXT_CHARS,
    DAY_FIRST,
    MAX_QUESTION,
    NUMBER,
    PHRASES,
    REACH_YEARS,
    SIDES,
    TIMES,
    YEAR,
    YEAR_WORDS,
    Named,
    Period,
    Reader,
    Scene,
    Side,
    for_times,
    is_year,
    number,
    number_of,
    of_unit,
    one_of,
    patterns,
    shift,
    small,
)

__all__ = ["Mention", "Period", "asks_when", "mentions", "named_periods", "tells_when", "time_of_day", "without_times"]

# Words before a named period that change it: "early", "before", "since", "the week after", "between".

_REACH_OF_MANY_DAYS = 183
"""Days that "before May" reaches back in each possible year: with more, the periods cover everything."""

_PART = (
    rf"(?:{small('article')} )?(?:{small('very')} )?"
    rf"(?:(?P<early>{small('early')})|(?P<middle>{small('middle')})|(?P<late>{small('late')}))"
    rf"(?: {small('inside')})?[ -]"
)
_LEAD = rf"(?:\b{small('lead')} )?(?:\b{_PART})?(?:{small('noun')} )?$"
_BESIDE = [pattern_of(pattern + _LEAD) for pattern in patterns("contexts", "beside")]
_OPEN = pattern_of(rf"(?:\b(?P<open>{one_of(SIDES)})(?: {small('hedge')})? (?:{small('end')} )?)?{_LEAD}")
_THROUGH = pattern_of(rf"(?:\bof|,)? ?(?:-|\b{small('through')})(?: {small('through_noun')})? ?$")
_AND = pattern_of(rf",? {small('and')}(?: {small('and_noun')})? $")
_BETWEEN = pattern_of(rf"\b{small('between')}(?: {small('and_noun')})? $")


def _joined(said: str, before: str, first: Named, second: Named) -> list[Period]:
    """Return the periods from the first to the second where these are joined: "between May and July 2022"."""
    gap = said[first.end : second.start]
    if not (_THROUGH.fullmatch(gap) or (_AND.fullmatch(gap) and _BETWEEN.search(before))):
        return []
    if len(second.periods) < len(first.periods):
        # "from May to July 2022": the year of the end is the year of the start
        starts = ((max((a for a in first.periods if a <= b), default=None), b) for b in second.periods)
        return [Period(a.start, max(a.end, b.end)) for a, b in starts if a]
    ends = ((a, min((b for b in second.periods if b.start >= a.start), default=None)) for a in first.periods)
    return [Period(a.start, max(a.end, b.end)) for a, b in ends if b]


def _modified(before: str, periods: list[Period]) -> tuple[list[Period], Side]:
    """Return the periods changed by the words before them ("early", "the week after"), and the side of them."""
    found = (lead for pattern in (*_BESIDE, _OPEN) if (lead := pattern.search(before)))
    # the one that says most: "the last week of June" is not the week of it
    lead = min(found, key=lambda lead: lead.start(), default=None)
    if lead is None:
        return periods, "at"
    if lead["early"] or lead["middle"] or lead["late"]:
        periods = [_third(period, lead) for period in periods]
    said = lead.groupdict()
    if unit := said.get("unit"):
        count = number_of(said["count"])[0] if said["count"] else 1
        return [_beside(period, unit, said["side"], count) for period in periods], "at"
    return periods, SIDES[said["open"]] if said["open"] else "at"


def _third(period: Period, lead: re.Match[str]) -> Period:
    days = (period.end - period.start).days
    third = -(-(days + 1) // 3)
    if lead["middle"]:
        return Period(shift(period.start, min(third, days)), shift(period.start, min(2 * third - 1, days)))
    if lead["late"]:
        return Period(shift(period.end, 1 - third), period.end)
    return Period(period.start, shift(period.start, third - 1))


def _beside(period: Period, unit: str, side: str, count: int) -> Period:
    if unit == "week" and side != "of":
        # "the week before the 9th" is the seven days that lead to it, not a week of the calendar
        first, last = (-7 * count, -7 * count + 6) if side == "before" else (7 * count - 6, 7 * count)
        near = period.start if side == "before" else period.end
        return Period(shift(near, first), shift(near, last))
    near, offset = {"before": (period.start, -count), "after": (period.end, count), "of": (period.start, 0)}[side]
    return of_unit(near, unit, offset)


def _opened(periods: list[Period], side: Side, today: date) -> list[Period]:
    """Return the periods on a side of the given ones, within the reach of a search."""
    reach = REACH_YEARS * 366 if len(periods) == 1 else _REACH_OF_MANY_DAYS
    match side:
        case "at" | "from":
            return periods
        case "since":
            begun = [period for period in periods if period.start <= today]
            return [Period(begun[-1].start, max(today, begun[-1].end))] if begun else periods
        case "before":
            return [Period(shift(period.start, -reach), shift(period.start, -1)) for period in periods]
        case "after":
            return [Period(shift(period.end, 1), shift(period.end, reach)) for period in periods]
        case _:
            return [Period(shift(period.end, -reach), period.end) for period in periods]


# Rules for times: patterns, each with its reader.

_ISO = (
    rf"(?<![\d/.-])(?P<y>{YEAR})(?P<dash>[-/.])(?P<month>0?[1-9]|1[0-2])(?P=dash)(?P<day>\d{{1,2}})(?!\d)",
    rf"(?<![\d/.-])(?P<y>{YEAR})[-/](?P<month>0[1-9]|1[0-2])(?![-/\d])",
    rf"(?<![\d/.-])(?P<month>0?[1-9]|1[0-2])/(?P<y>{YEAR})",
)
_NUMERIC = (
    rf"(?<![\d/.-])(?P<day_first>\b{DAY_FIRST} )?(?<!\d)(?P<one>\d{{1,2}})(?P<dash>[-/.])(?P<two>\d{{1,2}})"
    rf"(?P=dash)(?P<y>{YEAR}|(?<=/)\d\d(?!\d))"
)
_YEAR = (
    rf"(?<![\w$#])(?<!\d[.,:/-])(?:{YEAR_WORDS} )?(?P<y>{YEAR})(?:(?<=0)(?P<decade>'?s)|(?![\w%]|[.,:/-]\d)"
    rf"(?! {small('measures')}\b))"
)

_WRITTEN = {"iso": _ISO, "numeric": (_NUMERIC,), "year": (_YEAR,)}


def _rules(*kinds: str) -> Iterator[tuple[str, Reader]]:
    return ((one, READERS[kind]) for kind in kinds for one in (*_WRITTEN.get(kind, ()), *patterns("rules", kind)))


_RULES: tuple[tuple[re.Pattern[str], Reader], ...] = (
    *UNSPACED_RULES,
    *(
        (pattern_of(pattern, re.ASCII), read)
        for pattern, read in (
            *_rules("iso", "numeric", "month", "lone_day", "day", "season", "holiday", "year", "weekday"),
            *((rf"\b(?:{phrase})\b", read_phrase(offsets)) for phrase, offsets in PHRASES),
            *_rules("relative", "counted"),
        )
    ),
)
"""Patterns of times, each with its reader; of two that match the same words the earlier one reads."""


_MAX_NAMED = 8  # a question names one or two periods; a pasted text may name hundreds, which would only blur the cue
_HOLDER_DISTANCE = 40  # characters between a month and its year: "In 2022, what did I do in May?"


@dataclass(frozen=True)
class Mention:
    """Possible periods named in a text; `spans` is true if it names the first and the last day: "from March to May"."""

    periods: tuple[Period, ...]
    side: Side = "at"
    spans: bool = False


def mentions(text: str, today: date) -> list[Mention]:
    """Return the times in a text, in order. The text is of bounded length; `today` is its day at its writer's place.

    >>> [(one.side, len(one.periods)) for one in mentions("I go there next week, by Friday", date(2024, 5, 15))]
    [('by', 1)]
    """
    # one that writes diacritics means "after" by "sau"; without them it is "six" too
    scene = Scene(for_times(text), today, bare=text.isascii())
    found = _in_their_holders(_find(scene))
    told: list[Mention] = []
    index = 0
    while index < len(found):
        first = found[index]
        before = scene.said[found[index - 1].end if index else 0 : first.start][-CONTEXT_CHARS:]
        together = _joined(scene.said, before, first, found[index + 1]) if index + 1 < len(found) else []
        if together:
            told.append(Mention(tuple(together), spans=True))
        else:
            periods, side = _modified(before, list(first.periods))
            told.append(Mention(tuple(periods), side_of(before, scene.said[first.end :]) if side == "at" else side))
        index += 2 if together else 1
    return told


def without_times(text: str, today: date) -> str:
    """Return a text, folded, without its times; for the arguments see `mentions`.

    >>> without_times("I have had 3 cats since March 2021.", date(2024, 5, 15))
    'i have had 3 cats since  .'
    """
    scene = Scene(for_times(text), today, bare=text.isascii())
    ends = [0, *(end for named in _find(scene) for end in (named.start, named.end)), len(scene.said)]
    return " ".join(scene.said[start:end] for start, end in zip(ends[::2], ends[1::2], strict=True))


def _find(scene: Scene) -> list[Named]:
    matches = [(match, read) for rule, read in _RULES for match in rule.finditer(scene.said)]
    matches.sort(key=lambda found: (found[0].start(), -found[0].end()))
    named: list[Named] = []
    for match, read in matches:
        taken = named[-1].end if named else 0
        if match.start() >= taken and (one := read(match, scene)) and (one.periods or one.held_by):
            named.append(replace(one, start=match.start(), end=match.end()))
            if len(named) == _MAX_NAMED:
                break
    return named


def _in_their_holders(named: list[Named]) -> list[Named]:
    """Put "in May" into "last year" and "Tuesday" into "last week", wherever in the text these stand."""
    held: dict[int, Named] = {}
    used: set[int] = set()
    for index, one in enumerate(named):
        holders = [
            (distance, other)
            for other, holder in enumerate(named)
            if one.held_by is not None
            and holder.holds == one.held_by
            and (distance := max(one.start - holder.end, holder.start - one.end)) <= _HOLDER_DISTANCE
        ]
        if holders:
            holder = min(holders)[1]
            used.add(holder)
            periods = [period for each in named[holder].periods if (period := one.within(each))]
            held[index] = replace(one, periods=periods)
    kept = [held.get(index, one) for index, one in enumerate(named) if index not in used]
    return [one for one in kept if one.periods]


# Detection of questions for a time, and of texts that tell one.


def asks_when(question: str) -> bool:
    """Return true for a question for a date or a duration.

    >>> asks_when("When did I move?"), asks_when("Tôi chuyển nhà khi nào?"), asks_when("What did I say when I moved?")
    (True, True, False)
    """
    return bool(_ASKS_WHEN.search(for_times(question[:MAX_QUESTION])))


def tells_when(text: str) -> bool:
    """Return true for an expression of time: a date, "yesterday", "for three years".

    >>> tells_when("I moved last week"), tells_when("Hôm qua tôi đi bơi"), tells_when("I may move")
    (True, True, False)
    """
    folded = for_times(text)
    return bool(_TELLS_WHEN.search(folded)) or any(
        is_year(folded, year.start()) for year in _YEAR_OF_EXPRESSIONS.finditer(folded)
    )


_DIGITS = (
    r"(?:19|20)\d\d(?P<dash>[-/.])\d{1,2}(?P=dash)\d{1,2}\b",
    r"\d{1,2}(?:/\d{1,2}(?:/\d\d|\b)|[-.]\d{1,2}[-.](?:19|20)\d\d|:\d\d\b)",
)


def _sorted_by_letter(branches: Iterable[str]) -> str:
    # looking at a letter is cheaper than trying a branch: a text of 200 characters takes a third of the time
    of_letter: dict[str, list[str]] = {}
    for branch in branches:
        letter = branch[0] if branch[0].isalpha() else ""
        of_letter.setdefault(letter, []).append(branch[len(letter) :])
    return "|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in of_letter.items())


_ASKS_WHEN = pattern_of("|".join(one for times in TIMES for one in times.asks()) or "(?!)", re.ASCII)
_YEAR_OF_EXPRESSIONS = pattern_of(rf"\b{YEAR}(?![.,]\d)", re.ASCII)
_TELLS_WHEN = pattern_of(
    rf"\b(?:{_sorted_by_letter((*(one for times in TIMES for one in times.tells()), *_DIGITS))})", re.ASCII
)


# Periods that a question names.


_KNOWN_WORDS = [
    (
        code,
        [
            (pattern_of(rf"\b(?:{said})(?!\w)" if said[0].isalpha() else said, re.IGNORECASE), read)
            for said, read in told
        ],
    )
    for code, data in FILES.items()
    if (told := [*(data.get("asked_times") or {}).items()])
]


def _in_known_words(question: str) -> str:
    """Return a question with its times in the words of a language with a reader of times."""
    language = other_language(question)
    if not language and known_language(question):
        return question
    for code, told in _KNOWN_WORDS:
        if language in (code, ""):
            for pattern, read in told:
                question = pattern.sub(read, question)
    return question


def named_periods(question: str, now: datetime) -> tuple[Period, ...]:
    """Return the periods that a question names or implies, oldest first; empty without any.

    A month, a day of a month, a season or a holiday without a year means each of its occurrences in the last ten
    years and the next one, as the conversation in question may be old. `now` is in the asker's time zone.

    >>> named_periods("What did I do last week?", datetime(2024, 5, 15))
    (Period(start=datetime.date(2024, 5, 6), end=datetime.date(2024, 5, 12)),)
    """
    today = now.date()
    periods: set[Period] = set()
    for one in mentions(_in_known_words(question[:MAX_QUESTION]), today):
        periods.update(_opened(list(one.periods), one.side, today))
    return tuple(sorted(periods))


def told_day(at: str, text: str, said: str) -> str:
    """Return the day of an ISO time as precisely as a text said it: a year, a month or a day.

    >>> told_day("2019-01-01T00:00:00Z", "I moved in 2019.", "2026-11-25"), told_day("2019-01-01", "New Year 2019", "")
    ('2019', '2019-01-01')
    """
    day = at[:10]
    with suppress(ValueError):
        told, today = date.fromisoformat(day), date.fromisoformat(said[:10]) if said else date.fromisoformat(day)
        for one in (period for mention in mentions(text[:MAX_QUESTION], today) for period in mention.periods):
            if told in (one.start, one.end) and one.start.day == 1 and (one.end + timedelta(days=1)).day == 1:
                whole_year = (one.start.month, one.end.month) == (1, 12) and one.start.year == one.end.year
                whole_month = (one.start.year, one.start.month) == (one.end.year, one.end.month)
                return day[:4] if whole_year else day[:7] if whole_month else day
    return day


# Times of day.

_DIGITAL = r"(?<![\d:.])(?P<hour>\d{1,2}):(?P<minute>\d\d)(?![\d:])(?! ?[ap]\.?m\b)"
_CLOCK = [
    pattern_of(source.replace("{n}", f"(?:{NUMBER})"), re.ASCII)
    for source in [*(one for language in LANGUAGES for one in language.times.get("clock", ())), _DIGITAL]
]


def time_of_day(text: str) -> time | None:
    """Return the time of day in a text; None where the half of the day is open.

    >>> time_of_day("on Friday at 3pm"), time_of_day("明天下午三点半"), time_of_day("at 3")
    (datetime.time(15, 0), datetime.time(15, 30), None)
    """
    said = for_times(text)
    found = (_time_at(match) for pattern in _CLOCK for match in pattern.finditer(said))
    return next((at for at in found if at is not None), None)


def _time_at(match: re.Match[str]) -> time | None:
    said = match.groupdict()
    hour = number(said["hour"])
    minute = 30 if said.get("half") else number(said["minute"]) if said.get("minute") else 0
    if said.get("night"):
        # past midnight it is the next day
        hour = hour + 12 if 5 < hour < 12 else -1
    elif said.get("pm"):
        hour = hour + 12 if hour < 12 else hour
    elif said.get("am"):
        hour %= 12
    elif hour <= 12 and not said["hour"].startswith("0"):
        return None
    return time(hour, minute) if 0 <= hour < 24 and minute < 60 else None
