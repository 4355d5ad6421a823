"""The commands that the pages and the Makefile print for benchmarks are understood, and name files that are there."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks.ablation.__main__ import RULES, off, replaced
from benchmarks.report import write_json
from tests.support.documents import PAGES, ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
MADE = re.findall(r"^\t\$\(BIN\)/python -m (benchmarks\..+)$", MAKEFILE, re.MULTILINE)
COMMANDS = sorted(
    {
        command.strip()
        for page in PAGES
        for command in re.findall(r"python -m (benchmarks\.[^`\n]+)", page.read_text(encoding="utf-8"))
    }
    | set(MADE)
)
MODULES = sorted(
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__main__")
    for path in (ROOT / "benchmarks").rglob("*.py")
    if "def main(" in path.read_text(encoding="utf-8")
)


class UnderstoodError(Exception):
    """Tells that a command line was parsed: nothing is measured."""


@pytest.fixture
def parsing_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every benchmark ends once it has understood its command line."""
    parse = argparse.ArgumentParser.parse_args

    def parsed(self: argparse.ArgumentParser, *args: Any) -> None:
        raise UnderstoodError(parse(self, *args))

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parsed)


def main_of(module: str) -> Any:
    found = import_module(module)
    return found.main if hasattr(found, "main") else import_module(f"{module}.__main__").main


@pytest.mark.usefixtures("parsing_alone")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_printed_command_is_understood(command: str) -> None:
    module, *arguments = shlex.split(command)
    with pytest.raises(UnderstoodError):
        main_of(module)(arguments)


NEEDED = {"benchmarks.locomo": ["--data", "FILE"], "benchmarks.citus": ["--postgres", "FOLDER"]}
"""What a benchmark cannot be run without."""


@pytest.mark.usefixtures("parsing_alone")
@pytest.mark.parametrize("module", MODULES)
def test_the_file_of_the_numbers_is_optional_and_one_option(module: str) -> None:
    for given, told in (([], None), (["--json", "out.json"], Path("out.json"))):
        with pytest.raises(UnderstoodError) as understood:
            main_of(module)([*NEEDED.get(module, []), *given])
        assert understood.value.args[0].json == told


def test_what_make_bench_writes_is_what_is_kept() -> None:
    names = [re.search(r"--json (\S+)", command) for command in MADE]
    files = [name[1] for name in names if name]
    assert len(files) == len(MADE) == len(set(files))
    assert [file for file in files if not (ROOT / file).is_file()] == []
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    others = {path.name for path in (ROOT / "benchmarks" / "results").glob("*.json")} - {
        Path(file).name for file in files
    }
    assert [name for name in sorted(others) if f"`{name}`" not in page] == [], "the page says which command wrote it"


def refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def test_what_was_not_measured_is_null(tmp_path: Path) -> None:
    none, endless = float("nan"), float("inf")
    file = tmp_path / "out.json"
    write_json(file, {"x": none, "y": 0.5}, {"peer": {"x": -endless}}, {"runs": [{"x": none}, (endless, 2)]})
    result = json.loads(file.read_text(encoding="utf-8"), parse_constant=refuse)
    assert (result["metrics"], result["peers"]) == ({"x": None, "y": 0.5}, {"peer": {"x": None}})
    assert result["environment"]["runs"] == [{"x": None}, [None, 2]]


@pytest.mark.parametrize("file", sorted((ROOT / "benchmarks").rglob("*.json")), ids=lambda path: path.name)
def test_every_file_of_the_benchmarks_is_json(file: Path) -> None:
    json.loads(file.read_text(encoding="utf-8"), parse_constant=refuse)


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_that_can_be_switched_off_is_there(rule: str) -> None:
    with replaced(rule, off):
        pass
