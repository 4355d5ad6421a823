"""What a question says about time, and which texts tell a time: English and Vietnamese."""

from __future__ import annotations

import unicodedata
from datetime import date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from react_mem.memory.language.times import Period, asks_when, named_periods, tells_when

NOW = datetime(2024, 5, 15, 10)  # a Wednesday

JUNE_TOO = "Tháng sau tôi đi đâu?"  # next month; without diacritics "in June" too

ONE_PERIOD = [
    ("What happened on 7 May 2023?", "2023-05-07", "2023-05-07"),
    ("Where was I from May 5-10, 2023?", "2023-05-05", "2023-05-10"),
    ("What did I do on 2023-05-07?", "2023-05-07", "2023-05-07"),
    ("What did I do on 13/09/2022?", "2022-09-13", "2022-09-13"),
    ("Where was I during the summer of 2022?", "2022-06-01", "2022-08-31"),
    ("What did we hear in the 1990s?", "1990-01-01", "1999-12-31"),
    ("Where do I go next Christmas?", "2024-12-23", "2024-12-27"),
    ("What did I cook last week?", "2024-05-06", "2024-05-12"),
    ("What did I cook the year before last?", "2022-01-01", "2022-12-31"),
    ("What did I cook the day before yesterday?", "2024-05-13", "2024-05-13"),
    ("What did I cook two weeks ago?", "2024-04-29", "2024-05-05"),
    ("What did I cook in the past two weeks?", "2024-05-01", "2024-05-15"),
    ("Whom did I meet on Tuesday last week?", "2024-05-07", "2024-05-07"),
    ("What did I do in May last year?", "2023-05-01", "2023-05-31"),
    ("What did I do in mid-June 2023?", "2023-06-11", "2023-06-20"),
    ("What did I do at the end of last month?", "2024-04-21", "2024-04-30"),
    ("Where was I between May and July 2022?", "2022-05-01", "2022-07-31"),
    ("What happened the week before 9 June 2023?", "2023-06-02", "2023-06-08"),
    ("Where have I lived since 2021?", "2021-01-01", "2024-05-15"),
    ("Tháng 5 năm 2023 tôi làm gì?", "2023-05-01", "2023-05-31"),
    ("Ngày 7 tháng 5 năm 2023 tôi làm gì?", "2023-05-07", "2023-05-07"),
    ("Hè năm ngoái tôi đi đâu?", "2023-06-01", "2023-08-31"),
    ("Cuối tuần trước tôi nấu gì?", "2024-05-11", "2024-05-12"),
    ("Tối qua tôi nấu gì?", "2024-05-14", "2024-05-14"),
    (JUNE_TOO, "2024-06-01", "2024-06-30"),
    ("Năm năm trước tôi ở đâu?", "2019-01-01", "2019-12-31"),
    ("Thứ ba tuần trước tôi gặp ai?", "2024-05-07", "2024-05-07"),
    ("Cuối năm 2022 tôi ở đâu?", "2022-09-01", "2022-12-31"),
    ("Từ tháng 3 đến tháng 5 năm 2022 tôi ở đâu?", "2022-03-01", "2022-05-31"),
]


@pytest.mark.parametrize(("question", "start", "end"), ONE_PERIOD)
def test_a_period_that_is_named_in_any_case_and_without_diacritics(question: str, start: str, end: str) -> None:
    expected = (Period(date.fromisoformat(start), date.fromisoformat(end)),)
    decomposed = unicodedata.normalize("NFD", question)
    bare = "".join(c for c in decomposed if not unicodedata.combining(c)).replace("đ", "d").lower()
    for typed in (question, question.upper(), decomposed, *([bare] if question != JUNE_TOO else [])):
        assert named_periods(typed, NOW) == expected, typed


@pytest.mark.parametrize(
    ("question", "start", "years"),
    [
        ("What did I do in May?", (5, 1), range(2014, 2026)),
        ("What did I do on February 29?", (2, 29), (2016, 2020, 2024, 2028)),
        ("What did I do over Christmas?", (12, 23), range(2014, 2025)),
        ("Tháng sáu tôi làm gì?", (6, 1), range(2014, 2025)),
        ("thang 6 toi lam gi?", (6, 1), range(2014, 2025)),
    ],
)
def test_without_a_year_each_of_ten_years_and_the_next(question: str, start: tuple[int, int], years: range) -> None:
    assert [period.start for period in named_periods(question, NOW)] == [date(year, *start) for year in years]


def test_what_may_be_two_things_is_both() -> None:
    friday, june = named_periods("What is on Friday?", NOW), named_periods("thang sau toi di dau?", NOW)
    assert [period.start for period in friday] == [date(2024, 5, 10), date(2024, 5, 17)]
    assert {date(2023, 6, 1), date(2024, 6, 1)} <= {period.start for period in june}
    assert [str(period.start) for period in named_periods("on 5/7/2023", NOW)] == ["2023-05-07", "2023-07-05"]


def test_two_periods() -> None:
    periods = named_periods("Did I move in 2019 or in March 2021?", NOW)
    assert [period.start for period in periods] == [date(2019, 1, 1), date(2021, 3, 1)]


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("Where did I live before 2020?", 2009, 2019),
        ("Trước năm 2020 tôi sống ở đâu?", 2009, 2019),
        ("What came after May 7, 2023?", 2023, 2033),
        ("Sau ngày 7/5/2023 có gì?", 2023, 2033),
    ],
)
def test_before_or_after_a_date_is_some_years(question: str, start: int, end: int) -> None:
    (period,) = named_periods(question, NOW)
    assert (period.start.year, period.end.year) == (start, end)


@pytest.mark.parametrize(
    ("question", "years"),
    [
        ("My grandmother was born in 1945, what do I like?", [1945]),
        ("Did I play Cyberpunk 2077 in 2021?", [2021]),
        ("Was it in 2019, 2020 or 2021?", [2019, 2020, 2021]),
        ("Tết 2019 tôi ở đâu?", [2019]),
        ("Từ 2019 tôi ở đâu, hồi 2020 tôi ở đâu?", [2019, 2020]),
        ("Năm 2020 tôi mua Windows 2000 ở đâu?", [2020]),
    ],
)
def test_a_year_stands_behind_a_word_of_grammar(question: str, years: list[int]) -> None:
    assert [period.start.year for period in named_periods(question, NOW)] == years


def test_before_a_month_without_a_year_does_not_cover_everything() -> None:
    days = [(period.end - period.start).days for period in named_periods("What did I do before May?", NOW)]
    assert len(days) > 5
    assert max(days) < 200


@pytest.mark.parametrize(
    "question",
    [
        "",
        "What is my dog's name?",
        "May I go?",
        "Do I like to march?",
        "What did April say to June?",
        "He sat in the sun, and I sat with him",
        "How do I eat 2000 calories?",
        "Is the ratio 3/4?",
        "Lần thứ ba tôi thử là gì?",
        "Ba tôi tên gì?",
        "Do I own Cyberpunk 2077?",
        "Which Windows 2000 or 2003 server do I run?",
        "Tôi có Cyberpunk 2077 không?",
    ],
)
def test_nothing_named(question: str) -> None:
    assert named_periods(question, NOW) == ()


@pytest.mark.parametrize(
    "question",
    [
        "When did I move?",
        "Since when do I run?",
        "How many years have I worked there?",
        "What's the date of the exam?",
        "Tôi chuyển nhà khi nào?",
        "Tôi sống ở đây bao lâu rồi?",
        "toi chuyen nha khi nao",
        "Sinh nhật tôi tháng mấy?",
    ],
)
def test_asks_when(question: str) -> None:
    assert asks_when(question)
    assert asks_when(question.upper())


@pytest.mark.parametrize(
    "question",
    [
        "",
        "Where do I live?",
        "When I moved, who helped me?",
        "What did I say when I moved?",
        "Tôi lúc nào cũng uống gì?",
        "Thang máy ở đâu?",
    ],
)
def test_does_not_ask_when(question: str) -> None:
    assert not asks_when(question)


@pytest.mark.parametrize(
    "text",
    [
        "I moved on 2023-05-07.",
        "We met in May.",
        "See you Monday!",
        "That was years ago.",
        "I have lived here for three years.",
        "It began in 1998.",
        "I get up at 07:30.",
        "Hôm qua tôi đi bơi.",
        "nam ngoai toi o Hue",
        "Hồi tháng ba tôi ốm.",
        "Tôi sống ở đây ba năm rồi.",
        "Tôi dậy lúc 6 giờ.",
        "Chủ nhật tôi nghỉ.",
    ],
)
def test_tells_when(text: str) -> None:
    assert tells_when(text)
    assert tells_when(text.upper())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I like green tea.",
        "I may march with you.",
        "My daughter is three years old.",
        "April is my best friend.",
        "He sat in the sun.",
        "It cost 2000.50.",
        "I train twice a week.",
        "Tôi thích màu xanh.",
        "Ba tôi là bác sĩ.",
        "Tôi qua nhà bạn chơi.",
        "I play Cyberpunk 2077 on my PS5.",
        "Tôi chơi Cyberpunk 2077.",
    ],
)
def test_does_not_tell_when(text: str) -> None:
    assert not tells_when(text)


WORDS = """
in on the of last next this past before after since until from to and between week year may March june 7 7th 31 2023
1999 2023-05-07 7/5 7/5/2023 two few a weeks months years decades ago back weekend Tuesday sun early late mid end
summer winter Christmas tomorrow when how long tháng năm ngày tuần trước sau sáu hè mùa thứ ba hai qua nữa tới ngoái
kia cuối đầu giữa từ đến tết thang nam truoc 29 february 9999 - , ? ’
"""
phrases = st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join)
times = st.datetimes()


@settings(max_examples=50)
@given(st.one_of(st.text(), phrases), times)
def test_any_text_at_any_time_is_read(text: str, now: datetime) -> None:
    periods = named_periods(text, now)
    assert all(period.start <= period.end for period in periods)
    assert list(periods) == sorted(set(periods))
    assert asks_when(text) in (True, False)
    assert tells_when(text) in (True, False)


def test_a_text_that_names_many_periods_is_read_for_the_first_few() -> None:
    every_day = ", ".join(f"on {day} May 2023" for day in range(1, 32))
    assert named_periods(every_day, NOW)[0].start == date(2023, 5, 1)
    assert len(named_periods(every_day, NOW)) < 10


@pytest.mark.parametrize("piece", ["may 5 ", "1/", "tháng ", "2023-", "the "])
def test_a_huge_question_is_read_as_far_as_it_can_be_a_question(piece: str) -> None:
    # what takes more than linear time does not end within the time of a test
    huge = piece * 100_000
    assert len(named_periods(huge + " in 2021", NOW)) < 100
    assert named_periods("in 2021 " + "word " * 100_000 + "in 2019", NOW) == named_periods("in 2021", NOW)
    assert not asks_when(huge + " when did I move?")


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("我上周做了什么？", "2024-05-06", "2024-05-12"),
        ("我去年三月在哪里？", "2023-03-01", "2023-03-31"),
        ("我上個月5號去了哪裡？", "2024-04-05", "2024-04-05"),
        ("先週の火曜日に誰に会った？", "2024-05-07", "2024-05-07"),
        ("二日前に何をした？", "2024-05-13", "2024-05-13"),
        ("2022年3月はどこにいた？", "2022-03-01", "2022-03-31"),
        ("What did I do on the 24th of last month?", "2024-04-24", "2024-04-24"),
        ("Ngày 24 tháng trước tôi làm gì?", "2024-04-24", "2024-04-24"),
    ],
)
def test_a_period_in_a_script_without_spaces_or_a_day_of_a_month(question: str, start: str, end: str) -> None:
    assert named_periods(question, NOW) == (Period(date.fromisoformat(start), date.fromisoformat(end)),)
