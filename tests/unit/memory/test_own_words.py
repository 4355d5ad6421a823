"""What a user shows rather than says is set apart by structure, in every language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.own_words import own_words
from memory.statements import statements

FORWARDED = "---------- Forwarded message ---------\nFrom: Bob <bob@example.com>\nSubject: hi\n\nI live in Rome."
MAIL_VI = "-----Thư gốc-----\nTừ: Bình\nGửi: An\n\nTôi sống ở Huế."
MAIL_ZH = "----- 原始邮件 -----\n发件人: 小李\n收件人: 我\n\n我住在罗马。"

SHOWN = [
    "```\nI live in Rome.\n```",
    "~~~text\nI live in Rome.\n~~~",
    "```\nI live in Rome.",
    "> I live in Rome.\n> I love it.",
    "“I live in Rome. I have two cats.”",
    '"I live in Rome.\nI have two cats."',
    "“我住在罗马。我有两只猫。”",
    "「ローマに住んでいます。猫が二匹います。」",
    "<html><body><p>I live in Rome.</p></body></html>",
    FORWARDED,
    MAIL_VI,
    MAIL_ZH,
]


@pytest.mark.parametrize("shown", SHOWN)
def test_what_is_shown_is_not_said(shown: str) -> None:
    text = f"I keep bees in Hue.\n{shown}"
    assert own_words(text).split() == ["I", "keep", "bees", "in", "Hue."]
    assert statements(text) == ["I keep bees in Hue."]


@pytest.mark.parametrize(
    "text",
    [
        'My dog\'s name is “Rex”, and I call my cat "The Queen of Sheba".',
        "My motto is “Never give up on the people that you love”.",
        "3 > 2, and I like a <b>bold</b> tea.",
        "I live at: Rome\nI work at: FPT",
        "---\nI live in Rome.",
        "我最喜欢的书是《红楼梦》，还有“平凡的世界”。",
    ],
)
def test_what_is_said_stays(text: str) -> None:
    assert own_words(text) == text


@given(st.text(max_size=300), st.sampled_from(SHOWN), st.text(alphabet=st.characters(codec="ascii"), max_size=50))
def test_nothing_is_added(before: str, shown: str, after: str) -> None:
    text = f"{before}\n{shown}\n{after}"
    left = iter(text)
    # what is left is in the text, in its order, but for the line breaks
    assert all(char in left for char in own_words(text) if char != "\n")
