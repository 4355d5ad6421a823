"""Questions and texts in one spelling: without case and diacritics, save where these tell words apart."""

from __future__ import annotations

import unicodedata

MAX_QUESTION = 2_000
"""Characters of a question that are read for times: what is pasted behind it says when something else was."""


def _bare(letter: str) -> str:
    spelt = unicodedata.normalize("NFKD", letter).replace("đ", "d").casefold()
    return "".join(part for part in spelt if not unicodedata.combining(part))


# A table, as every chunk of text comes through here: Latin letters with marks, the marks, and two signs of print.
_BARE = {
    code: _bare(chr(code)) for codes in ((0xC0, 0x250), (0x300, 0x370), (0x1E00, 0x1F00)) for code in range(*codes)
}
_BARE |= {ord("’"): "'", ord("–"): "-"}
# "tôi" (I) would be "tối" and "tới" (evening, next), "sáu" (six) would be "sau" (after)
_AMBIGUOUS = (("tôi ", "_ "), ("sáu", "6"))


def fold(text: str) -> str:
    """Return text without case, diacritics and double spaces, with the marks of print as they are typed.

    >>> fold("Tháng  Sáu"), fold("Tôi đi")
    ('thang 6', '_ di')
    """
    text = " ".join(text.casefold().split())
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text)
    for spelt, clear in _AMBIGUOUS:
        text = text.replace(spelt, clear)
    return text.translate(_BARE)
