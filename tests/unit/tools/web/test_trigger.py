"""When the words of a message send it to the web."""

from __future__ import annotations

import time
from datetime import datetime

import pytest

from react_mem.memory.language.folding import fold
from react_mem.tools.web.search import decide

NOW = datetime(2026, 5, 4)

SEARCH = [
    "What is the latest version of Python?",
    "What's the weather in Hanoi today?",
    "current exchange rate of USD to VND",
    "search for flights from Hanoi to Tokyo",
    "Tin tức mới nhất về bão số 3",
    "Thời tiết Đà Nẵng hôm nay thế nào?",
    "Tìm trên mạng giúp tôi công thức phở chay",
    "iPhone mới nhất là gì",
]

NO = [
    "What is my name?",
    "How old is my daughter?",
    "What did we discuss last week?",
    "Today I am tired.",
    "My current job is in Hue",
    "What time is it now?",
    "Please do not search the web: what is the latest Python?",
    "",
    "Hôm nay tôi mệt quá",
    "Tên tôi là gì?",
    "Bây giờ là mấy giờ?",
    "Đừng tìm trên mạng, giá vàng hôm nay bao nhiêu",
]

ASK = ["Who wrote Faust?", "What's the best phone I can buy today?", "Phở là gì?"]


@pytest.mark.parametrize("message", SEARCH)
def test_a_question_about_what_changes_is_searched_for(message: str) -> None:
    assert decide(message, now=NOW) == "search"


@pytest.mark.parametrize("message", NO)
def test_what_is_about_the_user_the_talk_or_the_clock_is_not(message: str) -> None:
    assert decide(message, now=NOW) == "no"


@pytest.mark.parametrize("message", ASK)
def test_what_words_do_not_decide_is_left_to_the_model(message: str) -> None:
    assert decide(message, now=NOW) == "ask"


@pytest.mark.parametrize("message", [message for message in SEARCH if not message.isascii()])
def test_without_diacritics_and_in_capitals_it_is_the_same_question(message: str) -> None:
    assert decide(fold(message), now=NOW) == decide(message.upper(), now=NOW) == "search"


def test_a_term_of_the_field_is_enough() -> None:
    message = "Điều kiện vay vốn Agribank"
    assert decide(message, now=NOW) == "ask"
    assert decide(message, now=NOW, domain_terms=("dieu kien VAY VỐN",)) == "search"
    assert decide(message, now=NOW, domain_terms=("vay", "", "...")) == "search"
    assert decide(message, now=NOW, domain_terms=("bank",)) == "ask", "a part of a word is not the word"
    assert decide("What is my loan at Agribank?", now=NOW, domain_terms=("Agribank",)) == "no"


def test_this_year_is_now_and_a_year_long_gone_is_not() -> None:
    assert decide("What are the rules for drones in 2026?", now=NOW) == "search"
    assert decide("What were the rules for drones in 1999?", now=NOW) == "ask"


def test_a_long_paste_is_read_at_its_ends_and_in_no_time() -> None:
    paste = "the latest news today what is " * 20_000
    started = time.perf_counter()
    assert decide("Fix the spelling of this text. " + "word " * 300 + paste + "word " * 300, now=NOW) == "ask"
    assert decide(paste, now=NOW) == "search"
    assert decide("what " * 50_000 + "my", now=NOW) in ("ask", "no")
    assert time.perf_counter() - started < 0.5
