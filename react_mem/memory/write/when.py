"""Times of a statement: computed from its words if they can be read, else as the model proposes."""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, tzinfo

from react_mem.memory.language.times import Mention, Period, mentions, time_of_day
from react_mem.memory.model.records import local

_MAX_CLAUSE = 500  # characters of a clause that are read for times
_FARTHEST_YEARS = 200
_PROPOSED_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::\d\d)?)?)?)?", re.ASCII)
_MAX_PROPOSED = 60
_END_OF_DAY = time(23, 59, 59)


@dataclass(frozen=True)
class When:
    """Times of a statement, each None if unknown.

    Args:
        event_at: The time of its event: with the time of day if said, else the beginning of the named day or period.
        valid_to: The end of its validity: the end of the last day, without a time of day.
    """

    event_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True)
class _Days:
    """Days of a date, and its time of day if any."""

    first: date
    last: date
    at: time | None = None

    def within(self, period: Period) -> bool:
        return period.start <= self.first and self.last <= period.end

    def days_from(self, period: Period) -> int:
        """Return the distance to a period in days; 0 if they overlap."""
        return max((period.start - self.last).days, (self.first - period.end).days, 0)


def resolve(text: str, said_at: datetime, zone: tzinfo, proposed: str) -> When:
    """Return the times of a clause, of which the first 500 characters are read.

    A time in its words counts, relative to the day of the statement. The model's proposal decides between several
    meanings ("on Friday"), may be more exact, and gives the role of the time; alone it counts only if the words
    name no time. It is "", "DATE" of an event, "DATE..", "..DATE" or "DATE..DATE", where a DATE is a year, a month, a
    day or a minute in ISO 8601; anything else is ignored.

    >>> from datetime import UTC
    >>> resolve("I fly to Rome tomorrow at 3pm", datetime(2026, 3, 3, 12, tzinfo=UTC), UTC, "").event_at.isoformat()
    '2026-03-04T15:00:00+00:00'
    >>> resolve("Vivo aquí desde marzo", datetime(2026, 5, 3, tzinfo=UTC), UTC, "2026-03..").valid_from.isoformat()
    '2026-03-01T00:00:00+00:00'
    """
    clause = text[:_MAX_CLAUSE]
    event, start, end, keep_end = _days_told(clause, local(said_at, zone).date(), proposed)
    event_at = valid_from = valid_to = None
    if event is not None:
        named = time_of_day(clause) if event.first == event.last else None
        event_at = datetime.combine(event.first, named or event.at or time(), zone)
    if start is not None:
        valid_from = datetime.combine(start.first, start.at or time(), zone)
    if end is not None:
        valid_to = datetime.combine(end.last, end.at or _END_OF_DAY, zone)
    if valid_from and valid_to and valid_from > valid_to:
        return When(event_at, valid_to=valid_to) if keep_end else When(event_at, valid_from=valid_from)
    return When(event_at, valid_from, valid_to)


def over_by(text: str, said_at: datetime, zone: tzinfo, proposed: str) -> datetime | None:
    """Return the end that a clause gives to a fact, if it is before the statement; else None.

    Of a period, such as last year, the end counts; of "not since March" the beginning. Args: see `resolve`.

    >>> from datetime import UTC
    >>> over_by("I stopped smoking last year", datetime(2026, 3, 3, tzinfo=UTC), UTC, "").date().isoformat()
    '2025-12-31'
    """
    clause = text[:_MAX_CLAUSE]
    here = local(said_at, zone)
    event, start, end, _ = _days_told(clause, here.date(), proposed)
    if start is not None and end is None:
        over = datetime.combine(start.first, start.at or time(), zone)
    elif (day := end or event) is not None:
        named = time_of_day(clause) if day.first == day.last else None
        over = datetime.combine(day.last, day.at or named or _END_OF_DAY, zone)
    else:
        return None
    return over if over < here else None


def _days_told(clause: str, today: date, proposed: str) -> tuple[_Days | None, _Days | None, _Days | None, bool]:
    """Return the days of an event, a beginning and an end, and true if the words name the end themselves."""
    model_event, model_start, model_end = _read(proposed, today)
    model_any = model_event or model_start or model_end
    told = mentions(clause, today)
    since = [one for one in told if one.side == "since" or one.spans]
    until = [one for one in told if one.side == "until" or one.spans]
    others = [one for one in told if one.side in {"at", "from", "to", "by"} and not one.spans]
    event = start = end = None
    if since:
        begun = [period for period in since[0].periods if not since[0].spans and period.start <= today]
        latest = _Days(begun[-1].start, begun[-1].end) if begun else _only(since)
        start = _nearest(since, model_start or model_any) or latest
    elif model_start and (model_end or not until):
        start = _nearest(_nearer(others, model_start, model_end), model_start) or model_start
    if until:
        end = _nearest(until, model_end or model_any) or _only(until)
    elif model_end and (model_start or not since):
        end = _nearest(_nearer(others, model_end, model_start), model_end) or model_end
    if not since and not until:
        if model_event:
            event = _nearest(others, model_event) or model_event
        elif not model_any and _only(others) and others[0].side == "from" and others[0].periods[0].start > today:
            start = _only(others)
        elif not model_any:
            by = next((one for one in others if one.side == "by"), None)
            coming = next((period for period in by.periods if period.end >= today), None) if by is not None else None
            event = _Days(coming.start, coming.end) if coming is not None else _only(others)
    return event, start, end, bool(until)


def _read(proposed: str, today: date) -> tuple[_Days | None, _Days | None, _Days | None]:
    """Return the proposed days of an event, of a beginning and of an end."""
    parts = proposed.strip().split("..") if len(proposed) <= _MAX_PROPOSED else []
    days = [_days_of(part.strip(), today) for part in parts]
    if not 1 <= len(parts) <= 2 or any(part.strip() and day is None for part, day in zip(parts, days, strict=True)):
        return None, None, None
    return (days[0], None, None) if len(days) == 1 else (None, days[0], days[1])


def _days_of(written: str, today: date) -> _Days | None:
    match = _PROPOSED_DATE.fullmatch(written)
    if match is None or abs(int(match[1]) - today.year) >= _FARTHEST_YEARS:
        return None
    year, month, day, hour, minute = (int(part) if part else None for part in match.groups())
    try:
        first = date(year or 0, month or 1, day or 1)
        at = None if hour is None else time(hour, minute or 0)
    except ValueError:
        return None
    if day:
        return _Days(first, first, at)
    last_month = month or 12
    return _Days(first, date(first.year, last_month, calendar.monthrange(first.year, last_month)[1]))


def _nearest(told: Sequence[Mention], hint: _Days | None) -> _Days | None:
    """Return the named time that a hint means; None without either."""
    named = [(period, one) for one in told for period in one.periods]
    if hint is None or not named:
        return None
    period, mention = min(named, key=lambda found: hint.days_from(found[0]))
    if not mention.spans and (hint.within(period) or _same_weekday(mention, hint)):
        return hint
    return _Days(period.start, period.end, hint.at)


def _nearer(told: Sequence[Mention], hint: _Days, other: _Days | None) -> list[Mention]:
    """Return the named times nearer to one end of a span than to the other."""

    def days(one: Mention, end: _Days) -> int:
        return min((end.days_from(period) for period in one.periods), default=0)

    return [one for one in told if other is None or days(one, hint) < days(one, other)]


def _same_weekday(mention: Mention, hint: _Days) -> bool:
    """Return true if a text may mean another week than the last and the next one: "the Tuesday after next"."""
    days = [period.start for period in mention.periods if period.start == period.end]
    weekly = len(days) == len(mention.periods) == 2 and (days[1] - days[0]).days == 7
    return weekly and hint.first == hint.last and (hint.first - days[0]).days % 7 == 0


def _only(told: Sequence[Mention]) -> _Days | None:
    if len(told) != 1 or len(told[0].periods) != 1:
        return None
    return _Days(told[0].periods[0].start, told[0].periods[0].end)
