"""The form of the benchmark's cases, and what is wrong with one."""

from __future__ import annotations

import copy
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from benchmarks.writing.case import Case, Pattern, load_cases, read_cases
from tests.unit.benchmarks.case_checks import check_case

MOVED: dict[str, Any] = {
    "id": "en-moved",
    "lang": "en",
    "kind": "update",
    "turns": [
        {"say": "I live in Oslo.", "correct": [{"quote": "I live in Oslo", "text": "User lives in Oslo."}]},
        {
            "say": "I moved to Rome.",
            "correct": [
                {"quote": "I moved to Rome", "rel": "changes", "target": "oslo", "text": "User lives in Rome."}
            ],
            "careless": [{"quote": "I moved to Rome", "text": "User likes opera."}],
        },
    ],
    "expect": {"current": [{"says": ["rome"]}], "history": [{"says": ["oslo"]}], "never": [{"says": ["opera"]}]},
}


def changed(*path: str | int, to: Any) -> dict[str, Any]:
    case = copy.deepcopy(MOVED)
    place: Any = case
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = to
    return case


def test_a_sound_case_has_no_problems() -> None:
    assert check_case(Case.model_validate(MOVED)) == []


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        (changed("turns", 0, "correct", 0, "quote", to="I live in Bergen"), "no exact part"),
        (changed("turns", 1, to={"say": "I live in Oslo."}), "same words"),
        (changed("turns", 1, "correct", 0, "target", to=None), "give a target"),
        (changed("turns", 0, "correct", 0, "target", to="x"), "give a target"),
        (changed("turns", 0, "correct", 0, "drop", to="chat"), "only a quote"),
        (changed("expect", "current", 0, "says", to=["("]), "no regular expression"),
        (changed("id", to="moved"), "pattern"),
        (changed("id", to="de-moved"), "begin with en-"),
        (changed("kind", to="updates"), "kind"),
        (changed("expect", to={}), "what is expected"),
    ],
)
def test_a_case_of_the_wrong_form_is_refused(case: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Case.model_validate(case)


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        (changed("turns", 1, "correct", 0, "target", to="bergen"), "the target 'bergen' fits nothing"),
        (changed("turns", 1, "correct", 0, "needs", to=["a boat"]), "the need 'a boat' fits nothing"),
        (changed("expect", "current", 0, "says", to=["bergen"]), "current [bergen] fits nothing"),
        (changed("expect", "never", 0, "says", to=["a boat"]), "never [a boat] fits nothing"),
        (changed("expect", "never", 0, "says", to=["oslo"]), "never [oslo] fits what a correct line says"),
        (changed("turns", 0, "at", to="2999-01-01"), "in the future"),
        (changed("turns", 0, "at", to="2025-01-01"), "every turn, or for none"),
    ],
)
def test_what_fits_nothing_is_found(case: dict[str, Any], problem: str) -> None:
    assert any(problem in found for found in check_case(Case.model_validate(case)))


def test_every_case_is_sound_and_has_its_own_id() -> None:
    assert [f"{case.id}: {problem}" for case in load_cases() for problem in check_case(case)] == []


def test_an_id_is_used_once(tmp_path: Path) -> None:
    (tmp_path / "early").mkdir()
    (tmp_path / "early" / "update.yaml").write_text(yaml.safe_dump([MOVED, MOVED]), encoding="utf-8")
    with pytest.raises(ValueError, match="used twice: en-moved"):
        load_cases(tmp_path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (yaml.safe_dump([changed("lang", to="fr")]), r"update.yaml, case 1 \(en-moved\): "),
        ("- {says: [*moved]}", "update.yaml is no YAML; does a pattern need quotes"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "update.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=problem):
        read_cases(file)


def test_the_examples_of_the_format_are_sound(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "benchmarks/writing/FORMAT.md").read_text(encoding="utf-8")
    file = tmp_path / "update.yaml"
    example = "\n".join(line for line in page.splitlines() if line.startswith("    ") or not line)
    file.write_text(textwrap.dedent(example), encoding="utf-8")
    cases = read_cases(file)
    assert cases
    assert [problem for case in cases for problem in check_case(case)] == []


@pytest.mark.parametrize(
    ("says", "text", "fits"),
    [
        ("rome", "I live in Rome.", True),
        ("rom", "I live in Rome.", False),
        ("京都", "私は京都に住んでいる", True),
        ("rome", "我住在Rome了", True),
        ("茶屋", "三軒茶屋2-11", True),
        ("ma", "Tôi sợ má.", False),
        ("strasse", "In der Straße", True),
    ],
)
def test_a_pattern_fits_whole_words_where_a_script_has_them(says: str, text: str, fits: bool) -> None:
    assert Pattern(says=(says,)).matches(text) is fits
