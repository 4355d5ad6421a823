"""Text normalisation: hasty and careful spelling compare equal."""

from __future__ import annotations

import re
import unicodedata

_VOICING = "\u3099\u309a"
"""The marks of kana. Nobody leaves them out: a letter with one is another letter, as が is not か."""

_MAX_KNOWN = 0x1_0000  # characters from here on are computed each time, so that nobody can fill the cache


class _Bare(dict[int, str]):
    """Cache: character -> the character without its diacritics."""

    def __missing__(self, code: int) -> str:
        letter = "d" if code == ord("đ") else "D" if code == ord("Đ") else chr(code)
        parts = unicodedata.normalize("NFKD", letter)
        bare = "".join(part for part in parts if part in _VOICING or not unicodedata.combining(part))
        if code < _MAX_KNOWN:
            self[code] = bare
        return bare


_BARE = _Bare()


def unmarked(text: str) -> str:
    """Return text without diacritics, in composed form (NFC).

    >>> unmarked("Đà Nẵng, Café, が")
    'Da Nang, Cafe, が'
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text.translate(_BARE))


def fold(text: str) -> str:
    """Return text without case, width and diacritics: "Hà Nội" is often typed "ha noi".

    >>> fold("Đà Nẵng, Café")
    'da nang, cafe'
    """
    if text.isascii():
        return text.lower()
    # what one sign stands for may have case: "㎅"
    return unmarked(unicodedata.normalize("NFKC", text).casefold())


# A text as it is compared, and how much of one is read.

_LETTER = re.compile(r"[^\W_]")

MAX_INDEXED_CHARS = 2_000
"""Characters that one vector can represent: e5 reads 512 tokens, about 2,000 characters.
The whole text is stored with it.
"""


def normalise(text: str) -> str:
    """Return text in one Unicode form, without case, extra white space and closing punctuation.

    Diacritics stay: in Vietnamese they carry meaning.

    >>> normalise("  Hà  Nội. ") == normalise("hà nội")
    True
    >>> normalise("ma") == normalise("má")
    False
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).strip(" .!?;,…。！？")


def edges(text: str, chars: int, between: str = "\n") -> str:
    """Return the beginning and the end of a long text, each of so many characters; a shorter text unchanged."""
    return text if len(text) <= 2 * chars else f"{text[:chars]}{between}{text[-chars:]}"


def has_words(text: str) -> bool:
    """Return true if a text has a letter or a digit of any script: mere signs teach nothing.

    >>> has_words("Huế"), has_words("46"), has_words("👍🏽 🎉 ... _")
    (True, True, False)
    """
    return _LETTER.search(text) is not None
