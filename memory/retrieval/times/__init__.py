"""The time cues of retrieval: which days a question names, whether it asks for a time, whether a text tells one.

English and Vietnamese, in any case, with and without diacritics. What is written without them is sometimes two things
("thang sau" is June and next month): then both count.
"""

from __future__ import annotations

from memory.retrieval.times.cues import asks_when, tells_when
from memory.retrieval.times.days import Period
from memory.retrieval.times.question import named_periods

__all__ = ["Period", "asks_when", "named_periods", "tells_when"]
