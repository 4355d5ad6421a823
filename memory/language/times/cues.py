"""Whether a question asks for a time, and whether a text tells one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from react_mem.memory.language.times.folding import MAX_QUESTION, for_times
from react_mem.memory.language.times.vocabulary import (
    DOUBTFUL,
    HOLIDAYS,
    MONTHS,
    MONTHS_VI,
    NUMBERS,
    NUMBERS_VI,
    SAID_WHICH_VI,
    WEEKDAYS,
    one_of,
)
from react_mem.memory.language.times.years import YEAR, is_year


def asks_when(question: str) -> bool:
    """Return whether a question asks for a time: a date, or how long something took.

    >>> asks_when("When did I move?"), asks_when("Tôi chuyển nhà khi nào?"), asks_when("What did I say when I moved?")
    (True, True, False)
    """
    return bool(_ASKS_WHEN.search(for_times(question[:MAX_QUESTION])))


def tells_when(text: str) -> bool:
    """Return whether a text has an expression of time in it: a date, "yesterday", "for three years".

    >>> tells_when("I moved last week"), tells_when("Hôm qua tôi đi bơi"), tells_when("I may move")
    (True, True, False)
    """
    folded = for_times(text)
    return bool(_TELLS_WHEN.search(folded)) or any(is_year(folded, year.start()) for year in _YEAR.finditer(folded))


_ASKS_WHEN = re.compile(
    # "When I moved, what did I say?" asks for something else
    r"\bwhen(?: (?:exactly|approximately|roughly|about|else|(?:in|on) \w+))?"
    r"(?:'s|'d| (?:did|do|does|was|were|is|are|am|will|would|has|have|had|should|can|could|might|to)\b)"
    r"|\b(?:since|until|till|by|know|remember|recall|tell (?:me|us)|sure|exactly) when\b|\bwhen ?(?:\?|$)"
    r"|^when (?:(?! (?:who|whom|what|where|which|how|why)\b)[^,?]){1,200}\?$"
    r"|\bhow (?:long|soon|recently)\b|\bhow many (?:minutes|hours|days|nights|weeks|weekends|months|years|decades)\b"
    r"|\b(?:what|which)(?:'s| is| was| were)?(?: the)?(?: (?:exact|specific|approximate))? "
    r"(?:date|day|weekday|week|weekend|month|season|year|decade|time)s?\b"
    r"|(?<!chua )(?<!khong )(?<!cu )(?<!ky )\b(?:khi nao|luc nao|bao gio|hoi nao)\b(?! cung\b)"
    r"|\b(?:ngay|hom|thu|tuan|thang|nam|mua|thoi diem|thoi gian) nao\b"
    r"|\bbao lau\b|\b(?:bao nhieu|may) (?:phut|gio|tieng|ngay|hom|tuan|thang|nam|lau)\b(?! (?:truoc|nay|qua|gan)\b)"
    # "thang máy" is a lift
    r"|\b(?:ngay|mung) may\b|\bthang may ?(?:\?|$)"
    r"|\b(?:ngay|nam) bao nhieu\b",
    re.ASCII,
)

_LONG_UNITS = "(?:day|night|week|weekend|month|year|decade)s?"
_NUMBERS_TOLD = set(NUMBERS) - {"a", "an", "couple"}  # "twice a week" tells no time
_DOUBTFUL_MONTHS = "(?:may|march|april|june|august)"
_TOLD = (
    *(rf"{day}s?\b" for day in WEEKDAYS),
    *(rf"{month}\b" for month in set(MONTHS) - DOUBTFUL),
    *(rf"{month}\.? (?:the )?\d" for month in DOUBTFUL - {"spring", "fall"}),
    *(
        rf"{word} (?:early |mid-?|late )?{_DOUBTFUL_MONTHS}\b"
        for word in ("since", "until", "by", "before", "after", "of")
    ),
    *(rf"{word}[ -]{_DOUBTFUL_MONTHS}\b" for word in ("early", "mid", "late")),
    *(
        rf"{word} (?:the )?(?:{_LONG_UNITS}|morning|afternoon|evening|spring|fall|mon|tue|wed|thu|fri|sat"
        rf"|{_DOUBTFUL_MONTHS})\b"
        for word in ("last", "next", "this", "past", "previous", "coming", "every", "each", "in", "during")
    ),
    *(rf"{word}\b" for word in ("yesterday", "today", "tonight", "tomorrow", "ago", "since", "recently", "lately")),
    *(rf"{word}\b" for word in ("nowadays", "the other day", "weekends?", "summer", "autumn", "winter", *HOLIDAYS)),
    *(
        rf"{count} {_LONG_UNITS}\b(?![ -]old)"
        for count in (*_NUMBERS_TOLD, "for a", "couple of", "few", "several", "many")
    ),
    rf"\d{{1,3}} {_LONG_UNITS}\b(?![ -]old)",
    r"(?:19|20)\d\d(?P<dash>[-/.])\d{1,2}(?P=dash)\d{1,2}\b",
    rf"\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_DOUBTFUL_MONTHS}\b",
    r"\d{1,2}(?:/\d{1,2}(?:/\d\d|\b)|[-.]\d{1,2}[-.](?:19|20)\d\d| ?[ap]m\b|:\d\d\b| gio\b)",
    *(rf"{time} (?:qua|nay|kia|mai|mot)\b" for time in ("hom", "sang", "trua", "chieu", "toi", "dem", "ngay")),
    *(rf"{unit}{SAID_WHICH_VI.replace('?P<which>', '?:')}" for unit in ("tuan", "thang", "nam", "cuoi tuan")),
    *(
        rf"{time} (?:thu (?:hai|ba|tu|nam|sau|bay|[2-7])\b|\d)"
        for time in ("vao", "hom", "ngay", "sang", "chieu", "toi")
    ),
    *(rf"{word}\b" for word in ("nam kia", "chu nhat", "cuoi tuan", "gan day", "vua roi", "dao nay", "ngay xua")),
    rf"thang (?:\d|{one_of(MONTHS_VI)}\b)",
    r"hoi (?:truoc|nho|xua)\b",
    r"luc \d",
    r"mua (?:he|thu|dong|xuan)\b",
    *(rf"{count} (?:ngay|hom|tuan|thang|nam)\b" for count in (r"\d{1,3}", "may", "vai", *NUMBERS_VI)),
)


def _sorted_by_letter(branches: Iterable[str]) -> str:
    # looking at a letter is cheaper than trying a branch: a text of 200 characters takes a third of the time
    of_letter: dict[str, list[str]] = {}
    for branch in branches:
        letter = branch[0] if branch[0].isalpha() else ""
        of_letter.setdefault(letter, []).append(branch[len(letter) :])
    return "|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in of_letter.items())


_YEAR = re.compile(rf"\b{YEAR}(?![.,]\d)", re.ASCII)
_TELLS_WHEN = re.compile(rf"\b(?:{_sorted_by_letter(_TOLD)})", re.ASCII)
