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
    "latest iPhone price",
    "Who won the election this year?",
    "What's the weather in Hanoi today?",
    "weather in Hanoi tomorrow, what is it like? any news?",
    "current exchange rate of USD to VND",
    "What is the current population of Japan?",
    "any news on the Artemis mission",
    "How much is a Tesla Model 3 right now?",
    "Tell me the latest news about OpenAI",
    "search for flights from Hanoi to Tokyo",
    "Look up the opening hours of the Louvre",
    "Can you search the web for vegan pho recipes?",
    "search the internet for my company's reviews",
    "Who is the president of France in 2026?",
    "Can you tell me the latest news?",
    "Tin tức mới nhất về bão số 3",
    "giá vàng hôm nay bao nhiêu",
    "Thời tiết Đà Nẵng hôm nay thế nào?",
    "Thủ tướng Nhật hiện nay là ai?",
    "Tìm trên mạng giúp tôi công thức phở chay",
    "tra cứu luật đất đai",
    "cho tôi biết tỷ giá đô la hôm nay",
    "iPhone mới nhất là gì",
    "kết quả bóng đá tối nay thế nào",
]

NO = [
    "What is my name?",
    "What's my name today?",
    "what is my current address?",
    "How old is my daughter?",
    "What was the name of my first dog?",
    "When is my next appointment today?",
    "Who am I?",
    "What do you know about me?",
    "Do you remember what I said today?",
    "What did I tell you about the latest plan?",
    "What did we discuss last week?",
    "Where did I park today?",
    "Did you say the latest version is good?",
    "Remember that today is my wedding anniversary.",
    "Today I am tired",
    "Today I am tired.",
    "I finished my latest project this week",
    "We moved to a new flat this month.",
    "My current job is in Hue",
    "How are you today?",
    "Who are you?",
    "What is your name?",
    "What time is it now?",
    "What is the date today?",
    "what day is it today",
    "Please do not search the web: what is the latest Python?",
    "don't google it, who is the current pope?",
    "Thanks!",
    "ok",
    "",
    "   ",
    "?!",
    "Hôm nay tôi mệt quá",
    "hom nay toi met qua",
    "Tên tôi là gì?",
    "Tôi tên gì nhỉ",
    "Số điện thoại hiện tại của tôi là gì?",
    "Bạn có nhớ hôm nay tôi nói gì không?",
    "Tôi thích màu gì?",
    "Tôi đã nói gì về dự án mới nhất?",
    "Bạn là ai?",
    "Bây giờ là mấy giờ?",
    "Hôm nay là thứ mấy?",
    "Đừng tìm trên mạng, giá vàng hôm nay bao nhiêu",
    "Cuộc trò chuyện hôm nay nói về gì?",
]

ASK = [
    "Who wrote Faust?",
    "Compare the iPhone 17 with the Pixel 10",
    "What's the best phone I can buy today?",
    "Should I wear a coat today?",
    "Write a poem about rivers",
    "Where can I sell my car?",
    "Phở là gì?",
    "Viết một bài thơ về mùa thu",
]


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


def test_the_threshold_says_how_much_it_takes() -> None:
    assert decide("What is the weather in Hue today?", now=NOW, threshold=2) == "ask"
    assert decide("Who wrote Faust?", now=NOW, threshold=0.5) == "search"
    assert decide("What is my name?", now=NOW, threshold=0) == "no"
    assert decide("Write a poem about rivers", now=NOW, threshold=0) == "search"


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
