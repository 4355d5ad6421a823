"""Detection of questions for a time, and of texts that tell one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from react_mem.memory.language.times.spelling import MAX_QUESTION, for_times
from react_mem.memory.language.times.vocabulary import YEAR, questions, told
from react_mem.memory.language.times.years import is_year


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


_DIGITS = (
    r"(?:19|20)\d\d(?P<dash>[-/.])\d{1,2}(?P=dash)\d{1,2}\b",
    r"\d{1,2}(?:/\d{1,2}(?:/\d\d|\b)|[-.]\d{1,2}[-.](?:19|20)\d\d|:\d\d\b)",
)


def _sorted_by_letter(branches: Iterable[str]) -> str:
    # looking at a letter is cheaper than trying a branch: a text of 200 characters takes a third of the time
    of_letter: dict[str, list[str]] = {}
    for branch in branches:
        letter = branch[0] if branch[0].isalpha() else ""
        of_letter.setdefault(letter, []).append(branch[len(letter) :])
    return "|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in of_letter.items())


_ASKS_WHEN = re.compile("|".join(questions()) or "(?!)", re.ASCII)
_YEAR = re.compile(rf"\b{YEAR}(?![.,]\d)", re.ASCII)
_TELLS_WHEN = re.compile(rf"\b(?:{_sorted_by_letter((*told(), *_DIGITS))})", re.ASCII)
