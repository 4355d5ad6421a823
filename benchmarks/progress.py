"""Progress of a benchmark on standard error, and a sentence after Ctrl-C.

A line now and then, on a terminal too: a progress bar is drawn by a thread, which would disturb the measurement.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import ParamSpec, TypeVar

from rich.console import Console

from react_mem.agents.terminal.progress import Progress

NOT_WRITTEN = "No file was written; the same command begins anew."

Part = TypeVar("Part")
Arguments = ParamSpec("Arguments")

_running: list[_Counted] = []
"""Counted loops, the outermost first; an abandoned one stays until the next begins."""


def counted(parts: Sequence[Part], doing: str, unit: str) -> Iterator[Part]:
    """Yield parts of the work and report progress, as "Asking: 3 of 9 questions". A nested loop reports nothing."""
    if _running and not _running[-1].is_left:
        yield from parts
        return
    _running.clear()
    progress = _Counted(doing, unit)
    _running.append(progress)
    try:
        for done, part in enumerate(parts):
            progress(done, len(parts))
            yield part
    except GeneratorExit:
        # whoever was given a part did not come back: what stopped them is told by `interruptible`
        progress.is_left = True
        raise
    progress(len(parts), len(parts))
    _running.clear()


def interruptible(main: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Make a benchmark end after Ctrl-C with a sentence on its progress instead of a traceback."""

    @functools.wraps(main)
    def interrupted(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        _running.clear()
        try:
            main(*args, **kwargs)
        except KeyboardInterrupt as error:
            progress = _running[-1] if _running else _Counted("Measuring", "parts")
            progress.__exit__(type(error), error, error.__traceback__)
            sys.exit(130)

    return interrupted


class _Counted(Progress):
    def __init__(self, doing: str, unit: str) -> None:
        lines = Console(stderr=True, highlight=False, force_terminal=False)
        super().__init__(doing, unit, go_on=NOT_WRITTEN, console=lines)
        self.is_left = False
