"""The times that a text names: what they may mean, and how the text stands to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date

from react_mem.memory.language.times.days import Period
from react_mem.memory.language.times.modifiers import joined, modified
from react_mem.memory.language.times.named import CONTEXT_CHARS, Named, Scene, Side
from react_mem.memory.language.times.rules import RULES
from react_mem.memory.language.times.spelling import for_times
from react_mem.memory.language.times.unspaced import side_of

_MAX_NAMED = 8
"""A question names one or two periods; a text pasted into it may name hundreds, which would only blur the cue."""
_HOLDER_DISTANCE = 40
"""Characters between a month and the year that it is in: "In 2022, what did I do in May?"."""


@dataclass(frozen=True)
class Mention:
    """One time that a text names.

    Args:
        periods: What it may mean.
        side: How the text stands to it.
        spans: Whether the text names its first and its last day: "from March to May".
    """

    periods: tuple[Period, ...]
    side: Side = "at"
    spans: bool = False


def mentions(text: str, today: date) -> list[Mention]:
    """Return the times that a text names, in its order.

    Args:
        text: What is said; of a bounded length.
        today: The day on which it is said, where it is said.

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
        together = joined(scene.said, before, first, found[index + 1]) if index + 1 < len(found) else []
        if together:
            told.append(Mention(tuple(together), spans=True))
        else:
            periods, side = modified(before, list(first.periods))
            told.append(Mention(tuple(periods), side_of(before, scene.said[first.end :]) if side == "at" else side))
        index += 2 if together else 1
    return told


def without_times(text: str, today: date) -> str:
    """Return a text, folded, without the words that name times.

    Args:
        text: What is said; of a bounded length.
        today: The day on which it is said, where it is said.

    >>> without_times("I have had 3 cats since March 2021.", date(2024, 5, 15))
    'i have had 3 cats since  .'
    """
    scene = Scene(for_times(text), today, bare=text.isascii())
    ends = [0, *(end for named in _find(scene) for end in (named.start, named.end)), len(scene.said)]
    return " ".join(scene.said[start:end] for start, end in zip(ends[::2], ends[1::2], strict=True))


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
