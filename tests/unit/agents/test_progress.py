"""Progress of long work: a bar on a terminal, lines elsewhere, nothing where it is quiet, a sentence at its end."""

from __future__ import annotations

import asyncio
import io
import re

import pytest
from rich.console import Console

from react_mem.agents.terminal.progress import Progress


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def screen(*, terminal: bool) -> tuple[Console, io.StringIO]:
    drawn = io.StringIO()
    return Console(file=drawn, force_terminal=terminal, width=100, highlight=False, _environ={}), drawn


def test_a_terminal_shows_a_bar_with_the_time_left_and_clears_it() -> None:
    console, drawn = screen(terminal=True)
    clock = Clock()
    with Progress("Sealing", "memories", console=console, clock=clock) as progress:
        for done in range(0, 6_000, 1_000):
            progress(done, 10_000)
            clock.now += 1.0
        progress._bar.refresh()
        # 5,000 in as many seconds
        assert re.search(r"Sealing .*5,000 of 10,000 memories \S*0:00:05", drawn.getvalue())
    assert drawn.getvalue().rstrip().endswith("\x1b[2K")


def test_where_there_is_no_terminal_a_line_comes_every_ten_seconds() -> None:
    console, drawn = screen(terminal=False)
    clock = Clock()
    with Progress("Sealing", "memories", console=console, clock=clock) as progress:
        for done in range(101):
            progress(done, 100)
            clock.now += 0.5
    assert drawn.getvalue().splitlines() == [
        "Sealing: 20 of 100 memories, 0:40 left",
        "Sealing: 40 of 100 memories, 0:30 left",
        "Sealing: 60 of 100 memories, 0:20 left",
        "Sealing: 80 of 100 memories, 0:10 left",
        "Sealing: 100 of 100 memories",
    ]


def test_what_is_quiet_shows_nothing() -> None:
    console, drawn = screen(terminal=True)
    clock = Clock()
    with Progress("Sealing", "memories", quiet=True, console=console, clock=clock) as progress:
        clock.now = 60.0
        progress(5, 10)
    assert drawn.getvalue() == ""


@pytest.mark.parametrize(
    ("counts", "far"),
    [
        ([(300, 753)], "after 300 of 753 memories"),
        ([(300, None)], "after 300 memories"),
        ([], "before any of the memories was done"),
    ],
)
def test_an_interruption_says_how_far_it_came_and_how_to_go_on(counts: list[tuple[int, int | None]], far: str) -> None:
    console, drawn = screen(terminal=False)
    progress = Progress("Sealing", "memories", quiet=True, go_on="Go on.", console=console)
    for done, total in counts:
        progress(done, total)
    with pytest.raises(asyncio.CancelledError), progress:
        raise asyncio.CancelledError
    assert drawn.getvalue() == f"Stopped {far}. Go on.\n"
