"""Numbers in digits and in the numerals of scripts without spaces."""

from __future__ import annotations

import unicodedata

from react_mem.memory.language import LANGUAGES

_TABLE = [forms for one in LANGUAGES if one.unspaced for forms in enumerate(one.number_words)]
_VALUES = {form: value for value, forms in _TABLE for form in forms if len(form) == 1}
# a year is spelt digit by digit, each in the first of its forms; a zero in any
_DIGITS = [form for value, forms in _TABLE if value < 10 for form in (forms[:1] if value else forms)]
_MILLENNIA = [forms[0] for value, forms in _TABLE if value in (1, 2)]

NUMBER = rf"(?<![\d.])\d{{1,3}}|[{''.join(_VALUES)}]{{1,3}}"
YEAR_IN_NUMERALS = f"[{''.join(_MILLENNIA)}][{''.join(_DIGITS)}]{{3}}"


def number(written: str) -> int:
    """Return the number that is written.

    >>> number("24"), number("二十四"), number("十"), number("二〇二六")
    (24, 24, 10, 2026)
    """
    whole = below_ten = 0
    for numeral in written:
        value = _VALUES.get(numeral)
        value = int(unicodedata.numeric(numeral)) if value is None else value
        if value == 10:
            whole, below_ten = whole + 10 * (below_ten or 1), 0
        else:
            below_ten = 10 * below_ten + value
    return whole + below_ten
