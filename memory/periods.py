"""When something is true, as far as a statement says, and whether a question is about the past. English, Vietnamese."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from memory.records import normalise

MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name} | {
    name.lower(): number for number, name in enumerate(calendar.month_abbr) if name
}
"""The number of each month, by its English name and by its short one."""

_DATE = (
    r"(?:(?P<month{0}>[a-z]{{3,9}})\.?\s+|(?:tháng\s+)?(?P<number{0}>\d{{1,2}})\s*(?:/|-|năm)\s*)?"
    r"(?:năm\s+)?(?P<year{0}>(?:19|20)\d\d)\b"
)
_FROM = re.compile(r"\b(?:since|from|starting|beginning|as of|từ|kể từ)\s+(?:about\s+)?" + _DATE.format(""))
_TO = re.compile(r"\b(?:until|till|to|through|up to|đến|tới|cho đến)\s+(?:about\s+)?" + _DATE.format(""))
_MAX_QUESTION = 2_000
_ENDED = re.compile(r"\b(?:used to|formerly|previously|no longer|once (?:lived|worked)|trước đây|hồi trước|từng)\b")
_MEASURE = re.compile(r"\bhow (?:much|long|far|soon|many \w+) (?:before|earlier)\b")
"""What asks for a length: "how long before breakfast", and not for what was true before."""

_FORMER = re.compile(
    r"(?:^|\b(?:my|our|your|his|her|their|the|this|that|these|those|an|any|some|all|no|what|which|whose|and|or|of|about"
    r"|from|in|at|to|with)\s|\w['’]s\s)old(?= (?!enough\b)\w)"
)
"""Said of a thing before its name, "my old job". Elsewhere the word is a measure: "how old", "a year old"."""

_ASKS_PAST = re.compile(
    r"\b(?:before|previous\w*|former\w*|used to|in the past|earlier|originally|history|last (?:job|home|address)"
    r"|did i|was i|were we|trước (?:đây|kia|khi|đó)|hồi (?:trước|xưa)|ngày xưa|từng|cũ)\b"
)


@dataclass(frozen=True)
class Period:
    """From when to when something was true; None where nothing is said."""

    start: datetime | None = None
    end: datetime | None = None


def period(text: str) -> Period:
    """Return when a statement says that it is true; only dates that name a year count.

    A year or a month as an end means its last day.

    >>> period("User lived in Hue until 2019").end.year, period("Tôi làm việc ở FPT từ năm 2020").start.year
    (2019, 2020)
    >>> period("User lives in Hue")
    Period(start=None, end=None)
    """
    said = normalise(text)
    start, end = _FROM.search(said), _TO.search(said)
    return Period(_date(start, last=False) if start else None, _date(end, last=True) if end else None)


def is_over(text: str) -> bool:
    """Return whether a statement itself says that it is no longer true.

    >>> is_over("User used to live in Hue"), is_over("User lives in Hue")
    (True, False)
    """
    return bool(_ENDED.search(normalise(text)))


def asks_about_the_past(question: str) -> bool:
    """Return whether a question is about what was true before: "where did I live before?".

    >>> asks_about_the_past("Where did I live before?"), asks_about_the_past("Where do I live?")
    (True, False)
    >>> asks_about_the_past("How old am I?"), asks_about_the_past("What is my old address?")
    (False, True)
    >>> asks_about_the_past("Trước đây tôi sống ở đâu?")
    True
    """
    asked = _MEASURE.sub(" ", normalise(question[:_MAX_QUESTION]))
    return bool(_ASKS_PAST.search(asked) or _FORMER.search(asked))


def _date(match: re.Match[str], *, last: bool) -> datetime | None:
    year = int(match["year"])
    named = match["month"]
    month = MONTHS.get(named) if named else int(match["number"]) if match["number"] else None
    # "until summer 2019": the word is no month, the year still counts
    if month is not None and not 1 <= month <= len(calendar.month_name) - 1:
        return None
    if month is None:
        month = 12 if last else 1
    day = calendar.monthrange(year, month)[1] if last else 1
    return datetime(year, month, day, tzinfo=UTC)
