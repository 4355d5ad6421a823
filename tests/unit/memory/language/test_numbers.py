"""The words for numbers: one table a language, for evidence and for dates."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from react_mem.memory.language import LANGUAGES
from react_mem.memory.language.hallucination import values
from react_mem.memory.language.times import named_periods

NOW = datetime(2024, 5, 15, 12)
AGO = {"en": "{} days ago", "vi": "{} ngày trước", "zh": "{}天前", "ja": "{}日前"}


def test_every_number_word_of_every_language_is_that_number_and_that_many_days() -> None:
    for language in LANGUAGES:
        assert len(language.number_words) >= 11
        for value, words in enumerate(language.number_words):
            for word in words:
                if not value or " " in word:
                    continue
                assert str(value) in values(word)
                # "ひとつ" counts things, not days
                if language.code in AGO and (language.code != "ja" or len(word) == 1):
                    day = NOW.date() - timedelta(days=value)
                    found = named_periods(AGO[language.code].format(word), NOW)
                    assert [(one.start, one.end) for one in found] == [(day, day)]


def test_a_count_before_a_day_may_be_any_number() -> None:
    for count, days in {"2": 2, "twelve": 12}.items():
        (found,) = named_periods(f"What did I do {count} days before 24 December 2023?", NOW)
        assert found.start == date(2023, 12, 24) - timedelta(days=days)


def test_a_year_in_numerals_may_have_either_zero() -> None:
    (one,), (other,) = named_periods("我二〇一九年做了什么？", NOW), named_periods("我二零一九年做了什么？", NOW)
    assert one == other
    assert one.start.year == 2019
