"""The form of the benchmark's cases, and what is wrong with one."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from benchmarks.writing.case import Case, load_cases, read_cases
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


def test_a_sound_case_has_no_problems() -> None:
    assert check_case(Case.model_validate(MOVED)) == []


def test_every_case_is_sound_and_has_its_own_id() -> None:
    assert [f"{case.id}: {problem}" for case in load_cases() for problem in check_case(case)] == []


def test_the_examples_of_the_format_are_sound(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "benchmarks/writing/FORMAT.md").read_text(encoding="utf-8")
    file = tmp_path / "update.yaml"
    example = "\n".join(line for line in page.splitlines() if line.startswith("    ") or not line)
    file.write_text(textwrap.dedent(example), encoding="utf-8")
    cases = read_cases(file)
    assert cases
    assert [problem for case in cases for problem in check_case(case)] == []
