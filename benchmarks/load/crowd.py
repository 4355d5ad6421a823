"""Users who talk at once, without a pause or with time to think, and what their turns came to."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.measures import p50_p95
from benchmarks.stand_ins import memories, question

_KNOWN = 20
"""Memories of a user that are asked about in turn."""

Metrics = dict[str, float]
Say = Callable[[str, str, str], AsyncIterator[dict[str, Any]]]
"""From the user, the thread and the question to what is streamed: an event of ours, or one with a `token`."""


@dataclass
class Tally:
    """Results of the turns.

    Args:
        degraded: Turns that were answered without memory, or not stored, because memory was too slow or failed.
    """

    turns: list[float] = field(default_factory=list)
    first_tokens: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    degraded: int = 0
    seconds: float = 0.0

    async def turn(self, streamed: AsyncIterator[dict[str, Any]]) -> None:
        """Wait for a turn."""
        start = time.perf_counter()
        first = 0.0
        degraded = False
        try:
            async for event in streamed:
                if event["type"] == "token" and not first:
                    first = time.perf_counter()
                degraded |= event.get("status") == "degraded"
        except Exception as error:
            # a server under load fails in many ways, and each is a result
            self.errors.append(f"{type(error).__name__}: {error}"[:200])
            return
        self.degraded += degraded
        self.turns.append((time.perf_counter() - start) * 1000)
        self.first_tokens.append((first - start) * 1000)

    def metrics(self) -> Metrics:
        """Return what the turns came to."""
        return {
            "turns": len(self.turns),
            "turns_per_s": round(len(self.turns) / self.seconds, 1),
            **p50_p95("turn", self.turns or [0.0]),
            **p50_p95("first_token", self.first_tokens or [0.0]),
            "errors": len(self.errors),
            "degraded": self.degraded,
        }


@dataclass(frozen=True)
class Crowd:
    """Users who talk at once.

    Args:
        users: Their numbers.
        turns: Turns of each; with a pause as many as there is time for.
        pause: Seconds to think between two turns, on average; without one the next question follows the answer.
        seconds: How long users with a pause talk.
    """

    users: Sequence[int]
    turns: int
    pause: float = 0.0
    seconds: float = 0.0

    async def talk(self, say: Say) -> Tally:
        """Let each hold a conversation of their own."""
        tally = Tally()
        start = time.perf_counter()
        await asyncio.gather(*(self._converse(number, tally, say, start + self.seconds) for number in self.users))
        tally.seconds = time.perf_counter() - start
        for error in dict.fromkeys(tally.errors):
            print(f"{tally.errors.count(error)} x {error}")
        return tally

    async def _converse(self, number: int, tally: Tally, say: Say, end: float) -> None:
        user_id, thinking = user_name(number), random.Random(number)
        known = [record.text for _, record in memories(user_id, _KNOWN)]
        # who is there has come at some time, not with all others
        next_at = time.perf_counter() + thinking.uniform(0, self.pause)
        turn = 0
        while next_at < end if self.pause else turn < self.turns:
            await asyncio.sleep(max(0.0, next_at - time.perf_counter()) if self.pause else 0)
            await tally.turn(say(user_id, f"{user_id} talks", question(turn, known[turn % len(known)])))
            next_at = time.perf_counter() + thinking.uniform(0.5, 1.5) * self.pause
            turn += 1


def user_name(number: int) -> str:
    """Return who the user of this number is."""
    return f"user-{number}"
