"""Preferences in what is said, in any language with a file."""

from __future__ import annotations

from collections.abc import Sequence

from react_mem.memory.language.cues import cue

_PREFERS = cue("prefers")


def states_preference(text: str) -> bool:
    """Return whether a statement says what somebody likes or prefers, or what they do not.

    >>> states_preference("I prefer a cool climate"), states_preference("I'd like a coffee")
    (True, False)
    """
    return bool(_PREFERS.search(text))


def preferred_in(text: str) -> Sequence[str]:
    """Return what a statement says behind and before that somebody prefers something; what they prefer is among it.

    >>> preferred_in("I prefer a cool climate"), preferred_in("涼しい気候が好き"), preferred_in("I live in Hue")
    ([' a cool climate', 'I '], ['涼しい気候が'], [])
    """
    found = _PREFERS.search(text)
    return [part for part in (text[found.end() :], text[: found.start()]) if part.strip()] if found else []
