"""What the words before a named period make of it: "early", "before", "since", "the week after", "between"."""

from __future__ import annotations

import re
from datetime import date

from react_mem.memory.language.times.days import Period, of_unit, shift
from react_mem.memory.language.times.named import REACH_YEARS, Named, Side
from react_mem.memory.language.times.vocabulary import NUMBERS, SIDES, number_of, one_of

_REACH_OF_MANY_DAYS = 183
"""How far "before May" reaches for each of the years that it may mean: further, and the periods cover everything."""

_PART = (
    r"(?:the )?(?:very )?(?P<part>early|(?:the )?(?:beginning|start|first (?:week|half|days)) of|dau"
    r"|mid(?:dle)?(?: of)?|giua|late|(?:the )?(?:end|last (?:week|half|days)) of|cuoi)(?: in)?[ -]"
)
_LEAD = re.compile(
    rf"(?:\b(?:(?P<count>\d{{1,2}}|{one_of(NUMBERS)}) )?(?P<unit>day|week|weekend|month|year)s? "
    r"(?P<side>before|after|of) (?:the )?"
    rf"|\b(?P<open>{one_of(SIDES)})(?: (?:about|around|the|khoang))? (?:(?:end of|cuoi|ngay|nam) )?)?"
    r"(?:\b(?:the|in|ngay|nam|hoi|mua) )?(?:\b" + _PART + r")?(?:the |ngay |nam |mua )?$"
)
_THROUGH = re.compile(r"(?:\bof|,)? ?(?:-|\b(?:to|until|till|through|den|toi))(?: (?:the|ngay|nam|cuoi))? ?$")
_AND = re.compile(r",? (?:and|va)(?: (?:the|ngay|nam))? $")
_BETWEEN = re.compile(r"\b(?:between|giua)(?: (?:the|ngay|nam))? $")


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
    lead = _LEAD.search(before)
    if lead is None:
        return periods, "at"
    if part := lead["part"]:
        periods = [_third(period, part) for period in periods]
    if unit := lead["unit"]:
        beside = [_beside(period, unit, lead["side"], number_of(lead["count"] or "one")[0]) for period in periods]
        return beside, "at"
    return periods, SIDES[lead["open"]] if lead["open"] else "at"


def _third(period: Period, part: str) -> Period:
    days = (period.end - period.start).days
    third = -(-(days + 1) // 3)
    if part in {"giua", "mid"} or part.startswith("middle"):
        return Period(shift(period.start, min(third, days)), shift(period.start, min(2 * third - 1, days)))
    if part in {"late", "cuoi"} or "end of" in part or "last" in part:
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
