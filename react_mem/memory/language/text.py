"""A text as it is compared, and how much of one is read."""

from __future__ import annotations

import re
import unicodedata

_LETTER = re.compile(r"[^\W_]")

MAX_INDEXED_CHARS = 2_000
"""Characters that one vector can represent: e5 reads 512 tokens, about 2,000 characters.
The whole text is stored beside it."""


def normalise(text: str) -> str:
    """Fold what does not change meaning: Unicode form, case, white space, closing punctuation.

    Diacritics stay: in Vietnamese they carry meaning.

    >>> normalise("  Hà  Nội. ") == normalise("hà nội")
    True
    >>> normalise("ma") == normalise("má")
    False
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).strip(" .!?;,…。！？")


def has_words(text: str) -> bool:
    """Return whether a text has a letter or a digit of any script: of nothing but signs there is nothing to learn.

    >>> has_words("Huế"), has_words("46"), has_words("👍🏽 🎉 ... _")
    (True, True, False)
    """
    return _LETTER.search(text) is not None
