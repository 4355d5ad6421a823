"""Rules for times: patterns, each with its reader.

The patterns of a language are in its file; here are those of digits alone, and the order in which all are tried.
"""

from __future__ import annotations

import re

from react_mem.memory.language.times.named import Reader
from react_mem.memory.language.times.readers import (
    read_counted,
    read_day,
    read_holiday,
    read_iso,
    read_lone_day,
    read_month,
    read_numeric,
    read_phrase,
    read_relative,
    read_season,
    read_weekday,
    read_year,
)
from react_mem.memory.language.times.unspaced import UNSPACED_RULES
from react_mem.memory.language.times.vocabulary import DAY_FIRST, PHRASES, YEAR, YEAR_WORDS, patterns, small

_ISO = (
    rf"(?<![\d/.-])(?P<y>{YEAR})(?P<dash>[-/.])(?P<month>0?[1-9]|1[0-2])(?P=dash)(?P<day>\d{{1,2}})(?!\d)",
    rf"(?<![\d/.-])(?P<y>{YEAR})[-/](?P<month>0[1-9]|1[0-2])(?![-/\d])",
    rf"(?<![\d/.-])(?P<month>0?[1-9]|1[0-2])/(?P<y>{YEAR})",
)
_NUMERIC = (
    rf"(?<![\d/.-])(?P<day_first>\b{DAY_FIRST} )?(?<!\d)(?P<one>\d{{1,2}})(?P<dash>[-/.])(?P<two>\d{{1,2}})"
    rf"(?P=dash)(?P<y>{YEAR}|(?<=/)\d\d(?!\d))"
)
_YEAR = (
    rf"(?<![\w$#])(?<!\d[.,:/-])(?:{YEAR_WORDS} )?(?P<y>{YEAR})(?:(?<=0)(?P<decade>'?s)|(?![\w%]|[.,:/-]\d)"
    rf"(?! {small('measures')}\b))"
)

_WRITTEN: tuple[tuple[str, Reader], ...] = (
    *((pattern, read_iso) for pattern in _ISO),
    (_NUMERIC, read_numeric),
    *((pattern, read_numeric) for pattern in patterns("rules", "numeric")),
    *((pattern, read_month) for pattern in patterns("rules", "month")),
    *((pattern, read_lone_day) for pattern in patterns("rules", "lone_day")),
    *((pattern, read_day) for pattern in patterns("rules", "day")),
    *((pattern, read_season) for pattern in patterns("rules", "season")),
    *((pattern, read_holiday) for pattern in patterns("rules", "holiday")),
    (_YEAR, read_year),
    *((pattern, read_weekday) for pattern in patterns("rules", "weekday")),
    *((rf"\b(?:{phrase})\b", read_phrase(offsets)) for phrase, offsets in PHRASES),
    *((pattern, read_relative) for pattern in patterns("rules", "relative")),
    *((pattern, read_counted) for pattern in patterns("rules", "counted")),
)

RULES: tuple[tuple[re.Pattern[str], Reader], ...] = (
    *UNSPACED_RULES,
    *((re.compile(pattern, re.ASCII), read) for pattern, read in _WRITTEN),
)
"""Patterns of times, each with its reader; of two that match the same words the earlier one reads."""
