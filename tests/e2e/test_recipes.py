"""The recipes of docs/recipes.md, followed in a copy of the project: each ends with what it has added at work."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.support.documents import ROOT, blocks_of, take

STEPS = list(blocks_of(ROOT / "docs" / "recipes.md"))
TRIES = [step for step in STEPS if step.before == "Try it:"]
DOORS = {
    "react_mem",
    "react_mem.errors",
    "react_mem.prompts",
    "react_mem.memory",
    "react_mem.memory.records",
    "react_mem.memory.turns",
}
MOST_FILES = 3
"""What adding something may touch."""

TRY_ALL = """
import json, runpy, sys, traceback
import react_mem
problems = {} if react_mem.__file__.startswith(sys.path[0]) else {"the project": react_mem.__file__}
for name in sys.argv[1:]:
    try:
        runpy.run_path(name, run_name="__main__")
    except BaseException:
        problems[name] = traceback.format_exc()
print(json.dumps(problems))
"""


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What went wrong in a copy of the project in which every recipe has been followed, by the recipe's heading."""
    copy = tmp_path_factory.mktemp("recipes")
    shutil.copytree(ROOT / "react_mem", copy / "react_mem", ignore=shutil.ignore_patterns("__pycache__"))
    for step in STEPS:
        take(step, copy)
    for step in TRIES:
        (copy / step.section).write_text(step.text, encoding="utf-8")
    (copy / "try_all.py").write_text(TRY_ALL, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "try_all.py", *(step.section for step in TRIES)],
        cwd=copy,
        env={name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_every_recipe_is_tried_and_every_block_is_a_step() -> None:
    steps = [step for step in STEPS if step.before.startswith(("New file ", "In `"))]
    told = {step.section for step in steps}
    assert told <= {step.section for step in TRIES}
    assert len({step.section for step in TRIES}) == len(TRIES) == 7
    # the one other block is a line of an agent's YAML
    assert [step.text for step in STEPS if step not in [*steps, *TRIES]] == [
        "tools: [current_time, my_tools:opening_hours]\n"
    ]


@pytest.mark.parametrize("section", sorted({step.section for step in STEPS}))
def test_a_recipe_touches_few_files(section: str) -> None:
    touched = {step.before.split("`")[1] for step in STEPS if step.section == section and "`" in step.before}
    assert len(touched) <= MOST_FILES


def test_the_integration_of_the_recipe_imports_doors_alone() -> None:
    [code] = [step.text for step in STEPS if step.before.startswith("New file `react_mem/integrations/")]
    imported = {node.module for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)}
    assert {name for name in imported if name and name.startswith("react_mem")} <= DOORS
    assert len([line for line in code.splitlines() if line.strip()]) <= 70


@pytest.mark.parametrize("section", [step.section for step in TRIES])
def test_what_a_recipe_adds_works(section: str, problems: dict[str, str]) -> None:
    assert problems.get(section, "") == ""
    assert "the project" not in problems
