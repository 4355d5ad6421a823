"""Texts as they are read for times: folded, save where diacritics tell a word of time from another."""

from __future__ import annotations

import unicodedata

from react_mem.memory.language import LANGUAGES
from react_mem.memory.language.folding import fold

MAX_QUESTION = 2_000
"""Characters of a question that are read for times: what is pasted behind it says when something else was."""

_SPELT = [pair for language in LANGUAGES for pair in language.times.get("spelt", {}).items()]
_PRINT = str.maketrans({"’": "'", "–": "-"})


def for_times(text: str) -> str:
    """Return text folded, without double spaces and with the marks of print as they are typed.

    >>> for_times("Tháng  Sáu"), for_times("Tôi đi")
    ('thang 6', '_ di')
    """
    if text.isascii():
        return " ".join(text.lower().split())
    text = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    for spelt, clear in _SPELT:
        text = text.replace(spelt, clear)
    return fold(text.translate(_PRINT))
