"""One search as it goes: what for, until when, and what failed so far."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime


@dataclass
class Attempt:
    """One search.

    Args:
        query: What is searched for.
        now: When.
        deadline: Until when, by the event loop's clock.
        missing: What failed so far, with the cause.
    """

    query: str
    now: datetime
    deadline: float
    missing: dict[str, str] = field(default_factory=dict)

    def left(self) -> float:
        """Return the seconds that are left."""
        return max(0.0, self.deadline - asyncio.get_running_loop().time())
