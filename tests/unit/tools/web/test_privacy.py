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
        ("TIN MỚI VỀ NGUYEN VAN AN Ở HÀ NỘI", "nguyen"),
        ("What does An's employer Acme sell today?", "an"),
        ("latest reviews of the clinic where Lan works", "lan"),
        ("gia vang hom nay, toi la nguyen van an", "nguyen"),
        ("I'm Nguyễn Văn An, what is the gold price?", "nguyen"),
        ("newsletters that an.nguyen@example.com gets", "example"),
        ("AN.NGUYEN@EXAMPLE.COM breach in Hanoi", "example"),
        ("complaints about bob@corp.example and its spam", "corp"),
        ("who delivers parcels to 0901234567 in Hue", "0901"),
        ("who delivers parcels to 0901.234.567 in Hue", "0901"),
        ("who delivers parcels to ０９０１２３４５６７ in Hue", "234"),
        ("who delivers parcels to +84 90 123 45 67 in Hue", "84"),
        ("is (212) 555-0123 a hotel in New York", "555"),
        ("is 1-212-555-0123 a hotel in New York", "212"),
        ("order KH-20391 refund rules", "20391"),
        ("order kh 20391 refund rules", "20391"),
        ("restaurants near 12 Nguyễn Trãi open today", "12"),
        ("restaurants near 12 nguyen trai, thanh xuan, ha noi open today", "12"),
        ("visa 4111 1111 1111 1111 declined in Paris", "4111"),
        ("visa 4111-1111-1111-1111 declined in Paris", "4111"),
        ("visa 4111111111111111 declined in Paris", "4111"),
        ("căn cước 001099012345 hết hạn thì làm gì", "001099012345"),
        ("renew passport B1234567 in Hanoi", "b1234567"),
        ("ssn 123-45-6789 leaked in the breach", "6789"),
        ("bank of DE89 3704 0044 0532 0130 00 opening hours", "3704"),
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
        "lần này làn đường nào bị cấm",
        "Giá nhà đường Nguyễn Văn Cừ hôm nay",
        "Lịch sử Trần Hưng Đạo",
        "an apple a day: latest study",
        "An apple a day: latest study",
        "Acme share price today",
        "công thức phở bò",
        "kết quả bóng đá hôm nay",
        "What is 100000000000 VND in USD today?",
        "1.000.000.000 đồng đổi ra đô la",
        "events on 2026-11-22 10:30 in Hue",
        "events on 22/11/2026 08:00 in Hue",
        "What changed in Python 3.14.1592 and 0.123456789?",
        "router 192.168.100.200 firmware",
        "ISBN 9780306406157 price",
        "Who is Ann Smith?",
        "best phones of 2026 under 34 million",
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
        "Nguyễn Văn An là ai?",
        "latest news about Nguyen Van An",
        "Search the web for Nguyễn Văn An",
        "tìm Nguyễn Văn An trên mạng",
        "số 0901 234 567 là của ai?",
        "whose number is 0901234567",
        "0901234567",
        'search for "Nguyễn Văn An" chess tournament results',
        "tìm “Nguyễn Văn An” giải cờ vua",
    ],
)
def test_what_is_asked_for_itself_is_asked_as_it_is(question: str) -> None:
    sent = outgoing(question, PROFILE)
    assert sent.text == question
    assert sent.private, "and is known for private"


@pytest.mark.parametrize(
    "question",
    ["I am Nguyễn Văn An", "My name is Nguyễn Văn An", "0901234567 an.nguyen@example.com", "Nguyễn Văn An, today?"],
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
    started = time.perf_counter()
    for hostile in ("1 " * 50_000, "a@" * 50_000, "An " * 50_000, "0901-" * 50_000, "A" * 100_000, "(" * 100_000):
        outgoing(hostile, PROFILE)
    assert time.perf_counter() - started < 2


def test_odd_profiles_do_no_harm() -> None:
    odd = {"name": "", "phone": "n/a", "id": "1", "": "x", "email": "@", "notes": "likes An", "nickname": "." * 500}
    assert outgoing("An 1 n/a x latest news", odd).text == "An 1 n/a x latest news"
