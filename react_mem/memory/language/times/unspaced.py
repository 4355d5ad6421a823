"""Times in scripts without spaces between words: rules made from the files of such languages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from react_mem.memory.language import LANGUAGES
from react_mem.memory.language.times.days import (
    CONTEXT_CHARS,
    Named,
    Period,
    Reader,
    Scene,
    Side,
    day_of,
    days_of_year,
    months_of_year,
    of_unit,
    shift,
)
from react_mem.memory.language.times.readers import HELD_IN, counted, monthly, weekly, yearly
from react_mem.memory.language.times.vocabulary import NUMBER, YEAR_IN_NUMERALS, for_times, number, one_of

_YEAR = rf"(?:(?<!\d)(?:19|20)\d\d|{YEAR_IN_NUMERALS})"


class _UnspacedTimes:
    """The rules of one language, from the `times` of its file."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self._units = {word: unit for unit, listed in words["units"].items() for word in for_times(listed).split()}
        self._spans = {
            word: (unit, offset)
            for unit, offsets in words["spans"].items()
            for offset, listed in offsets.items()
            for word in for_times(listed).split()
        }
        self._weekdays = {word: day for day, listed in enumerate(words["weekdays"]) for word in listed.split()}
        self._vague = {word: (low, high) for word, (low, high) in words["vague"].items()}
        self._every = re.compile(rf"(?:{words['every']})\Z")
        readers: dict[str, Reader] = {
            "weekday": self._read_weekday,
            "date": _read_date,
            "year": _read_date,
            "day": self._read_day,
            "loose_day": self._read_day,
            "counted": self._read_counted,
            "span": self._read_span,
        }
        self.rules = [(self.compiled(words[name]), self._unless_every(read)) for name, read in readers.items()]

    def compiled(self, source: str) -> re.Pattern[str]:
        """Return a pattern of the file with the words put in their places."""
        words = {
            "n": f"(?:{NUMBER}|{one_of(self._vague)})",
            "year": _YEAR,
            "unit": one_of(self._units),
            "weekday": one_of(self._weekdays),
            "span": one_of(self._spans),
            **{unit: one_of(word for word, of in self._spans.items() if of[0] == unit) for unit in ("week", "month")},
        }
        for name, pattern in words.items():
            source = source.replace(f"{{{name}}}", pattern)
        return re.compile(source, re.ASCII)

    def _unless_every(self, read: Reader) -> Reader:
        def once(match: re.Match[str], scene: Scene) -> Named | None:
            before = scene.said[: match.start()][-CONTEXT_CHARS:]
            return None if self._every.search(before) else read(match, scene)

        return once

    def _read_weekday(self, match: re.Match[str], scene: Scene) -> Named:
        weekday = self._weekdays[match["weekday"]]
        if not match["span"]:
            return weekly(weekday, None, scene.today)
        monday = of_unit(scene.today, *self._spans[match["span"]]).start
        return Named([Period(shift(monday, weekday), shift(monday, weekday))])

    def _read_day(self, match: re.Match[str], scene: Scene) -> Named | None:
        day = number(match["day"])
        if not (span := match.groupdict().get("span")):
            return monthly(day, scene.today)
        found = day_of(of_unit(scene.today, *self._spans[span]), day)
        return Named([found]) if found else None

    def _read_counted(self, match: re.Match[str], scene: Scene) -> Named:
        count, unit = match["count"], self._units[match["unit"]]
        low, high = self._vague.get(count) or (number(count), number(count))
        if unit in {"minute", "hour"}:
            unit, low, high = "day", 0, 0
        return counted(unit, low, high, ago=bool(match["ago"]), today=scene.today)

    def _read_span(self, match: re.Match[str], scene: Scene) -> Named:
        unit, offset = self._spans[match["span"]]
        return Named([of_unit(scene.today, unit, offset)], holds=HELD_IN.get(unit))


def _read_date(match: re.Match[str], scene: Scene) -> Named | None:
    said = match.groupdict()
    year = number(said["y"]) if said.get("y") else None
    if not said.get("month"):
        return Named([of_unit(date(year, 1, 1), "year", 0)], holds="year") if year else None
    month, day = number(said["month"]), said.get("day")
    if not 1 <= month <= 12:
        return None
    return yearly(days_of_year(month, number(day)) if day else months_of_year(month), None, year, scene.today)


_ALL = [_UnspacedTimes(language.times) for language in LANGUAGES if language.unspaced and language.times]
UNSPACED_RULES = tuple(rule for times in _ALL for rule in times.rules)
"""Patterns of times in these languages, each with its reader."""


def _sides(place: str, end: str) -> list[tuple[Side, re.Pattern[str]]]:
    return [
        (side, re.compile(f"(?:{around[place]}){end}"))
        for language in LANGUAGES
        if language.unspaced
        for side, around in language.times.get("sides", {}).items()
        if place in around
    ]


_BEFORE, _AFTER = _sides("before", r"\Z"), _sides("after", "")


def side_of(before: str, after: str) -> Side:
    """Return the relation of a text to a time, by the words right before and behind it."""
    told = [side for side, pattern in _BEFORE if pattern.search(before)]
    told += [side for side, pattern in _AFTER if pattern.match(after)]
    return told[0] if told else "at"
