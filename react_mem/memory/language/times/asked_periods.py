"""Periods that a question names."""

from __future__ import annotations

from datetime import datetime

from react_mem.memory.language.times.days import Period
from react_mem.memory.language.times.mentions import mentions
from react_mem.memory.language.times.modifiers import opened
from react_mem.memory.language.times.spelling import MAX_QUESTION


def named_periods(question: str, now: datetime) -> tuple[Period, ...]:
    """Return the periods that a question names or implies, oldest first; empty where it names none.

    A month, a day of a month, a season or a holiday without a year means each of its occurrences in the last ten
    years and the next one, as the conversation that is asked about may be old.

    Args:
        question: What is asked; its first 2,000 characters count.
        now: The time of asking, in the time zone of who asks: what "last week" is relative to.

    >>> named_periods("What did I do last week?", datetime(2024, 5, 15))
    (Period(start=datetime.date(2024, 5, 6), end=datetime.date(2024, 5, 12)),)
    >>> [period.start.year for period in named_periods("Mùa hè năm ngoái tôi đi đâu?", datetime(2024, 5, 15))]
    [2023]
    >>> len(named_periods("What did I do in May?", datetime(2024, 4, 1))), named_periods("May I?", datetime(2024, 4, 1))
    (11, ())
    """
    today = now.date()
    periods: set[Period] = set()
    for one in mentions(question[:MAX_QUESTION], today):
        periods.update(opened(list(one.periods), one.side, today))
    return tuple(sorted(periods))
