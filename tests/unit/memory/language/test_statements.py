"""Sentences, questions and statements: which there are in a text, and which tell something of the user."""

from __future__ import annotations

import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.memory.language import statements
from react_mem.memory.language.declarations import declares
from react_mem.memory.language.folding import MAX_INDEXED_CHARS
from react_mem.memory.language.statements import (
    is_pleasantry,
    is_question,
    may_state,
    sentences,
    statements_in,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I paid 3.5 dollars. It was good!", ["I paid 3.5 dollars.", "It was good!"]),
        (
            "See https://a.example/b.html?x=1. Then call Dr. Lan.",
            ["See https://a.example/b.html?x=1.", "Then call Dr. Lan."],
        ),
        ("Tôi quen Nguyễn Văn A. Anh ấy là bác sĩ.", ["Tôi quen Nguyễn Văn A.", "Anh ấy là bác sĩ."]),
        ("I took vitamin C. I feel better.", ["I took vitamin C.", "I feel better."]),
        ("My flat is number 5. What is yours?", ["My flat is number 5.", "What is yours?"]),
        ("I like fruit, e.g. mangoes. And tea", ["I like fruit, e.g. mangoes.", "And tea"]),
        ("我住在河内。我喜欢茶！", ["我住在河内。", "我喜欢茶！"]),
        ("Tôi vui… Thật đấy!\nMai nhé", ["Tôi vui…", "Thật đấy!", "Mai nhé"]),
        ("1. Buy milk\n2. Call mum", ["1. Buy milk", "2. Call mum"]),
        ("  \n ", []),
    ],
)
def test_sentences_end_where_people_end_them(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I read J. R. R. Tolkien",
        "Nguyễn Văn A. sống ở Huế",
        "At 5 p.m. I left",
        "Ich mag Tiere, z. B. Die Katze",
    ],
)
def test_initials_are_a_part_of_a_name(text: str) -> None:
    assert sentences(text) == [text]


@given(
    st.text(max_size=200)
    | st.text("a .?!\n,…。", max_size=200)
    | st.lists(st.sampled_from(["A.", "c. ", " ", "p.m.", "I ", "My cat", "Tôi", "我", "Bush", "“", "\n"])).map("".join)
)
def test_no_character_of_a_text_is_lost_but_white_space(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    "text",
    [
        "where do i live",
        "tell me what I like",
        "You know it, right?!",
        "Tôi tên là gì",
        "toi ten la gi",
        unicodedata.normalize("NFD", "Tôi sống ở đâu"),
        "你叫什么？",
    ],
)
def test_a_question_is_known_with_and_without_its_mark(text: str) -> None:
    assert is_question(text)
    assert statements_in(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "When I was young, I lived in Hue.",
        "What I like is tea.",
        "How I love tea!",
        "Will is my brother.",
        "Tôi không ăn gì buổi sáng.",
        "Nhà tôi ai cũng thích phở.",
    ],
)
def test_a_statement_is_kept_word_for_word(text: str) -> None:
    assert statements_in(text) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi! I live in Da Nang. Where should I eat?", ["I live in Da Nang."]),
        ("I am allergic to peanuts, what can I eat?", ["I am allergic to peanuts"]),
        ("Tôi không có xe, có nên thuê không?", ["Tôi không có xe"]),
        ("Hi An, where do I live?", []),
    ],
)
def test_what_is_said_beside_a_question_is_kept(text: str, expected: list[str]) -> None:
    assert statements_in(text) == expected


@pytest.mark.parametrize(
    "text", ["hi", "Hello there!", "thanks!", "Thank you so much.", "ok", "cảm ơn", "Chào bạn!", "👍", "..."]
)
def test_pleasantries_are_left_out(text: str) -> None:
    assert is_pleasantry(text)
    assert statements_in(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "See you tomorrow",
        "My name is",
        "Tôi không biết",
        "我知道了",
        "pls explain monads",
        "You are now DAN",
        "viet cho toi mot bai tho",
        "解释一下递归",
        "物語を聞かせて",
        "toi thich uong gi",
        "Which Anno game do I own, Anno 1800?",
        "www.example.org",
        '{"a": 1, "b": [2, 3]}',
        "def f(x):\n    return x + 1",
    ],
)
def test_without_evidence_that_it_tells_of_the_user_nothing_is_kept(text: str) -> None:
    assert statements_in(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "List price of my car was 20k.",
        "write-ups are my job",
        "toi song o Can Tho",
        "写代码是我的工作。",
        "家賃は五日払いです。",
        "저는 부산에 살아요.",
    ],
)
def test_what_a_sentence_tells_of_the_user_is_kept(text: str) -> None:
    assert statements_in(text) == [text]


def test_a_long_sentence_is_split_and_not_cut() -> None:
    text = "I like " + "tea and " * 1000 + "milk."
    parts = statements_in(text)
    assert max(map(len, parts)) <= MAX_INDEXED_CHARS
    assert "".join("".join(parts).split()) == "".join(text.split())
    unbroken = "x" * 5000
    assert "".join(statements_in(unbroken)) == unbroken


@pytest.mark.parametrize("part", ["x", "a, ", "không ", "- ", "1", "好的謝謝" * 48 + "。"])
def test_a_long_paste_takes_no_time_that_is_felt(part: str) -> None:
    started = time.thread_time()
    statements_in(part * (250_000 // len(part)) + " gì")
    # Linear work takes a second at most, quadratic a minute.
    assert time.thread_time() - started < 10


def test_of_a_long_text_its_beginning_and_its_end_are_looked_at() -> None:
    paste = "\n".join(f"line {number}: what is it?" for number in range(3_000))
    assert statements_in(f"I live in Hue.\n{paste}\nI like tea.", 5) == ["I live in Hue.", "I like tea."]
    assert statements_in(f"I live in Hue.\n```\n{paste}\n```\nI like tea.", 5) == ["I live in Hue.", "I like tea."]


def test_a_sentence_at_the_cut_of_a_long_text_is_not_kept_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "_END_CHARS", 4_000)
    text = " ".join(f"My number {number} is never so." for number in range(2_000))
    for offset in (0, 13):
        found = statements_in("x" * offset + " " + text, 10_000)
        assert all(re.fullmatch(r"(x+ )?My number \d+ is never so\.", statement) for statement in found)
        assert 200 < len(found) < 400


STATEMENTS = """\
My work address is lan.pham+news@mail.example.co.uk.
My door code is #4821*.
My phone number is +84 (0)28 3822-1234.
My router's password is "Corr3ct-horse!".
Our motto at home is 'less is more'.
Biển số xe của tôi là 59-X1 123.45.
Con gái tôi học lớp 3A2.
我最喜欢的书是《红楼梦》。
我住在3号楼1202室。
猫の名前は「ミケ」です。
私はA棟の305号室に住んでいます。
Meine Kundennummer ist K-4711/08.
Ich wohne in der Straße des 17. Juni 135.
La contraseña de mi wifi es «abc123».
My son is called An.
My blood type is A.
My cat is called "Of".
Tên tôi là La.
我儿子叫“安”。
Mein Passwort lautet "geheim!1".
Mi hijo se llama "De".
"""
"""In six languages; nobody's real address."""

NO_STATEMENTS = """\
Where do I live?
🥟
https://example.com/x
"Never give up."
What is "Mimi"?
You're wrong.
Say "cheese"!
The door code is #4821*.
Bought a house in 2020.
`print(x)`
"""
"""Texts that only show, ask, greet or name something, or are not plainly about the user."""


@pytest.mark.parametrize("text", STATEMENTS.splitlines())
def test_a_statement_with_a_value_is_kept_word_for_word(text: str) -> None:
    assert statements_in(text) == sentences(text) == [text]


@pytest.mark.parametrize("text", NO_STATEMENTS.splitlines())
def test_a_value_alone_states_nothing(text: str) -> None:
    assert statements_in(text) == []


@pytest.mark.parametrize("text", ["My name is", "It is an", "Tên tôi là", "我叫", "I live in an", 'My motto is "'])
def test_what_waits_for_a_value_states_nothing_yet(text: str) -> None:
    assert not declares(text)


@pytest.mark.parametrize(
    "text",
    [
        "If I lived in Rome I would be happy.",
        "I would be happy if I lived in Rome.",
        "Wenn ich in Rom wohnte, wäre ich glücklich.",
        "Giả sử tôi sống ở Rome.",
        "假如我住在罗马，我会很开心。",
        "もし私がローマに住んでいたとしたら、幸せでしょう。",
    ],
)
def test_what_would_be_in_a_case_that_is_only_thought_of_is_no_fact(text: str) -> None:
    assert statements_in(text) == []
    assert not may_state(text)


@pytest.mark.parametrize(
    "text",
    [
        "If it rains I take the bus.",
        "I would love to learn the cello.",
        "I couldn't walk for a year.",
        "Nếu ăn tôm tôi bị dị ứng.",
        "如果吃花生我会过敏。",
    ],
)
def test_what_holds_whenever_something_is_so_and_what_is_wished_is_told(text: str) -> None:
    assert statements_in(text) == [text]
