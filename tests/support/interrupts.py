"""Ctrl-C for the programs that tests start: a test run in the background ignores it, and would hand that down."""

from __future__ import annotations

import signal


def hear_interrupts() -> None:
    """Let the process end on SIGINT again; for `preexec_fn`."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
