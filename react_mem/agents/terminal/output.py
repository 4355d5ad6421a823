"""Output of a command: a table, a line or JSON on the terminal, lines in a file."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from react_mem.agents.config import AgentConfig
from react_mem.agents.models import EXTRACTIVE, resolve_chat_spec
from react_mem.errors import MemoryCommandError
from react_mem.memory import StorageSettings
from react_mem.memory.records import place_of

# Text beside a label, wrapped at words, or as it is being written.

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters, which must not move the cursor, clear the screen or break the output's encoding."""

_MIN_WIDTH = 20


def printable(text: str) -> str:
    r"""Return a text without control characters, tabs as spaces."""
    return _UNPRINTABLE.sub("", text).replace("\t", "    ")


def one_line(text: str, width: int) -> str:
    r"""Return the beginning of a text, on one line of so many cells."""
    line = Text(" ".join(printable(text).split()))
    line.truncate(width, overflow="ellipsis")
    return line.plain


class Column:
    """Text beside a label: a whole text is wrapped at words on a terminal; pieces, as in a pipe, keep their lines.

    The cursor is expected at `indent`, the column's left edge.
    """

    def __init__(self, console: Console, indent: int, style: str = "") -> None:
        self._console = console
        self._margin = "\n" + " " * indent
        self._width = max(console.width - indent, _MIN_WIDTH)
        self._style = style
        self._space = ""

    def write(self, text: str) -> None:
        """Draw a piece; white space waits for the next piece, since at the end of a text it is not drawn."""
        text = self._space + printable(text)
        shown = text.rstrip()
        self._space = text[len(shown) :]
        if shown:
            self._draw(shown.split("\n"))

    def whole(self, text: str) -> None:
        """Draw a complete text and end the line."""
        if self._console.is_terminal:
            wrapped = Text(printable(text).rstrip()).wrap(self._console, self._width)
            self._draw([line.plain.rstrip() for line in wrapped])
        else:
            self.write(text)
        self.close()

    def close(self) -> None:
        """End the line."""
        self._console.print()

    def _draw(self, lines: Sequence[str]) -> None:
        shown = self._margin.join(lines)
        self._console.print(Text(shown, style=self._style), end="", soft_wrap=True)


NOT_FORGOTTEN = "nothing was forgotten"

CELL = 300
"""Characters of a memory in a table; `show` has all of it."""


def counted(count: int, one: str, several: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "memory", "memories"), counted(0, "fact")
    ('1 memory', '0 facts')
    """
    return f"{count} {one if count == 1 else several or f'{one}s'}"


def read_lines(where: str) -> list[str]:
    """Return the lines of a file, or of the standard input for `-`. Raises `MemoryCommandError`."""
    try:
        read = sys.stdin.buffer.read() if where == "-" else Path(where).read_bytes()
        # not by str.splitlines, which cuts at more than line ends
        return read.decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise MemoryCommandError(f"{where} cannot be read: {error}") from error


def write_lines(where: str, lines: Sequence[str]) -> None:
    """Write lines to a file, or to the standard output for `-`. Raises `MemoryCommandError`."""
    with written_lines(where) as write:
        write(lines)


@contextmanager
def written_lines(where: str) -> Iterator[Callable[[Sequence[str]], None]]:
    """Yield a writer of lines to a file, which appears complete at the end; to the standard output for `-`.

    Raises `MemoryCommandError`.
    """
    path = Path(where).resolve()
    # a pipe, say, is written to as it is
    is_file = where != "-" and (path.is_file() or not path.exists())
    part = path.with_name(f"{path.name}.part") if is_file else path
    try:
        with _told(where):
            stream = sys.stdout.buffer if where == "-" else part.open("wb")
            if is_file and path.exists():
                shutil.copymode(path, part)

        def write(lines: Sequence[str]) -> None:
            with _told(where):
                stream.write("".join(f"{line}\n" for line in lines).encode())
                stream.flush()

        with nullcontext() if where == "-" else stream:
            yield write
        if is_file:
            with _told(where):
                part.replace(path)
    finally:
        if is_file:
            part.unlink(missing_ok=True)


@contextmanager
def _told(where: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MemoryCommandError(f"{where} cannot be written: {error}") from error


# The terminal itself: where to draw, and what is said about where things run.

_HEAD_COLUMN = 8  # of "memory  "


class Terminal(Console):
    """A console that survives its reader: after a broken pipe output goes nowhere, and `abandoned` is true."""

    def __init__(self, *, as_json: bool = False) -> None:
        for stream in (sys.stdin, sys.stdout):
            if isinstance(stream, io.TextIOWrapper):
                # what cannot be read or shown is marked as such and does not end the conversation
                stream.reconfigure(errors="replace")
        super().__init__(highlight=False)
        self.as_json = as_json
        self.abandoned = False

    def on_broken_pipe(self) -> None:
        """Go on in silence, so that the caller can finish and close its resources."""
        self.abandoned = self.quiet = True
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
        os.close(devnull)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], data: Any, empty: str = "nothing") -> int:
        """Print rows, in a pipe or a file without cutting any, or `data` as JSON; return the exit code 0.

        `empty` is the message without rows.
        """
        if self.as_json:
            self.json(data)
        elif not rows:
            self.say(empty, "dim")
        elif self.is_terminal:
            table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
            for column in columns:
                table.add_column(column, no_wrap=column != columns[-1], overflow="fold")
            for row in rows:
                table.add_row(*(Text(one_line(cell, CELL)) for cell in row))
            self.print(table)
        else:
            cells = [[" ".join(printable(cell).split()) for cell in row] for row in rows]
            *widths, _ = (max(map(len, column)) for column in zip(*cells, strict=True))
            for *firsts, last in cells:
                line = [cell.ljust(width) for cell, width in zip(firsts, widths, strict=True)]
                self.say("  ".join([*line, last]))
        return 0

    def report(self, data: dict[str, Any], text: str) -> None:
        """Print a result, as data or as a sentence."""
        if self.as_json:
            self.json(data)
        else:
            self.say(text, "dim")

    def json(self, data: Any) -> None:
        """Print data as JSON, in ASCII: nothing in it moves a cursor, and it survives any encoding."""
        self.say(json.dumps(data, indent=2, default=str))

    def say(self, text: str, style: str = "") -> None:
        """Print a line, which a narrow terminal breaks and nothing cuts."""
        self.print(Text(text, style=style), soft_wrap=True)

    def failure(self, error: Exception) -> None:
        """Draw an error as one red line."""
        message = " ".join(printable(str(error)).split())
        if not message or type(error).__module__ == "builtins":
            # nobody wrote this for a user: "'id'" alone says nothing
            message = f"{type(error).__name__}: {message}"
        self.say(message, "red")

    def labelled(self, label: str, text: str) -> None:
        """Draw a line of the head of a conversation."""
        self.print(Text(label.ljust(_HEAD_COLUMN), style="dim"), end="")
        Column(self, _HEAD_COLUMN, "dim").whole(text)

    def whereabouts(self, config: AgentConfig, memory: StorageSettings | str) -> None:
        """Draw the agent, its model and the place of its memory; words in place of settings without a database."""
        model = resolve_chat_spec(config.models.chat)
        if model == EXTRACTIVE:
            model = "extractive, built in: quotes what it remembers; set OPENAI_API_KEY for a language model"
        self.labelled("agent", f"{config.name} ({config.manager})")
        self.labelled("model", model)
        self.labelled("memory", memory if isinstance(memory, str) else place_in_words(memory))


def place_in_words(settings: StorageSettings) -> str:
    """Return the place of memories: a database or a folder."""
    if settings.database_url is None:
        return f"{settings.embedded_folder()} (embedded PostgreSQL)"
    return f"PostgreSQL at {place_of(settings.database_url.get_secret_value())}"
