"""The words for numbers: one table a language, for evidence and for dates."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest

from react_mem.memory.language import LANGUAGES
from react_mem.memory.language.hallucination import values
from react_mem.memory.language.times import named_periods
from react_mem.memory.language.times.vocabulary import number

NOW = datetime(2024, 5, 15, 12)
AGO = {"en": "{} days ago", "vi": "{} ngày trước", "zh": "{}天前", "ja": "{}日前"}
WORDS = [
    (one.code, word, value)
    for one in LANGUAGES
    for value, words in enumerate(one.number_words)
    for word in words
    if value and " " not in word
]


@pytest.mark.parametrize(("code", "word", "value"), WORDS)
def test_a_number_in_words_is_that_number(code: str, word: str, value: int) -> None:
    assert str(value) in values(word)


# "ひとつ" counts things, not days
@pytest.mark.parametrize(
    ("code", "word", "value"), [one for one in WORDS if one[0] in AGO and (one[0] != "ja" or len(one[1]) == 1)]
)
def test_so_many_days_ago_is_that_day(code: str, word: str, value: int) -> None:
    day = NOW.date() - timedelta(days=value)
    found = named_periods(AGO[code].format(word), NOW)
    assert [(one.start, one.end) for one in found] == [(day, day)]


def test_every_language_has_its_numbers() -> None:
    assert {one.code for one in LANGUAGES} == {code for code, _, _ in WORDS} >= set(AGO)
    assert all(len(one.number_words) >= 11 for one in LANGUAGES)


@pytest.mark.parametrize("count", ["2", "two", "ten", "twelve"])
def test_a_count_before_a_day_may_be_any_number(count: str) -> None:
    days = {"2": 2, "two": 2, "ten": 10, "twelve": 12}[count]
    (found,) = named_periods(f"What did I do {count} days before 24 December 2023?", NOW)
    assert found.start == date(2023, 12, 24) - timedelta(days=days)


def test_a_year_in_numerals_may_have_either_zero() -> None:
    assert number("二〇一九") == number("二零一九") == 2019
