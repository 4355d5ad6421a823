"""Times in texts: the days, the side of them, the time of day; and questions for a time.

English and Vietnamese, in any case, with and without diacritics, and the scripts without spaces whose files list
their forms of time. Without diacritics some words are ambiguous ("thang sau" is June and next month): both
readings count.
"""

from __future__ import annotations

from react_mem.memory.language.times.days import Period
from react_mem.memory.language.times.mentions import (
    Mention,
    asks_when,
    mentions,
    named_periods,
    tells_when,
    time_of_day,
    without_times,
)

__all__ = ["Mention", "Period", "asks_when", "mentions", "named_periods", "tells_when", "time_of_day", "without_times"]
