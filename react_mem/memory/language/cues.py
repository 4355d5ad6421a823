"""Phrases that show how a text is meant, as every language's file lists them."""

from __future__ import annotations

import re
from typing import Literal

from react_mem.memory.language import LANGUAGES


def phrases(name: str) -> str:
    """Return the source of a pattern that finds any of the phrases of a name, whole words where there are spaces.

    Args:
        name: Under which the files list them; each is a pattern itself. Where no file does, nothing is found.
    """
    found = [
        f"(?:{listed})" if one.unspaced else rf"\b(?:{listed})\b"
        for one in LANGUAGES
        if (listed := "|".join(one.cues.get(name, ())))
    ]
    return f"(?:{'|'.join(found) or '(?!)'})"


def cue(name: str) -> re.Pattern[str]:
    """Return what finds the phrases of a name in a text, whatever their case.

    >>> bool(cue("past").search("Where did I live before?")), bool(cue("past").search("我以前住在哪里？"))
    (True, True)
    """
    return re.compile(phrases(name), re.IGNORECASE)


def cue_words(name: str) -> str:
    """Return the words of a name, of all languages, as one text."""
    return " ".join(word for one in LANGUAGES for word in one.cues.get(name, ()))


def listed(topic: Literal["web", "fields"], name: str) -> list[str]:
    """Return what the files list under a topic: patterns, or lines of words; empty where no file does."""
    found = [getattr(one, topic).get(name, ()) for one in LANGUAGES]
    return [entry for one in found for entry in ([one] if isinstance(one, str) else one)]
