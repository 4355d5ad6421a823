"""Words before a named period that change it: "early", "before", "since", "the week after", "between"."""

from __future__ import annotations

import re
from datetime import date

from react_mem.memory.language.times.days import Period, of_unit, shift
from react_mem.memory.language.times.named import REACH_YEARS, Named, Side
from react_mem.memory.language.times.vocabulary import SIDES, number_of, one_of, patterns, small

_REACH_OF_MANY_DAYS = 183
"""Days that "before May" reaches back in each year that it may mean: with more, the periods cover everything."""

_PART = (
    rf"(?:{small('article')} )?(?:{small('very')} )?"
    rf"(?:(?P<early>{small('early')})|(?P<middle>{small('middle')})|(?P<late>{small('late')}))"
    rf"(?: {small('inside')})?[ -]"
)
_LEAD = rf"(?:\b{small('lead')} )?(?:\b{_PART})?(?:{small('noun')} )?$"
_BESIDE = [re.compile(pattern + _LEAD) for pattern in patterns("contexts", "beside")]
_OPEN = re.compile(rf"(?:\b(?P<open>{one_of(SIDES)})(?: {small('hedge')})? (?:{small('end')} )?)?{_LEAD}")
_THROUGH = re.compile(rf"(?:\bof|,)? ?(?:-|\b{small('through')})(?: {small('through_noun')})? ?$")
_AND = re.compile(rf",? {small('and')}(?: {small('and_noun')})? $")
_BETWEEN = re.compile(rf"\b{small('between')}(?: {small('and_noun')})? $")


def joined(said: str, before: str, first: Named, second: Named) -> list[Period]:
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


def modified(before: str, periods: list[Period]) -> tuple[list[Period], Side]:
    """Return the periods that the words before mean, "early", "the week after", and on which side of them it is."""
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


def opened(periods: list[Period], side: Side, today: date) -> list[Period]:
    """Return all that is on a side of the periods, as far as is looked."""
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
