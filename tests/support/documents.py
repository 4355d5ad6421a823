"""The project's Markdown pages, taken apart: fenced blocks, links, and steps that a recipe tells to take."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "conformance/*.md", ".github/**/*.md")
    for path in ROOT.glob(pattern)
    if ".venv" not in path.parts
)
"""Every page that a reader of the project may open."""

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STEP = re.compile(r"^(?:New file `(?P<new>[^`]+)`|In `(?P<old>[^`]+)`, below `(?P<line>[^`]+)`):\Z")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: str
    number: int
    language: str
    text: str
    section: str
    before: str

    def __str__(self) -> str:
        return f"{self.page}:{self.number}"


def name_of(page: Path) -> str:
    """Return a page's path as links write it."""
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for number, fence in enumerate(_FENCE.finditer(text), 1):
        above = text[: fence.start()]
        sections = re.findall(r"^## (.+)$", _FENCE.sub("", above), re.MULTILINE)
        before = next((line for line in reversed(above.splitlines()) if line.strip()), "")
        yield Block(name_of(page), number, fence[1], fence[2], sections[-1] if sections else "", before)


def prose_of(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def blocks(language: str, page: str = "") -> list[Block]:
    """Return the blocks in a language, of one page or of all."""
    return [block for block in BLOCKS if block.language == language and page in {"", block.page}]


def take(step: Block, folder: Path) -> bool:
    """Take the step that the line before a block tells: write a file, or lines into one."""
    told = _STEP.match(step.before)
    if told is None:
        return False
    if told["new"]:
        file = folder / told["new"]
        assert not file.exists(), f"{step}: {told['new']} is there already"
        file.write_text(step.text, encoding="utf-8")
        return True
    file = folder / told["old"]
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    places = [place for place, line in enumerate(lines) if line.rstrip("\n") == told["line"]]
    assert len(places) == 1, f"{step}: {told['old']} has {len(places)} lines {told['line']!r}"
    file.write_text("".join([*lines[: places[0] + 1], step.text, *lines[places[0] + 1 :]]), encoding="utf-8")
    return True
