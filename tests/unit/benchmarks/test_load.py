"""Users at once in the benchmark of load: who talks, and what it comes to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from benchmarks.load.crowd import Crowd


class Talk:
    """Answers, and fails for one user."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []

    async def say(self, user_id: str, thread: str, said: str) -> AsyncIterator[dict[str, Any]]:
        self.heard.append((user_id, said))
        if user_id == "user-2":
            raise ValueError("no")
        yield {"type": "memory", "status": "degraded" if user_id == "user-1" else "ok"}
        yield {"type": "token"}


async def test_every_user_counts_once() -> None:
    talk = Talk()
    metrics = (await Crowd(range(4), 3).talk(talk.say)).metrics()
    assert (metrics["turns"], metrics["errors"], metrics["degraded"]) == (9, 3, 3)
    assert metrics["turns_per_s"] > 0
    assert len(talk.heard) == len(set(talk.heard)) == 12


async def test_who_thinks_asks_again_until_the_time_is_over() -> None:
    talk = Talk()
    tally = await Crowd(range(3, 6), 1, pause=0.01, seconds=0.1).talk(talk.say)
    assert len(tally.turns) == len(talk.heard) > 3
