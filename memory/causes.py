"""What an error says, in a line, for whoever watches a turn or reads a log."""

from __future__ import annotations


def cause_of(error: BaseException) -> str:
    """Return what an error says, with its type; an error that says nothing is its type alone.

    >>> cause_of(ValueError("no such table")), cause_of(TimeoutError())
    ('ValueError: no such table', 'TimeoutError')
    """
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
