"""Progress of long work, on standard error: a bar with the time left on a terminal, a line now and then elsewhere.

The work knows nothing of it and calls its callback with the done and the total count. Results go to standard
output.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich import progress as bars
from rich.console import Console
from rich.text import Text

LINE_SECONDS = 10.0
"""Seconds between two lines where no terminal shows a bar."""

SAME_COMMAND = "What is done stays done; the same command goes on from there."
"""Advice after Ctrl-C, for work that resumes by itself."""


class Progress:
    """Progress of work (`doing`: "Sealing"; `unit`: "memories"): a context manager, called as the work goes.

    After Ctrl-C it prints how far the work came and how to go on (`go_on`, which may change); `quiet` leaves only that.
    """

    def __init__(
        self,
        doing: str,
        unit: str,
        *,
        quiet: bool = False,
        go_on: str = SAME_COMMAND,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.go_on = go_on
        self._doing = doing
        self._unit = unit
        self._console = console or Console(stderr=True, highlight=False)
        self._clock = clock
        self._said_at = clock()
        # standard output may be a file while this is a terminal: what is written there is not to come here
        self._bar = bars.Progress(
            bars.TextColumn("{task.description}", markup=False),
            bars.BarColumn(),
            bars.TextColumn("{task.fields[counted]}", markup=False),
            bars.TimeRemainingColumn(elapsed_when_finished=True),
            console=self._console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            get_time=clock,
        )
        self._bar.add_task(doing, total=None, counted="")
        [self._task] = self._bar.tasks
        self._draws = not quiet and self._console.is_terminal and not self._console.is_dumb_terminal
        self._writes = not quiet and not self._draws

    def __enter__(self) -> Self:
        if self._draws:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._draws:
            self._bar.stop()
        # asyncio cancels what runs when Ctrl-C is pressed
        if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
            far = f"after {self._counted()}" if self._task.completed else f"before any of the {self._unit} was done"
            self._console.print(Text(f"Stopped {far}. {self.go_on}"), soft_wrap=True)

    def turn_to(self, doing: str, unit: str) -> None:
        """Begin the next part of the work."""
        self._doing, self._unit = doing, unit
        self._bar.reset(self._task.id, total=None, description=doing, counted="")

    def __call__(self, done: int, total: int | None = None) -> None:
        """Show the done and the total count; a total of None is unknown, or unchanged."""
        self._bar.update(self._task.id, completed=done, total=self._task.total if total is None else total)
        self._bar.update(self._task.id, counted=self._counted())
        if self._writes and (at := self._clock()) - self._said_at >= LINE_SECONDS:
            self._said_at = at
            left = self._task.time_remaining
            tail = "" if left is None or self._task.finished else f", {_duration(left)} left"
            self._console.print(Text(f"{self._doing}: {self._counted()}{tail}"), soft_wrap=True)

    def _counted(self) -> str:
        of = "" if self._task.total is None else f" of {self._task.total:,.0f}"
        return f"{self._task.completed:,.0f}{of} {self._unit}"


def _duration(seconds: float) -> str:
    """Return a duration in hours, minutes and seconds.

    >>> _duration(5), _duration(3725)
    ('0:05', '1:02:05')
    """
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"
