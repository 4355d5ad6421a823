"""The user's words are cut into clauses: every word once, in order, within a bound, in any script."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from react_mem.memory.language.clauses import MAX_CLAUSE, cut, joined
from react_mem.memory.language.line_breaks import unwrapped

PIECES = [
    *("I live in Hue", "tôi ăn chay", "我对花生过敏", "who is a nurse", "which car should I buy", "Dr. Lan", "3.5"),
    *("x" * 450, "é" * 90, "漢" * 900, ",", ", ", "、", "；", ":", " - ", "—", ".", "...", "。", "?", "？", "\n", "\t"),
    *("\r\n", "\u2028", "\x1c", "\x85", "\u3000", " ", '"', "”", "(", "\ud800", "🦀", "\u0301"),
    *("\n", " " * 201),
]
TEXTS = st.text(max_size=200) | st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=25).map("".join)


def black(text: str) -> str:
    """Return a text without white space."""
    return "".join(letter for letter in text if not letter.isspace())


@example(", ")
@example(f"I live in Hue{' ' * 8_000}\nmy cat is called Mimi")
@example("a" * 401 + " b")
@example("One, two three four five, six seven eight nine.")
@given(TEXTS)
def test_every_character_but_white_space_is_in_one_clause_and_in_order(text: str) -> None:
    clauses = cut(text)
    assert black("".join(clause.text for clause in clauses)) == black(text)
    assert all(clause.text.strip() == clause.text != "" for clause in clauses)
    assert all(clause.text in unwrapped(text) for clause in clauses)
    assert max((len(clause.text) for clause in clauses), default=0) <= MAX_CLAUSE
    numbers = [clause.sentence for clause in clauses]
    assert numbers == sorted(numbers)


@given(TEXTS)
def test_neighbours_are_put_together_as_they_were_written(text: str) -> None:
    text = unwrapped(text)
    clauses = cut(text)
    assert joined(clauses).split() == text.split()
    for one, other in pairwise(clauses):
        both = joined([one, other])
        # but for the kind of white space
        assert both.split() == [*one.text.split(), *other.text.split()] or both in text


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("I'm An, a nurse, and I have two cats.", ["I'm An,", "a nurse,", "and I have two cats."]),
        ("full lương luôn 🥳 viết giúp em câu cảm ơn", ["full lương luôn 🥳", "viết giúp em câu cảm ơn"]),
        (
            "married to a rockstar =)))) just kidding, I sell cars",
            ["married to a rockstar =))))", "just kidding,", "I sell cars"],
        ),
        ("我上个月搬到了河内，现在在一家医院工作。", ["我上个月搬到了河内，", "现在在一家医院工作。"]),
        ("Tôi sống ở Đà Nẵng; tôi làm việc ở bệnh viện.", ["Tôi sống ở Đà Nẵng;", "tôi làm việc ở bệnh viện."]),
        (
            "Ich wohne jetzt in Köln, und mein Bruder hat ein Boot.",
            ["Ich wohne jetzt in Köln,", "und mein Bruder hat ein Boot."],
        ),
    ],
)
def test_a_sentence_is_cut_where_both_sides_say_something(text: str, clauses: list[str]) -> None:
    assert [clause.text for clause in cut(text)] == clauses


@pytest.mark.parametrize(
    "text",
    [
        "My cat 😊 is called Mimi",
        "Is your favourite 🍕 Pizza Margherita?",
        "I love 🍕 the most",
        "I go Hue → Hanoi every week",
        "Mein Hund 🐕 heißt Rex",
        "我的猫🐈叫咪咪",
        "고양이 🐈 이름은 미미입니다",
    ],
)
def test_a_symbol_inside_a_clause_does_not_end_it(text: str) -> None:
    assert [clause.text for clause in cut(text)] == [text]


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("Just moved to Hanoi 😊 I love it here", ["Just moved to Hanoi 😊", "I love it here"]),
        ("I got a cat 🐈 what should I feed her", ["I got a cat 🐈", "what should I feed her"]),
        ("We moved to Hue last week 🎉 job starts monday", ["We moved to Hue last week 🎉", "job starts monday"]),
        ("我搬家了😊现在在医院工作", ["我搬家了😊", "现在在医院工作"]),
        ("Ich hab vier Völker 🐝 Wann schleudert man Raps?", ["Ich hab vier Völker 🐝", "Wann schleudert man Raps?"]),
        ("休日は銭湯めぐり♨️ 文旦ってどう剥くのが正解？", ["休日は銭湯めぐり♨️", "文旦ってどう剥くのが正解？"]),
    ],
)
def test_a_symbol_ends_a_clause_where_another_one_begins(text: str, clauses: list[str]) -> None:
    assert [clause.text for clause in cut(text)] == clauses


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("As I'm lactose intolerant, which latte should I take?", [False, True]),
        ("¿Dónde vivo yo ahora? Vivo en Lima.", [True, False]),
        ("I am really so very bored, should I move to Berlin", [False, False]),
        ("My neighbour from downstairs, who is a locksmith, lent me a ladder.", [False, False, False]),
        ("My son is in the garden, who is the tall boy?", [False, True]),
        ('She asked me: "Are you at home now?"', [False, True]),
    ],
)
def test_only_the_clause_that_asks_is_a_question(text: str, asks: list[bool]) -> None:
    assert [clause.asks for clause in cut(text)] == asks


def test_a_long_text_of_joints_is_cut_whole() -> None:
    for piece in ("a, ", " - ", "一，"):
        long = piece * (15_000 // len(piece))
        assert black("".join(clause.text for clause in cut(long))) == black(long)
