"""Recognition of years among bare numbers of four digits, by the words that they stand behind.

A name's number follows the name ("Windows 2000"), and a name can be anything. A year follows a word of grammar ("in
2000", "my 2000 trip", "từ 2000"), a season or a holiday, another year that does, or nothing.
"""

from __future__ import annotations

import re

from react_mem.memory.language.times.vocabulary import HOLIDAYS, SEASONS, YEAR, YEAR_LEADS, one_of, small

_REACH = 80
"""Characters before a year in which others that it is listed with are looked for."""

_AND = rf"(?: ?- ?|,? ?(?:&|\b{small('year_joins')}\b) ?|, ?)"
_LEAD = re.compile(
    rf"(?:\A|(?<!\d)[,.;?!] |\b{one_of((*YEAR_LEADS, *SEASONS, *HOLIDAYS))}[ -]|\b{small('year_behind')} )"
    rf"(?:(?:{small('year_noun')} )?{YEAR}{_AND}(?:{small('year_noun_behind')} )?)*\Z",
    re.ASCII,
)


def is_year(text: str, start: int) -> bool:
    """Return whether a number of four digits is a year where it stands.

    Args:
        text: The text, folded.
        start: Where the number begins.

    >>> is_year("born in 1945", 8), is_year("do i own cyberpunk 2077", 19)
    (True, False)
    """
    before = text[max(0, start - _REACH) : start]
    return _LEAD.search(before if start <= _REACH else f"_{before}") is not None
