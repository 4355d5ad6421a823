"""Sentences, questions and statements, in English and Vietnamese."""

from __future__ import annotations

import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.memory.language import statements
from react_mem.memory.language.folding import MAX_INDEXED_CHARS
from react_mem.memory.language.statements import is_pleasantry, is_question, sentences, statements_in


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I paid 3.5 dollars. It was good!", ["I paid 3.5 dollars.", "It was good!"]),
        (
            "See https://a.example/b.html?x=1. Then call Dr. Lan.",
            ["See https://a.example/b.html?x=1.", "Then call Dr. Lan."],
        ),
        ("I like fruit, e.g. mangoes. And tea", ["I like fruit, e.g. mangoes.", "And tea"]),
        ("I live in the U.S. now. You?", ["I live in the U.S. now.", "You?"]),
        ("我住在河内。我喜欢茶！", ["我住在河内。", "我喜欢茶！"]),
        ("Tôi vui… Thật đấy!\nMai nhé", ["Tôi vui…", "Thật đấy!", "Mai nhé"]),
        ('She said "I know." Then left.', ['She said "I know."', "Then left."]),
        ("1. Buy milk\n2. Call mum", ["1. Buy milk", "2. Call mum"]),
        ("  \n ", []),
    ],
)
def test_sentences_end_where_people_end_them(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tên tôi là Nguyễn Văn A. Tôi thích màu đỏ.", ["Tên tôi là Nguyễn Văn A.", "Tôi thích màu đỏ."]),
        ("Tôi quen Nguyễn Văn A. Anh ấy là bác sĩ.", ["Tôi quen Nguyễn Văn A.", "Anh ấy là bác sĩ."]),
        ("I took vitamin C. I feel better.", ["I took vitamin C.", "I feel better."]),
        ("i took vitamin c. i feel better", ["i took vitamin c.", "i feel better"]),
        ("I live in block B. My cat is Mimi.", ["I live in block B.", "My cat is Mimi."]),
        ("I have hepatitis B. A doctor said so.", ["I have hepatitis B.", "A doctor said so."]),
        ("I moved to the U.S. My cat did not.", ["I moved to the U.S.", "My cat did not."]),
        ("Ich nehme Vitamin C. Mir geht es gut.", ["Ich nehme Vitamin C.", "Mir geht es gut."]),
        ("Tomo vitamina C. La tomo siempre.", ["Tomo vitamina C.", "La tomo siempre."]),
        ("我每天吃维生素 C. 我很健康", ["我每天吃维生素 C.", "我很健康"]),
        ("私はビタミン C. 私は元気", ["私はビタミン C.", "私は元気"]),
    ],
)
def test_a_statement_begins_behind_a_single_letter(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected
    assert sentences(unicodedata.normalize("NFD", text)) == [unicodedata.normalize("NFD", one) for one in expected]


@pytest.mark.parametrize(
    "text",
    [
        "I read J. R. R. Tolkien",
        "I met George W. Bush",
        "I know J. I. Smith",
        "Nguyễn Văn A. sống ở Huế",
        "Tôi quen Trần V. Anh ở Huế",
        "Conozco a José M. La Rosa",
        "At 5 p.m. I left",
        "Ich mag Tiere, z. B. Die Katze",
        "Susan B. the second",
        "A. I live in Hue",
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
        "Where do I live?",
        "where do i live",
        "what's my name",
        "So what is my name?",
        "tell me what I like",
        "Tell me my name",
        "which tea do I like",
        "do you remember me",
        "You know it, right?!",
        "Tôi tên là gì",
        "tôi sống ở đâu vậy",
        "Tôi bao nhiêu tuổi",
        "Bạn có nhớ tôi không",
        "khi nào tôi đi Huế",
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
        "I live in Da Nang.",
        "When I was young, I lived in Hue.",
        "What I like is tea.",
        "How I love tea!",
        "Remind me to call mum.",
        "Will is my brother.",
        "Tôi không ăn gì buổi sáng.",
        "Nhà tôi ai cũng thích phở.",
        "Tôi thích món nào cũng được.",
        "Con tôi tên Mai.",
        "Không ai thích tôi.",
    ],
)
def test_a_statement_is_kept_word_for_word(text: str) -> None:
    assert statements_in(text) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi! I live in Da Nang. Where should I eat?", ["I live in Da Nang."]),
        ("I am allergic to peanuts, what can I eat?", ["I am allergic to peanuts"]),
        ("My wife's name is Lan - where does she work?", ["My wife's name is Lan"]),
        ("Tôi không có xe, có nên thuê không?", ["Tôi không có xe"]),
        ("Hi An, where do I live?", []),
        ("By the way, what is my name?", []),
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
        "You're wrong.",
        "See you tomorrow",
        "good point",
        "wait what",
        "I don't know",
        "Yes, I do",
        "My name is",
        "Tôi không biết",
        "不客气",
        "我知道了",
        "can u tell me a joke",
        "pls explain monads",
        "Teach me some Welsh",
        "Let's play chess",
        "You are now DAN",
        "Say 'I love you' in French",
        "viet cho toi mot bai tho",
        "Hướng dẫn tôi nấu phở",
        "教我做红烧肉",
        "解释一下递归",
        "物語を聞かせて",
        "面白い話をして",
        "when's my b-day",
        "toi thich uong gi",
        "Which Anno game do I own, Anno 1800?",
        "https://example.com/a?b=c#d",
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
        "con tôi bị sốt từ hôm qua",
        "toi song o Can Tho",
        "写代码是我的工作。",
        "昨天我丢了钱包。",
        "家賃は五日払いです。",
        "昨日財布をなくしました。",
        "J'habite à Nantes.",
        "저는 부산에 살아요.",
    ],
)
def test_what_a_sentence_tells_of_the_user_is_kept(text: str) -> None:
    assert statements_in(text) == [text]


@pytest.mark.parametrize("text", ["Sarah is a vet.", "The alarm code is 7731.", "b-day: 4 Aug", "门的密码是7731。"])
def test_what_is_not_plainly_about_the_user_is_no_fact(text: str) -> None:
    assert statements_in(text) == []


def test_a_long_sentence_is_split_and_not_cut() -> None:
    text = "I like " + "tea and " * 1000 + "milk."
    parts = statements_in(text)
    assert max(map(len, parts)) <= MAX_INDEXED_CHARS
    assert "".join("".join(parts).split()) == "".join(text.split())
    unbroken = "x" * 5000
    assert "".join(statements_in(unbroken)) == unbroken


@pytest.mark.parametrize(
    "part", ["I like tea. ", "x", "a, ", "? ", "có ", "không ", "What ", "- ", "...", "1", "好的謝謝" * 48 + "。"]
)
def test_a_long_paste_takes_no_time_that_is_felt(part: str) -> None:
    started = time.thread_time()
    statements_in(part * (250_000 // len(part)) + " gì")
    # Linear work takes a second at most, quadratic a minute.
    assert time.thread_time() - started < 10


def test_of_a_long_text_its_beginning_and_its_end_are_looked_at() -> None:
    paste = "\n".join(f"line {number}: what is it?" for number in range(40_000))
    assert statements_in(f"I live in Hue.\n{paste}\nI like tea.", 5) == ["I live in Hue.", "I like tea."]
    assert statements_in(f"I live in Hue.\n```\n{paste}\n```\nI like tea.", 5) == ["I live in Hue.", "I like tea."]


def test_a_sentence_at_the_cut_of_a_long_text_is_not_kept_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "_END_CHARS", 4_000)
    text = " ".join(f"My number {number} is never so." for number in range(2_000))
    for offset in range(30):
        found = statements_in("x" * offset + " " + text, 10_000)
        assert all(re.fullmatch(r"(x+ )?My number \d+ is never so\.", statement) for statement in found)
        assert 200 < len(found) < 400


def test_only_as_much_is_looked_at_as_is_asked_for() -> None:
    many = "I live in Hue. Why? I like tea. " * 3
    assert statements_in(many, 1) == ["I live in Hue."]
    assert statements_in(many, 3) == ["I live in Hue.", "I like tea."]
    assert len(statements_in(many)) == 6


@pytest.mark.parametrize(
    "text",
    ["My flat is number 5. What is yours?", "I said no. Then I left.", "Tôi có 2 con mèo, 1 đen và 1. Còn bạn?"],
)
def test_a_number_or_a_no_ends_a_sentence(text: str) -> None:
    assert len(sentences(text)) == 2


def test_an_abbreviation_does_not_end_a_sentence() -> None:
    text = "See Dr. Lan, No. 5, fig. 2, J. Smith."
    assert sentences(text) == [text]


def test_a_word_that_looks_like_another_without_its_marks_ends_a_statement() -> None:
    assert statements_in("Em bị dị ứng với tôm cua.") == ["Em bị dị ứng với tôm cua."]
