"""The benchmark of writing runs, and tells a memory that works from one that does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.writing.__main__ import LANGMEM, main
from benchmarks.writing.case import Case
from benchmarks.writing.drivers import Contents, Remembered
from benchmarks.writing.judge import judge

MOVED = Case.model_validate(
    {
        "id": "en-moved",
        "lang": "en",
        "kind": "update",
        "turns": [{"say": "I live in Hanoi. I like tea."}, {"say": "I moved to Hue in 2021."}],
        "expect": {
            "current": [{"says": ["hue"], "support": 1, "since": "2021", "about": "user"}],
            "doubtful": [{"says": ["tea"]}],
            "history": [{"says": ["hanoi"]}],
            "never": [{"says": ["opera"]}],
        },
    }
)
HUE = Remembered("User lives in Hue.", about="user", support=1, since="2021-01-01T00:00:00+00:00")
HANOI = Remembered("User lived in Hanoi.", current=False)
TEA = Remembered("User likes tea.", doubtful=True)
SAID = [turn.say for turn in MOVED.turns]


def kinds(*facts: Remembered, said: list[str] = SAID) -> list[str]:
    findings = judge(MOVED, Contents(facts=list(facts), messages=said, errors=[]))
    return sorted(finding.kind for finding in findings)


def test_a_memory_that_holds_what_it_must_passes() -> None:
    assert kinds(HUE, HANOI, TEA) == []


@pytest.mark.parametrize(
    ("facts", "fault"),
    [
        ([HUE, HANOI, TEA, Remembered("User's home is Hue.")], "duplicates"),
        ([HUE, TEA, Remembered("User lives in Hanoi.")], "stale"),
        ([HUE, HANOI], "missed"),
        ([HUE, HANOI, TEA, Remembered("User has a boat.")], "invented"),
        ([Remembered("User lives in Hue.", about="user", support=2, since="2021"), HANOI, TEA], "wrong_support"),
        ([HUE, TEA], "history_lost"),
    ],
)
def test_each_fault_is_found(facts: list[Remembered], fault: str) -> None:
    assert kinds(*facts) == [fault]


def test_it_runs_and_writes_its_metrics_beside_the_peer_s(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "writing.json"

    names = ["en-update-home", "vi-retract-tea", "vi-alike-mother-ghost"]
    main(["--store", "memory", "--json", str(out), "--explain", "--only", *names])

    result = json.loads(out.read_text(encoding="utf-8"))
    ours, peer = result["metrics"], result["peers"][LANGMEM]
    assert ours["cases"] == peer["cases"] == 4
    assert ours["cases_failed"] == peer["cases_failed"] == 0
    assert ours["early.careless.false_share"] == 0
    assert peer["early.careless.false_share"] > 0  # it believes what its model makes up
    assert ours["early.hostile.false"] == 0
    assert peer["early.hostile.false"] > 0
    assert ours["memory_calls_per_turn"] == 1
    assert ours["memory_prompt_tokens_per_turn"] > 0
    shown = capsys.readouterr().out
    assert "Writing: 4 cases" in shown
    assert "en-update-home-added" in shown  # the peer's failure, explained
