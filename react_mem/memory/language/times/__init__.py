"""The times that texts name: which days, on which side of them, at what time of day; and whether they ask for one.

English and Vietnamese, in any case, with and without diacritics, and the scripts without spaces whose files say how
times are written. What is written without diacritics is sometimes two things ("thang sau" is June and next month):
then both count.
"""

from __future__ import annotations

from react_mem.memory.language.times.days import Period
from react_mem.memory.language.times.mentions import (
    Mention,
    asks_when,
    mentions,
    named_periods,
    tells_when,
    without_times,
)
from react_mem.memory.language.times.time_of_day import time_of_day

__all__ = ["Mention", "Period", "asks_when", "mentions", "named_periods", "tells_when", "time_of_day", "without_times"]
