"""Users at once in the benchmark of load: who talks, what several processes come to, and the charts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from benchmarks.load.__main__ import Plan, save_plots
from benchmarks.load.in_process import together
from benchmarks.load.tally import Crowd
from benchmarks.report import write_json

_SPENT = {"pool_requests": 8, "cpu_ms": 30.0, "peak_rss_bytes": 5, "behind_left": 2, "behind_s": 1.0}


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


async def test_every_user_of_two_processes_counts_once() -> None:
    talk = Talk()
    found = [(await Crowd(users, 3).talk(talk.say), _SPENT) for users in ((0, 1), (2, 3))]
    metrics = together(found)
    assert (metrics["turns"], metrics["errors"], metrics["degraded"]) == (9, 3, 3)
    assert metrics["turns_per_s"] > 0
    assert (metrics["pool_requests"], metrics["peak_rss_bytes"], metrics["behind_left"]) == (16, 5, 2)
    assert (metrics["pool_requests_a_turn"], metrics["cpu_ms"]) == (round(16 / 9, 2), round(60 / 9, 2))
    assert len(talk.heard) == len(set(talk.heard)) == 12


async def test_who_thinks_asks_again_until_the_time_is_over() -> None:
    talk = Talk()
    tally = await Crowd(range(3, 6), 1, pause=0.01, seconds=0.1).talk(talk.say)
    assert len(tally.turns) == len(talk.heard) > 3


def test_two_processes_are_measured_for_those_who_think() -> None:
    crowds = Plan(users=[10], turns=5, thinking=[200], two=True).crowds()
    assert {name: processes for name, (_, processes) in crowds.items()} == {"10": 1, "thinking.200": 1, "two.200": 2}


def test_a_chart_for_each_percentile(tmp_path: Path) -> None:
    shown = {
        f"react_mem.{name}.{users}.first_token_p{percent}_ms": percent
        for name in ("thinking", "two")
        for users in (4, 8)
        for percent in (50, 95)
    }
    write_json(tmp_path / "load.json", shown, {"create_agent": {"thinking.4.first_token_p50_ms": 1}}, {"pause": 60})
    files = save_plots(tmp_path / "load.json", tmp_path)
    assert [file.name for file in files if file.suffix == ".svg"] == [f"load_first_token_p{p}.svg" for p in (50, 95)]
    assert all(file.stat().st_size > 0 for file in files)
