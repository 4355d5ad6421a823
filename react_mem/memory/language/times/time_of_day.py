"""Times of day in a text."""

from __future__ import annotations

import re
from datetime import time

from react_mem.memory.language import LANGUAGES
from react_mem.memory.language.times.vocabulary import NUMBER, for_times, number

_DIGITAL = r"(?<![\d:.])(?P<hour>\d{1,2}):(?P<minute>\d\d)(?![\d:])(?! ?[ap]\.?m\b)"
_CLOCK = [
    re.compile(source.replace("{n}", f"(?:{NUMBER})"), re.ASCII)
    for source in [*(one for language in LANGUAGES for one in language.times.get("clock", ())), _DIGITAL]
]


def time_of_day(text: str) -> time | None:
    """Return the time of day in a text; None where the half of the day is open.

    >>> time_of_day("on Friday at 3pm"), time_of_day("明天下午三点半"), time_of_day("at 3")
    (datetime.time(15, 0), datetime.time(15, 30), None)
    """
    said = for_times(text)
    found = (_read(match) for pattern in _CLOCK for match in pattern.finditer(said))
    return next((at for at in found if at is not None), None)


def _read(match: re.Match[str]) -> time | None:
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
