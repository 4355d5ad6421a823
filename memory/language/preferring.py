"""Preferences in what is said, in any language with a file."""

from __future__ import annotations

from react_mem.memory.language.cues import cue

_PREFERS = cue("prefers")


def states_preference(text: str) -> bool:
    """Return whether a statement says what somebody likes or prefers, or what they do not.

    >>> states_preference("I prefer a cool climate"), states_preference("I'd like a coffee")
    (True, False)
    """
    return bool(_PREFERS.search(text))
