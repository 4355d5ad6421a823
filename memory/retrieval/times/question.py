"""Which periods a question names."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from memory.retrieval.times.days import Period
from memory.retrieval.times.folding import MAX_QUESTION, fold
from memory.retrieval.times.modifiers import joined, modified
from memory.retrieval.times.named import CONTEXT_CHARS, Named, Scene
from memory.retrieval.times.rules import RULES

_MAX_NAMED = 8
"""A question names one or two periods; a text pasted into it may name hundreds, which would only blur the cue."""
_HOLDER_DISTANCE = 40
"""Characters between a month and the year that it is in: "In 2022, what did I do in May?"."""


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
    asked = question[:MAX_QUESTION]
    # one that writes diacritics means "after" by "sau"; without them it is "six" too
    scene = Scene(fold(asked), now.date(), bare=asked.isascii())
    found = _in_their_year(_find(scene))
    periods: set[Period] = set()
    index = 0
    while index < len(found):
        first = found[index]
        before = scene.said[found[index - 1].end if index else 0 : first.start][-CONTEXT_CHARS:]
        together = joined(scene.said, before, first, found[index + 1]) if index + 1 < len(found) else []
        periods.update(together or modified(before, list(first.periods), scene.today))
        index += 2 if together else 1
    return tuple(sorted(periods))


def _find(scene: Scene) -> list[Named]:
    matches = [(match, read) for rule, read in RULES for match in rule.finditer(scene.said)]
    matches.sort(key=lambda found: (found[0].start(), -found[0].end()))
    named: list[Named] = []
    for match, read in matches:
        taken = named[-1].end if named else 0
        if match.start() >= taken and (one := read(match, scene)) and (one.periods or one.held_by):
            named.append(replace(one, start=match.start(), end=match.end()))
            if len(named) == _MAX_NAMED:
                break
    return named


def _in_their_year(named: list[Named]) -> list[Named]:
    """Put "in May" into "last year" and "Tuesday" into "last week", wherever in the question these stand."""
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
