"""The benchmark of writing runs, and tells a memory that works from one that does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.writing.__main__ import PEER, main
from benchmarks.writing.case import Case, choose, load_cases
from benchmarks.writing.drivers import Contents, Remembered
from benchmarks.writing.judge import judge

MOVED = Case.model_validate(
    {
        "id": "moved",
        "lang": "en",
        "kind": "updates",
        "turns": [{"say": "I live in Hanoi. I like tea."}, {"say": "I moved to Hue in 2021."}],
        "expect": {
            "current": [{"says": ["hue"], "support": 1, "since": "2021"}, {"says": ["tea"]}],
            "history": [{"says": ["hanoi"]}],
            "never": [{"says": ["opera"]}],
        },
    }
)
HUE = Remembered("User lives in Hue.", support=1, since="2021-01-01T00:00:00+00:00")
HANOI = Remembered("User lived in Hanoi.", current=False)
TEA = Remembered("User likes tea.")
SAID = [turn.say for turn in MOVED.turns]


def kinds(*facts: Remembered, said: list[str] = SAID) -> list[str]:
    findings = judge(MOVED, Contents(facts=list(facts), messages=said, errors=[]), closed=True)
    return sorted(finding.kind for finding in findings)


def test_a_memory_that_holds_what_it_must_passes() -> None:
    assert kinds(HUE, HANOI, TEA) == []


@pytest.mark.parametrize(
    ("facts", "fault"),
    [
        ([HUE, HANOI, TEA, Remembered("User's home is Hue.")], "duplicates"),
        ([HUE, HANOI, TEA, Remembered("I like tea.", verbatim=True)], "duplicates"),
        ([HUE, TEA, Remembered("User lives in Hanoi.")], "stale"),
        ([HUE, HANOI, Remembered("User likes tea.", current=False)], "wrongly_invalidated"),
        ([HUE, HANOI], "missed"),
        ([HUE, HANOI, Remembered("I like tea.", verbatim=True)], "only_verbatim"),
        ([HUE, HANOI, TEA, Remembered("User loves opera.", current=False)], "invented"),
        ([HUE, HANOI, TEA, Remembered("User has a boat.")], "invented"),
        ([Remembered("User lives in Hue.", support=2, since="2021"), HANOI, TEA], "wrong_support"),
        ([Remembered("User lives in Hue.", support=1), HANOI, TEA], "wrong_dates"),
        ([HUE, TEA], "history_lost"),
    ],
)
def test_each_fault_is_found(facts: list[Remembered], fault: str) -> None:
    assert kinds(*facts) == [fault]


def test_what_was_said_and_is_found_nowhere_is_lost() -> None:
    assert kinds(HUE, HANOI, TEA, said=SAID[:1]) == ["lost"]


def test_there_are_enough_cases_in_both_languages() -> None:
    cases = load_cases()

    assert len([case for case in cases if case.lang == "en"]) >= 30
    assert len([case for case in cases if case.lang == "vi"]) >= 30
    assert {case.kind for case in choose(cases, number=10)} == {case.kind for case in cases}


def test_a_name_that_fits_no_case_is_refused_with_the_kinds_there_are() -> None:
    with pytest.raises(ValueError, match=r"'nope'.*updates"):
        choose(load_cases(), ["nope"])


@pytest.mark.parametrize("engine", ["structured", "langmem"])
def test_it_runs_and_writes_its_metrics_beside_the_peer_s(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    out = tmp_path / "writing.json"

    names = ["en-update-home", "vi-retract-tea", "vi-alike-mother-ghost"]
    main(["--store", "memory", "--engine", engine, "--json", str(out), "--explain", "--only", *names])

    result = json.loads(out.read_text(encoding="utf-8"))
    ours, peer = result["metrics"], result["peers"][PEER]
    assert ours["cases"] == peer["cases"] == 4
    assert ours["cases_failed"] == 0
    assert peer["lang.en.stale"] == 1  # en-update-home-added: its model adds, and nothing but the model updates
    assert ours["memory_calls_per_turn"] == 1
    assert ours["memory_prompt_tokens_per_turn"] > 0
    assert result["environment"]["engine"] == engine
    shown = capsys.readouterr().out
    assert "Writing: 4 cases" in shown
    assert "en-update-home-added" in shown  # the peer's failure, explained
