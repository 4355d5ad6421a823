"""Numbers in digits and in Chinese numerals."""

from __future__ import annotations

import unicodedata

NUMBER = r"(?<![\d.])\d{1,3}|[〇一二三四五六七八九十两兩]{1,3}"
YEAR_IN_NUMERALS = "[一二][〇零一二三四五六七八九]{3}"

_UNTOLD = {"两": 2}
"""Numerals of which Unicode tells no value."""


def number(written: str) -> int:
    """Return the number that is written.

    >>> number("24"), number("二十四"), number("十"), number("二〇二六")
    (24, 24, 10, 2026)
    """
    whole = below_ten = 0
    for numeral in written:
        value = _UNTOLD.get(numeral) or int(unicodedata.numeric(numeral))
        if value == 10:
            whole, below_ten = whole + 10 * (below_ten or 1), 0
        else:
            below_ten = 10 * below_ten + value
    return whole + below_ten
