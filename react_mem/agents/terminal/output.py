"""Output of a command: a table, a line or JSON on the terminal, lines in a file."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from react_mem.agents.terminal.column import one_line, printable
from react_mem.errors import MemoryCommandError

NOT_FORGOTTEN = "nothing was forgotten"
"""Answer to a no."""

CELL = 300
"""Characters of a memory in a table; `show` has all of it."""


def counted(count: int, one: str, several: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "memory", "memories"), counted(0, "fact")
    ('1 memory', '0 facts')
    """
    return f"{count} {one if count == 1 else several or f'{one}s'}"


class Output:
    """Destination of a command's output.

    Args:
        console: The terminal.
        as_json: Whether data is printed as JSON.
    """

    def __init__(self, console: Console, *, as_json: bool) -> None:
        self.console = console
        self.as_json = as_json

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], data: Any, empty: str = "nothing") -> int:
        """Print rows, in a pipe or a file without cutting any, or what they show as JSON; return the exit code.

        Args:
            columns: Their names.
            rows: Their cells.
            data: The same as data.
            empty: What is said where there are none.
        """
        if self.as_json:
            self.json(data)
            return 0
        if not rows:
            self.console.print(Text(empty, style="dim"), soft_wrap=True)
            return 0
        if not self.console.is_terminal:
            cells = [[" ".join(printable(cell).split()) for cell in row] for row in rows]
            *widths, _ = (max(map(len, column)) for column in zip(*cells, strict=True))
            for *firsts, last in cells:
                line = [cell.ljust(width) for cell, width in zip(firsts, widths, strict=True)]
                self.console.print(Text("  ".join([*line, last])), soft_wrap=True)
            return 0
        table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
        for column in columns:
            table.add_column(column, no_wrap=column != columns[-1], overflow="fold")
        for row in rows:
            table.add_row(*(Text(one_line(cell, CELL)) for cell in row))
        self.console.print(table)
        return 0

    def report(self, data: dict[str, Any], text: str) -> None:
        """Print what was done, as data or as a sentence."""
        if self.as_json:
            self.json(data)
        else:
            self.console.print(Text(text, style="dim"), soft_wrap=True)

    def json(self, data: Any) -> None:
        """Print data as JSON."""
        print_json(self.console, data)


def print_json(console: Console, data: Any) -> None:
    """Print data as JSON, in ASCII: nothing in it moves a cursor, and it survives any encoding."""
    console.print(Text(json.dumps(data, indent=2, default=str)), soft_wrap=True)


def read_lines(where: str) -> list[str]:
    """Return the lines of a file; of the standard input for `-`.

    Raises:
        MemoryCommandError: If it cannot be read.
    """

    def lines(stream: IO[bytes]) -> list[str]:
        # not by str.splitlines, which cuts at more than line ends
        return stream.read().decode("utf-8").split("\n")

    try:
        if where == "-":
            return lines(sys.stdin.buffer)
        with Path(where).open("rb") as file:
            return lines(file)
    except (OSError, UnicodeDecodeError) as error:
        raise MemoryCommandError(f"{where} cannot be read: {error}") from error


def write_lines(where: str, lines: Sequence[str]) -> None:
    """Write lines to a file; to the standard output for `-`.

    Raises:
        MemoryCommandError: If it cannot be written.
    """
    with written_lines(where) as write:
        write(lines)


@contextmanager
def written_lines(where: str) -> Iterator[Callable[[Sequence[str]], None]]:
    """Give what writes lines to a file, which is there when all of them are; to the standard output for `-`.

    Raises:
        MemoryCommandError: If it cannot be written.
    """

    def write_to(stream: IO[bytes], lines: Sequence[str]) -> None:
        with _told(where):
            stream.write("".join(f"{line}\n" for line in lines).encode())
            stream.flush()

    if where == "-":
        yield partial(write_to, sys.stdout.buffer)
        return
    path = Path(where).resolve()
    if path.exists() and not path.is_file():
        # a pipe, say, is written to as it is
        with _told(where):
            stream = path.open("wb")
        with stream:
            yield partial(write_to, stream)
        return
    part = path.with_name(f"{path.name}.part")
    try:
        with _told(where):
            stream = part.open("wb")
            if path.exists():
                shutil.copymode(path, part)
        with stream:
            yield partial(write_to, stream)
        with _told(where):
            part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _told(where: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MemoryCommandError(f"{where} cannot be written: {error}") from error
