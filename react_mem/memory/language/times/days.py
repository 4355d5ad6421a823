"""Calendar days, yearly recurrences, and the periods named in a question."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal


@dataclass(frozen=True, order=True)
class Period:
    """The days from `start` to `end`, both included."""

    start: date
    end: date


Recurring = Callable[[int], Period | None]
"""Yearly recurrence: year -> period; None in a year without one."""


def shift(day: date, days: int) -> date:
    """Return the day so many days later, within the calendar."""
    return date.fromordinal(min(max(day.toordinal() + days, 1), date.max.toordinal()))


def _month_of(day: date, offset: int) -> Period:
    year, month = divmod(day.year * 12 + day.month - 1 + offset, 12)
    return months_of_year(month + 1)(min(max(year, 1), date.max.year)) or Period(day, day)


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
            return _month_of(day, offset)
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


def days_of_year(month: int, day: int, last: int | None = None, last_month: int | None = None) -> Recurring:
    """Return the recurrence from a day of a year to another; by default the same day."""

    def of(year: int) -> Period | None:
        try:
            return _from_to(date(year, month, day), date(year, last_month or month, last or day))
        except ValueError:  # the 29th of February, the 31st of June
            return None

    return of


def _from_to(start: date, end: date) -> Period | None:
    return Period(start, end) if start <= end else None


# A named period of a question, before the rest of the question changes it.

REACH_YEARS = 10
"""Years searched for a month without a year, and the reach of "before 2020" and "after 2020"."""
CONTEXT_CHARS = 40
"""Characters before a named period that may change it: "the very beginning of"."""

Holder = Literal["week", "month", "year"]
"""Unit that holds a weekday, a numbered day or a month."""
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
    """Period named at a place of the question.

    Args:
        periods: Its possible periods.
        holds: The unit it is, which may hold another.
        held_by: The unit that may hold it.
        within: Returns its period within such a holder.
        start: Its start in the question.
        end: Its end.
    """

    periods: Sequence[Period]
    holds: Holder | None = None
    held_by: Holder | None = None
    within: Callable[[Period], Period | None] = field(default=lambda holder: holder)
    start: int = 0
    end: int = 0


Reader = Callable[[re.Match[str], Scene], Named | None]
