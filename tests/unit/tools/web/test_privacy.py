"""What a query may not say about the user."""

from __future__ import annotations

import time

import pytest

from react_mem.memory.language.folding import fold
from react_mem.tools.web.privacy import MAX_QUERY_CHARS, outgoing

PROFILE = {
    "name": "Nguyễn Văn An",
    "email": "an.nguyen@example.com",
    "phone": "0901 234 567",
    "customer_id": "KH-20391",
    "address": "12 Nguyễn Trãi, Thanh Xuân, Hà Nội",
    "city": "Hà Nội",
    "favourite_food": "phở",
    "so_thich": "bóng đá",
    "wife": "Trần Thị Lan",
    "company": "Acme",
    "age": "34",
}


@pytest.mark.parametrize(
    ("question", "secret"),
    [
        ("Tin tức về Nguyễn Văn An ở Hà Nội", "an"),
        ("tin tức về nguyen van an ở Hà Nội", "nguyen"),
        ("What does An's employer Acme sell today?", "an"),
        ("newsletters that an.nguyen@example.com gets", "example"),
        ("complaints about bob@corp.example and its spam", "corp"),
        ("who delivers parcels to ０９０１２３４５６７ in Hue", "234"),
        ("who delivers parcels to +84 90 123 45 67 in Hue", "84"),
        ("order KH-20391 refund rules", "20391"),
        ("restaurants near 12 nguyen trai, thanh xuan, ha noi open today", "12"),
        ("visa 4111111111111111 declined in Paris", "4111"),
        ("căn cước 001099012345 hết hạn thì làm gì", "001099012345"),
        ("renew passport B1234567 in Hanoi", "b1234567"),
    ],
)
def test_who_the_user_is_does_not_leave(question: str, secret: str) -> None:
    sent = outgoing(question, PROFILE)
    assert secret in fold(question) or not question.isascii()
    assert secret not in fold(sent.text).replace("'", " ").split()
    assert secret not in fold(sent.text) or len(secret) < 4
    assert sent.text, "there is something left to search for"
    assert sent.taken
    assert not sent.private


@pytest.mark.parametrize(
    "question",
    [
        "Thời tiết Hà Nội hôm nay thế nào?",
        "Quán ăn ngon ở Hà Nội mở cửa hôm nay",
        "Giá nhà đường Nguyễn Văn Cừ hôm nay",
        "an apple a day: latest study",
        "Acme share price today",
        "What is 100000000000 VND in USD today?",
        "events on 2026-11-22 10:30 in Hue",
        "router 192.168.100.200 firmware",
        "Who is Ann Smith?",
    ],
)
def test_what_says_nothing_of_the_user_stays(question: str) -> None:
    sent = outgoing(question, PROFILE)
    assert (sent.text, sent.taken, sent.private) == (question, (), False)


@pytest.mark.parametrize(
    "question",
    [
        "Who is Nguyễn Văn An?",
        "who is nguyen van an",
        "số 0901 234 567 là của ai?",
        'search for "Nguyễn Văn An" chess tournament results',
    ],
)
def test_what_is_asked_for_itself_is_asked_as_it_is(question: str) -> None:
    sent = outgoing(question, PROFILE)
    assert sent.text == question
    assert sent.private, "and is known for private"


@pytest.mark.parametrize(
    "question",
    ["I am Nguyễn Văn An", "Nguyễn Văn An, today?"],
)
def test_what_is_empty_without_it_is_not_asked(question: str) -> None:
    assert outgoing(question, PROFILE).text == ""


def test_an_introduction_goes_with_the_name() -> None:
    assert outgoing("My name is Nguyễn Văn An. What is the news?", PROFILE).text == "What is the news?"
    assert outgoing("tôi là Nguyễn Văn An, giá vàng hôm nay?", PROFILE).text == "giá vàng hôm nay?"


def test_the_users_message_decides_not_what_a_model_makes_of_it() -> None:
    query = "Nguyễn Văn An 0901234567 flights"
    assert outgoing(query, PROFILE, asked="any cheap flights today?").text == "flights"
    asked_for_name = outgoing("Nguyen Van An 0901234567", PROFILE, asked="Who is Nguyễn Văn An?")
    assert (asked_for_name.text, asked_for_name.taken) == ("Nguyen Van An", ("number",))


def test_the_switch_leaves_all_in_and_says_that_it_is_private() -> None:
    question = "flights for Nguyễn Văn An"
    sent = outgoing(question, PROFILE, protect=False)
    assert (sent.text, sent.private) == (question, True)
    assert not outgoing("cheap flights", PROFILE, protect=False).private


def test_a_name_that_is_a_word() -> None:
    assert outgoing("Will it rain today?", {"name": "Will Smith"}).text == "Will it rain today?"
    assert outgoing("Was Will in Paris today?", {"name": "Will Smith"}).text == "Was in Paris today?"
    assert outgoing("Mình nên mua gì ở Huế?", {"name": "Minh"}).text == "Mình nên mua gì ở Huế?"
    assert outgoing("when does alice fly to Rome", {"name": "Alice"}).text == "when does fly to Rome"
    assert outgoing("when does alice fly to rome", {"name": "Alice Jones"}).text == "when does fly to rome"
    assert outgoing("who visits 田中太郎 in Tokyo", {"name": "田中太郎"}).text == "who visits in Tokyo"
    assert outgoing("tours with Ann and Bo in Rome", {"friends": "Ann, Bo"}).text == "tours with and in Rome"


def test_a_long_question_is_cut_where_a_sentence_ends() -> None:
    story = "We were walking by the lake. " * 40
    assert outgoing(f"{story}What is the gold price in Hue? {story}", {}).text == "What is the gold price in Hue?"
    assert 0 < len(outgoing("latest news " * 500, {}).text) <= MAX_QUERY_CHARS
    assert len(outgoing("x" * 10_000, {}).text) <= MAX_QUERY_CHARS
    started = time.process_time()
    for hostile in ("1 " * 5_000, "a@" * 5_000, "An " * 5_000, "0901-" * 5_000, "A" * 10_000, "(" * 10_000):
        outgoing(hostile, PROFILE)
    assert time.process_time() - started < 2


def test_odd_profiles_do_no_harm() -> None:
    odd = {"name": "", "phone": "n/a", "id": "1", "": "x", "email": "@", "notes": "likes An", "nickname": "." * 500}
    assert outgoing("An 1 n/a x latest news", odd).text == "An 1 n/a x latest news"
