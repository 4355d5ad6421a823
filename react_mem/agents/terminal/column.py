"""Text beside a label, wrapped at words, whole or as it is being written."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters, which must not move the cursor, clear the screen or break the output's encoding."""

_MIN_WIDTH = 20


def printable(text: str) -> str:
    """Return a text without control characters, tabs as spaces.

    >>> printable("\\x1b[2Jhi\\tthere")
    '[2Jhi    there'
    """
    return _UNPRINTABLE.sub("", text).replace("\t", "    ")


def one_line(text: str, width: int) -> str:
    """Return the beginning of a text, on one line of so many cells.

    >>> one_line("a long\\nway home", 10)
    'a long wa…'
    """
    line = Text(" ".join(printable(text).split()))
    line.truncate(width, overflow="ellipsis")
    return line.plain


class Column:
    """A column of text: what is written into it is the same on the screen however it was cut into pieces.

    Args:
        console: Where to draw. Wraps only on a terminal: what goes into a pipe or a file stays a line a line.
        indent: Where the column begins; the cursor is expected there.
        style: How the text looks.
    """

    def __init__(self, console: Console, indent: int, style: str = "") -> None:
        self._console = console
        self._margin = "\n" + " " * indent
        self._width = max(console.width - indent, _MIN_WIDTH) if console.is_terminal else None
        self._style = style
        self._used = 0
        self._breaks = 0
        self._gap = ""
        self._word = ""
        self._breaking = False

    def write(self, text: str) -> None:
        """Draw a piece; its last word waits until it is complete, or too long for a line of its own.

        Args:
            text: The piece.
        """
        out = ""
        for part in re.findall(r"\n| +|[^ \n]+", printable(text)):
            if part == "\n":
                out += self._flush()
                self._breaks, self._gap, self._breaking = self._breaks + 1, "", False
            elif part[0] == " ":
                out += self._flush()
                self._gap, self._breaking = self._gap + part, False
            else:
                self._word += part
                if self._width is None or self._breaking or cell_len(self._word) > self._width:
                    out += self._flush()
                    self._breaking = True
        self._draw(out)

    def whole(self, text: str) -> None:
        """Draw a text that comes at once, and end the line."""
        self.write(text)
        self.close()

    def close(self) -> None:
        """Draw what is left and end the line."""
        self._draw(self._flush())
        self._console.print()

    def _flush(self) -> str:
        """Place the waiting word; return what is to be drawn."""
        if not self._word:
            return ""
        gap, word, self._gap, self._word = self._gap, self._word, "", ""
        out = ""
        if self._breaks:
            # only now: white space at the end of a text is not drawn
            out, self._used = "\n" * (self._breaks - 1) + self._margin, 0
            self._breaks = 0
        if self._width is None:
            return out + gap + word
        if not self._used:
            gap = gap[: self._width // 2]
        elif not self._breaking and self._used + len(gap) + cell_len(word) > self._width:
            out, gap, self._used = self._margin, "", 0
        out += gap
        self._used += len(gap)
        for character in word:
            cells = cell_len(character)
            if self._used + cells > self._width:
                out, self._used = out + self._margin, 0
            out += character
            self._used += cells
        return out

    def _draw(self, text: str) -> None:
        if text:
            self._console.print(Text(text, style=self._style), end="", soft_wrap=True)
