"""Count the lines and files of every room, and compare them with the budgets of `pyproject.toml`."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "CONTRIBUTING.md"

OUTSIDE = ("benchmarks", "tests")
"""Python that is measured and is not the product."""

_TABLE = re.compile(r"(<!-- house -->\n).*?(<!-- end -->)", re.DOTALL)
_SPLIT = "memory"
"""The folder of `react_mem` with rooms of its own."""


def budgets() -> dict[str, int]:
    """Return the largest number of lines for each room, of files for `files`, and of files a story for `story.NAME`."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    budget: dict[str, int] = config["tool"]["house"]["budgets"]
    return budget


def room_of(file: Path) -> str:
    """Return the room of a file: a folder of `react_mem`, of `react_mem/memory`, or one outside of the product."""
    top, *rest = file.relative_to(ROOT).parts
    if top != "react_mem":
        return top
    depth = 2 if rest[0] == _SPLIT else 1
    return "/".join(rest[:depth]) if len(rest) > depth else "/".join(rest[: depth - 1]) or "react_mem"


def measure() -> dict[str, tuple[int, int]]:
    """Return the lines and the files of every room, and of the product in all under `product`."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for top in ("react_mem", *OUTSIDE):
        for file in (ROOT / top).rglob("*.py"):
            rooms = [room_of(file)] if top in OUTSIDE else [room_of(file), "product"]
            for room in rooms:
                lines[room] += len(file.read_bytes().splitlines())
                files[room] += 1
    return {room: (lines[room], files[room]) for room in sorted(lines)}


def over_budget(measured: dict[str, tuple[int, int]]) -> list[str]:
    """Return a sentence for each room that is too large or that has no budget."""
    allowed = budgets()
    problems = [f"{room} has no budget in pyproject.toml" for room in measured if room not in allowed]
    for room, (lines, _) in measured.items():
        if lines > allowed.get(room, lines):
            problems.append(f"{room} has {lines:,} lines, more than its {allowed[room]:,}")
    if measured["product"][1] > allowed["files"]:
        problems.append(f"the product has {measured['product'][1]} files, more than its {allowed['files']}")
    return problems


def table(measured: dict[str, tuple[int, int]]) -> str:
    """Return the rooms as a Markdown table of files and budgets.

    It has no lines of code: they change with every commit, and `make house` prints them.
    """
    allowed = budgets()
    rows = [f"| `{room}` | {allowed[room]:,} |" for room in measured if room != "product"]
    total = f"| product in all, at most {allowed['files']} files | {allowed['product']:,} |"
    return "\n".join(["| Room | Lines at most |", "| --- | ---: |", *rows, total, ""])


def written(page: str) -> str:
    """Return the page on contributing with its table of rooms as it is to be."""
    return _TABLE.sub(lambda found: f"{found[1]}{table(measure())}{found[2]}", page)
