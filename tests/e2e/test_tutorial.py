"""The tutorial, taken from the first step to the last: every file, command and line of output of docs/tutorial.md."""

from __future__ import annotations

import asyncio
import io
import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest

from react_mem.agents.cli import main
from tests.e2e.test_terminal import Environment, environment, on_server
from tests.support.documents import ROOT, Block, blocks_of

__all__ = ["environment", "on_server"]

pytestmark = pytest.mark.e2e

STEPS = [step for step in blocks_of(ROOT / "docs" / "tutorial.md") if step.language != "yaml"]  # of test_readme.py
ELSEWHERE = {"make demo", "make chat"}
"""Commands that test_terminal.py runs."""

_CHANGING = re.compile(
    r"(?<=nothing of ann in )[^;]+|\b(?:(?P<id>[0-9a-f]{8})|\d{4}-\d\d-\d\d|\d+(?= removed| checks))\b"
)


class Reader:
    """Somebody who follows the tutorial in a folder of their own.

    Args:
        folder: The folder.
        capsys: What is printed.
    """

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._capsys = capsys
        self._ids: dict[str, str] = {}
        self._printed: list[str] = []

    def write(self, step: Block) -> None:
        """Write the file that a step tells."""
        told = re.match(r"New file `([^`]+)`", step.before)
        assert told is not None, step
        (self._folder / told[1]).write_text(step.text, encoding="utf-8")

    def run(self, step: Block) -> None:
        """Run the commands of a step, with the reader's own ids in place of the page's."""
        self._capsys.readouterr()
        for command in step.text.splitlines():
            if command not in ELSEWHERE:
                for shown, own in self._ids.items():
                    command = command.replace(shown, own)
                self._start(shlex.split(command))
        self._printed = self._capsys.readouterr().out.splitlines()

    def _start(self, words: list[str]) -> None:
        match words:
            case [".venv/bin/python", script, *arguments]:
                sys.argv = [script, *arguments]
                runpy.run_path(str(self._folder / script), run_name="__main__")
            case [".venv/bin/react-mem", *arguments]:
                assert main(arguments) == 0, self._capsys.readouterr().err
            case _:
                pytest.fail(f"nothing runs {words}")

    def compare(self, step: Block) -> None:
        """Hold what was printed against what the page shows; days, ids and counts are the reader's own."""
        shown = step.text.splitlines()
        # what was written in the same moment has no order
        assert sorted(map(_steady, self._printed)) == sorted(map(_steady, shown)), step
        for line in shown:
            [own, *_] = [one for one in self._printed if _steady(one) == _steady(line)]
            pairs = zip(_CHANGING.finditer(line), _CHANGING.finditer(own), strict=True)
            self._ids |= {one["id"]: other["id"] for one, other in pairs if one["id"]}


def _steady(line: str) -> str:
    return _CHANGING.sub("...", line)


async def test_the_tutorial_ends_as_it_says(
    on_server: Environment,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CHAT_MODEL", "EMBEDDING_MODEL", "REACT_MEM_AGENTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATABASE_URL", on_server["DATABASE_URL"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    reader = Reader(tmp_path, capsys)
    for step in STEPS:
        take = {"python": reader.write, "bash": reader.run, "text": reader.compare}[step.language]
        await asyncio.to_thread(take, step)
    assert len([step for step in STEPS if step.language == "text"]) == 7
