"""An answer as Markdown, beside its label: block by block as it is written."""

from __future__ import annotations

from markdown_it import MarkdownIt
from rich.console import Console
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment
from rich.text import Text

from react_mem.agents.terminal.column import printable

_MIN_WIDTH = 20
_SHOWN_LINES = 6
"""Lines of an unfinished block that are shown while it is written."""


class MarkdownColumn:
    """A column of Markdown: a block is drawn once it is complete; until then its last lines are shown as they come.

    Args:
        console: A terminal, on which what is shown meanwhile can be drawn over.
        label: What stands before the first line, as wide as the column's margin.
    """

    def __init__(self, console: Console, label: Text) -> None:
        self._console = console
        self._label = label
        self._margin = label.cell_len
        self._width = max(console.width - self._margin, _MIN_WIDTH)
        self._lines: list[str] = []
        self._line = ""
        self._fence = ""
        self._drawn = False
        self._live: Live | None = None

    def write(self, text: str) -> None:
        """Take in a piece of the answer."""
        *whole, rest = (self._line + printable(text)).split("\n")
        self._line = rest
        for line in whole:
            self._take(line)
        self._show()

    def close(self) -> None:
        """Draw what is left."""
        if self._line:
            self._take(self._line)
        self._draw()

    def _take(self, line: str) -> None:
        bare = line.strip()
        mark = bare[:3]
        if self._fence:
            if bare.startswith(self._fence):
                self._fence = ""
        elif mark in ("```", "~~~"):
            self._fence = mark
        if bare or self._fence:
            self._lines.append(line)
        else:
            self._draw()

    def _draw(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        text, self._lines = "\n".join(self._lines), []
        if not text.strip():
            return
        if self._drawn:
            self._console.print()
        options = self._console.options.update(width=self._width)
        rows = self._console.render_lines(_markdown(text), options, pad=False)
        for row in _trimmed(rows):
            margin = Text(" " * self._margin) if self._drawn else self._label
            self._drawn = True
            self._console.print(margin, end="", soft_wrap=True)
            self._console.print(_Row(row), end="", soft_wrap=True)
            self._console.print()

    def _show(self) -> None:
        waiting = [*self._lines, *([self._line] if self._line.strip() else [])]
        if not waiting:
            return
        tail = Text("\n".join(waiting), style="dim").wrap(self._console, self._width)[-_SHOWN_LINES:]
        margin = Text(" " * self._margin) if self._drawn else self._label
        shown = Text("\n").join((margin if n == 0 else Text(" " * self._margin)) + line for n, line in enumerate(tail))
        if self._live is None:
            self._live = Live(shown, console=self._console, transient=True, refresh_per_second=10)
            self._live.start()
        else:
            self._live.update(shown)


class _Row:
    """One line of segments that are drawn as they are."""

    def __init__(self, segments: list[Segment]) -> None:
        self._segments = segments

    def __rich_console__(self, console: Console, options: object) -> list[Segment]:
        return self._segments


def _markdown(text: str) -> Markdown:
    """Return Markdown in which tags are text and a line break is one, as in a chat."""
    markdown = Markdown("")
    parser = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")
    markdown.parsed = parser.parse(text)
    for token in markdown.parsed:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"
    return markdown


def _trimmed(rows: list[list[Segment]]) -> list[list[Segment]]:
    """Return lines without white space at their ends, and without empty ones around them."""
    trimmed = []
    for row in rows:
        cells = list(row)
        while cells and not cells[-1].text.strip() and not (cells[-1].style and cells[-1].style.bgcolor):
            cells.pop()
        if cells and not (cells[-1].style and cells[-1].style.bgcolor):
            last = cells.pop()
            cells.append(Segment(last.text.rstrip(), last.style, last.control))
        trimmed.append(cells)
    while trimmed and not trimmed[0]:
        trimmed.pop(0)
    while trimmed and not trimmed[-1]:
        trimmed.pop()
    return trimmed
