"""Words for times, English and Vietnamese, folded."""

from __future__ import annotations

import calendar
from collections.abc import Iterable

from react_mem.memory.retrieval.times.days import days_of_year, months_of_year
from react_mem.memory.retrieval.times.named import Side

MONTHS = {
    name.lower(): number
    for names in (calendar.month_name, calendar.month_abbr)
    for number, name in enumerate(names)
    if name
} | {"sept": 9}
MONTHS_VI = {
    "mot": 1, "gieng": 1, "hai": 2, "ba": 3, "tu": 4, "bon": 4, "nam": 5, "sau": 6, "bay": 7, "tam": 8, "chin": 9,
    "muoi": 10, "muoi mot": 11, "muoi hai": 12, "chap": 12,
}  # fmt: skip
WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
WEEKDAYS_SHORT = {
    "mon": 0,
    "tue": 1,
    "tues": 1,
    "wed": 2,
    "thu": 3,
    "thur": 3,
    "thurs": 3,
    "fri": 4,
    "sat": 5,
    "sun": 6,
}
WEEKDAYS_VI = {"hai": 0, "ba": 1, "tu": 2, "nam": 3, "sau": 4, "bay": 5} | {str(n + 2): n for n in range(6)}
NUMBERS = {
    "an": 1, "a": 1, "one": 1, "couple": 2, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
NUMBERS_VI = {word: number for word, number in MONTHS_VI.items() if word not in {"gieng", "chap", "tu"}}
_VAGUE = {"few": (2, 5), "several": (3, 7), "may": (2, 5), "vai": (2, 5)}
UNITS_VI = {
    "phut": "minute", "gio": "hour", "tieng": "hour", "ngay": "day", "hom": "day", "tuan": "week",
    "cuoi tuan": "weekend", "thang": "month", "nam": "year",
}  # fmt: skip
_LAST = ("this past", "last", "past", "previous", "vua roi", "vua qua", "truoc", "roi", "qua", "ngoai")
_NEXT = ("this coming", "next", "coming", "upcoming", "sau", "toi")
WHICH = dict.fromkeys(_LAST, -1) | dict.fromkeys(("this", "current", "nay"), 0) | dict.fromkeys(_NEXT, 1)
SAID_WHICH_VI = r" (?P<which>vua roi|vua qua|truoc|roi|qua|ngoai|nay|sau|toi)\b(?! khi\b)"
"""How Vietnamese says which one, behind the noun."""

SEASONS = {
    # by the months of the north; a winter belongs to the year in which it starts
    **dict.fromkeys(("spring", "xuan"), months_of_year(3, 3)),
    **dict.fromkeys(("summer", "he", "ha"), months_of_year(6, 3)),
    **dict.fromkeys(("autumn", "fall", "thu"), months_of_year(9, 3)),
    **dict.fromkeys(("winter", "dong"), months_of_year(12, 3)),
}
HOLIDAYS = {
    # a holiday that moves has the days between which it falls: near enough to say which memory is nearer
    **dict.fromkeys(("christmas", "xmas", "giang sinh", "noel"), days_of_year(12, 23, 27)),
    "new year": days_of_year(1, 1),
    "new year's eve": days_of_year(12, 31),
    "valentine": days_of_year(2, 14),
    "easter": days_of_year(3, 22, 27, 4),
    "halloween": days_of_year(10, 31),
    "thanksgiving": days_of_year(11, 22, 30),
    "tet": days_of_year(1, 20, 22, 2),
}
PHRASES = {
    # from and to so many days from today
    "today|tonight|this (?:morning|afternoon|evening)|(?:hom|sang|trua|chieu|toi|dem) nay": (0, 0),
    "yesterday|last night|(?:hom|sang|trua|chieu|toi|dem) qua": (-1, -1),
    "(?:the )?day before yesterday|hom kia": (-2, -2),
    "(?:the )?other day|(?:hom|bua) (?:no|truoc)": (-7, -1),
    "tomorrow|(?:ngay|sang|trua|chieu|toi) mai": (1, 1),
    "(?:the )?day after tomorrow|ngay (?:kia|mot)": (2, 2),
}

SIDES: dict[str, Side] = {
    **dict.fromkeys(("since", "starting", "beginning", "as of", "ke tu", "tu"), "since"),
    "from": "from",
    **dict.fromkeys(("until", "till", "up to", "cho den", "cho toi", "den het", "den tan"), "until"),
    # "đến" is to arrive, too
    "den": "to",
    "by": "by",
    **dict.fromkeys(("before", "prior to", "truoc"), "before"),
    **dict.fromkeys(("after", "sau"), "after"),
}
"""What is said before a time, and on which side of it something then is."""

YEAR_LEADS = (
    # words of grammar: behind any other word a number may be part of its name
    "in", "of", "during", "since", "by", "until", "till", "before", "after", "between", "from", "to", "through",
    "throughout", "around", "about", "circa", "for", "into", "than", "early", "mid", "late", "the", "a",
    "this", "that", "my", "our", "your", "his", "her", "their", "its", "year", "years", "was", "is", "it's",
    "nam", "hoi", "tu", "den", "toi", "vao", "truoc", "sau", "trong", "khoang", "cuoi", "dau", "giua", "la",
)  # fmt: skip
"""What a year stands behind."""

DOUBTFUL = {"may", "march", "mar", "august", "april", "june", "jan", "spring", "fall"}
"""Months and seasons that are more often a verb, a name or a thing: they count where only a time stands."""


def one_of(words: Iterable[str]) -> str:
    """Return the pattern of any of these words."""
    # the longest first: "muoi hai" is not "muoi"
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)) + ")"


def number_of(word: str) -> tuple[int, int]:
    """Return the least and the most that a number may mean.

    >>> number_of("two"), number_of("few"), number_of("14")
    ((2, 2), (2, 5), (14, 14))
    """
    if word in _VAGUE:
        return _VAGUE[word]
    number = NUMBERS.get(word) or NUMBERS_VI.get(word) or int(word)
    return number, number
