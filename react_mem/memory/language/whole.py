"""Questions about a whole conversation: in what order, how often, what all, summed up; in any language with a file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from react_mem.memory.language import FILES
from react_mem.memory.language.own_words import own_words_in

_MOST_CHARS = 600
"""A longer text brings what it is about with it."""


class _WholeCues(NamedTuple):
    """Cues of a language, under the names of its file."""

    itself: re.Pattern[str]
    asked: re.Pattern[str]
    own: re.Pattern[str]
    favour: re.Pattern[str]
    other: re.Pattern[str]

    def say_whole(self, said: str) -> bool:
        """Return whether a question is about a whole conversation."""
        if self.other.search(said):
            return False
        return bool(
            self.itself.search(said) or (self.asked.search(said) and self.own.search(self.favour.sub(" ", said)))
        )


def asks_whole(text: str) -> bool:
    """Return whether a question is about all that was said, and not about one thing of it.

    It says so by itself, or it asks for an order, a count, a list or a summary of the user's own.

    Args:
        text: What the user asks.

    >>> asks_whole("In what order did I mention my jobs?"), asks_whole("In what order should I install these?")
    (True, False)
    >>> asks_whole("Tóm tắt những gì tôi đã kể"), asks_whole("我抱怨过房东多少次？"), asks_whole("Where do I live?")
    (True, True, False)
    """
    if len(text) > _MOST_CHARS:
        return False
    said = unicodedata.normalize("NFC", " ".join(own_words_in(text).split())).replace("’", "'")
    return any(cues.say_whole(said) for cues in _CUES)


def _either(sources: Sequence[str], *, unspaced: bool) -> re.Pattern[str]:
    either = "|".join(sources)
    # between letters without spaces there is no end of a word
    return re.compile(f"(?:{either})" if unspaced else rf"\b(?:{either})\b", re.IGNORECASE)


def _listed(data: Mapping[str, Sequence[str]], *, unspaced: bool) -> _WholeCues:
    return _WholeCues(*(_either(data[name], unspaced=unspaced) for name in _WholeCues._fields))


_CUES = [_listed(data["whole"], unspaced=bool(data.get("unspaced"))) for data in FILES.values() if "whole" in data]
