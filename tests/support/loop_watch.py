"""How long the event loop was kept: the processor time of each callback, to which a busy machine adds nothing."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest


@dataclass
class LoopWatch:
    """Times of the callbacks of the event loops in this thread."""

    callbacks: list[tuple[float, str]] = field(default_factory=list)

    @property
    def longest(self) -> tuple[float, str]:
        """The longest callback."""
        return max(self.callbacks, default=(0.0, "none"))


@contextmanager
def loop_watched() -> Iterator[LoopWatch]:
    """Measure every callback that an event loop of this thread runs meanwhile."""
    watch = LoopWatch()
    run = asyncio.Handle._run
    watched = threading.get_ident()

    def measured(handle: asyncio.Handle) -> None:
        if threading.get_ident() != watched:
            run(handle)
            return
        begun = time.thread_time()
        try:
            run(handle)
        finally:
            took = time.thread_time() - begun
            if took >= 0.001:
                watch.callbacks.append((took, repr(handle)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio.Handle, "_run", measured)
        yield watch
