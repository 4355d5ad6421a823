"""A named period of a question, before the rest of the question changes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from react_mem.memory.language.times.days import Period

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
