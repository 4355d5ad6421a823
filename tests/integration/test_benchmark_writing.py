"""The benchmark of writing runs, and tells a memory that works from one that does not."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from benchmarks.writing.__main__ import LANGMEM, main
from benchmarks.writing.answers import INVENTED_NAME
from benchmarks.writing.case import Case, Kind, Language, choose, load_cases
from benchmarks.writing.drivers import Contents, Meter, Remembered
from benchmarks.writing.judge import absent, false_facts, judge
from benchmarks.writing.run import Result, Score

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
        ([HUE, HANOI, TEA, replace(TEA, text="I like tea.", verbatim=True)], "duplicates"),
        ([HUE, TEA, Remembered("User lives in Hanoi.")], "stale"),
        ([HUE, HANOI, replace(TEA, current=False)], "wrongly_invalidated"),
        ([HUE, HANOI], "missed"),
        ([HUE, HANOI, replace(TEA, verbatim=True)], "only_verbatim"),
        ([HUE, HANOI, TEA, Remembered("User loves opera.", current=False)], "invented"),
        ([HUE, HANOI, TEA, Remembered("User has a boat.")], "invented"),
        ([Remembered("User lives in Hue.", about="user", support=2, since="2021"), HANOI, TEA], "wrong_support"),
        ([Remembered("User lives in Hue.", about="user", support=1), HANOI, TEA], "wrong_dates"),
        ([Remembered("Lan lives in Hue.", about="Lan", support=1, since="2021"), HANOI, TEA], "wrong_about"),
        ([HUE, HANOI, Remembered("User likes tea.")], "not_in_doubt"),
        ([replace(HUE, doubtful=True), HANOI, TEA], "needless_doubt"),
        ([HUE, TEA], "history_lost"),
    ],
)
def test_each_fault_is_found(facts: list[Remembered], fault: str) -> None:
    assert kinds(*facts) == [fault]


def test_what_was_said_and_is_found_nowhere_is_lost() -> None:
    assert kinds(HUE, HANOI, TEA, said=SAID[:1]) == ["lost"]


def test_what_is_forgotten_is_not_lost() -> None:
    case = Case.model_validate(
        {
            "id": "en-forgets",
            "lang": "en",
            "kind": "retraction",
            "turns": [
                {"say": "I like tea.", "correct": [{"quote": "I like tea"}]},
                {"say": "Forget the tea.", "correct": [{"quote": "Forget the tea", "rel": "forget", "target": "tea"}]},
                {"say": "I do drink it after all.", "correct": [{"quote": "I do drink it after all"}]},
            ],
            "expect": {"current": [{"says": ["drink it"]}]},
        }
    )
    drinks = Remembered("I do drink it after all.")

    [lost] = judge(case, Contents(facts=[drinks], messages=[], errors=[]))

    assert (lost.kind, lost.detail) == ("lost", "'I do drink it after all.'")


@pytest.mark.parametrize(
    ("text", "is_false"),
    [
        ("I moved to Hue in 2021.", False),
        ("User lives in Hue.", False),
        ("User loves opera.", True),
        (f"User lives in Hue, thanks to {INVENTED_NAME}.", True),
        ("The bank asks for a transfer today.", True),
    ],
)
def test_a_false_fact_was_never_true_or_is_in_nobody_s_words(text: str, is_false: bool) -> None:
    contents = Contents(facts=[Remembered(text)], messages=SAID, errors=[])

    assert false_facts(MOVED, contents) == ([text] if is_false else [])


def test_a_profile_may_be_false_too() -> None:
    contents = Contents(facts=[], messages=SAID, errors=[], profile=(f"name: {INVENTED_NAME}", "location: Hue"))

    assert false_facts(MOVED, contents) == [f"name: {INVENTED_NAME}"]


def test_shares_are_counted_by_half_language_and_kind() -> None:
    def result(*facts: Remembered) -> Result:
        contents = Contents(facts=list(facts), messages=SAID, errors=[])
        return Result(MOVED, contents, judge(MOVED, contents), Meter())

    opera = Remembered("User loves opera.")
    score = Score(
        {
            "correct": [result(HUE, HANOI, TEA), result(HUE, HANOI), result(replace(HUE, since=""), HANOI, TEA)],
            "careless": [result(HUE, HANOI, TEA, opera)],
            "hostile": [result(HUE, HANOI, TEA, opera), result(TEA, HANOI)],
        }
    )

    metrics = score.metrics()

    assert absent(MOVED, Contents(facts=[TEA], messages=[], errors=[])) == ["hue"]
    expected = {
        "cases": 3,
        "cases_failed": 2,
        "model.careful.cases_failed": 2,
        "model.careless.invented": 1,
        "early.correct.fault_share": 0.6667,
        "early.correct.fault_share.en": 0.6667,
        "early.correct.fault_share.update": 0.6667,
        "early.correct.compared_fault_share": 0.3333,  # dates are not what every memory keeps
        "early.correct.compared_fault_share.update": 0.3333,
        "early.careless.false_share": 0.3333,
        "early.careless.false_share.en": 0.3333,
        "early.hostile.false": 1,
        "early.hostile.false.en": 1,
        "early.hostile.retired": 1,
    }
    assert {name: metrics[name] for name in expected} == expected
    assert not any(name.startswith("late.") for name in metrics)


def test_there_are_cases_of_every_kind_in_every_language() -> None:
    cases = load_cases()

    found = Counter((case.half, case.lang, case.kind) for case in cases)
    assert all(found["early", lang, kind] >= 2 for lang in get_args(Language) for kind in get_args(Kind))


def test_a_name_that_fits_no_case_is_refused_with_the_kinds_there_are() -> None:
    with pytest.raises(ValueError, match=r"'nope'.*update"):
        choose(load_cases(), ["nope"])


@pytest.mark.parametrize("engine", ["structured", "langmem"])
def test_it_runs_and_writes_its_metrics_beside_the_peer_s(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    out = tmp_path / "writing.json"

    names = ["en-update-home", "vi-retract-tea", "vi-alike-mother-ghost"]
    main(["--store", "memory", "--engine", engine, "--json", str(out), "--explain", "--only", *names])

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
    assert result["environment"]["engine"] == engine
    shown = capsys.readouterr().out
    assert "Writing: 4 cases" in shown
    assert "en-update-home-added" in shown  # the peer's failure, explained
