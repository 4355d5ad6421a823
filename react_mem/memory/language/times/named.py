"""A period that a question names, before it is known what the rest of the question makes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from react_mem.memory.language.times.days import Period

REACH_YEARS = 10
"""Years in which a month without a year is looked for, and that "before 2020" and "after 2020" reach."""
CONTEXT_CHARS = 40
"""Characters before a named period that may say more about it: "the very beginning of"."""

Holder = Literal["week", "month", "year"]
"""Unit that holds a weekday, a day by its number or a month."""
Side = Literal["at", "since", "from", "until", "to", "by", "before", "after"]
"""Relation of a text to a period: in it, or on a side of it. `from` and `to` are ends of something too, or only words
for where it comes from and goes."""


@dataclass(frozen=True)
class Scene:
    """A question, folded, and when it is asked; `bare` where it is written without diacritics."""

    said: str
    today: date
    bare: bool


@dataclass(frozen=True)
class Named:
    """Period named at a place of the question.

    Args:
        periods: What it may mean.
        holds: What it is that another may be in.
        held_by: What it may be in.
        within: The period that it is in one of those.
        start: Where it begins in the question.
        end: Where it ends.
    """

    periods: Sequence[Period]
    holds: Holder | None = None
    held_by: Holder | None = None
    within: Callable[[Period], Period | None] = field(default=lambda holder: holder)
    start: int = 0
    end: int = 0


Reader = Callable[[re.Match[str], Scene], Named | None]
