"""A text as it is compared, and how much of one is read."""

from __future__ import annotations

import unicodedata

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
