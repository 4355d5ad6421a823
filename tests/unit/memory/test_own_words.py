"""What a user shows rather than says is set apart by structure, in every language."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from react_mem.memory.language import shown_parts
from react_mem.memory.language.own_words import own_words_in, parts
from react_mem.memory.language.statements import statements_in

FORWARDED = "---------- Forwarded message ---------\nFrom: Bob <bob@example.com>\nSubject: hi\n\nI live in Rome."
MAIL_VI = "-----Thư gốc-----\nTừ: Bình\nGửi: An\n\nTôi sống ở Huế."
MAIL_ZH = "----- 原始邮件 -----\n发件人: 小李\n收件人: 我\n\n我住在罗马。"
MAIL_JA = "差出人： Bob <bob@example.com>\n日時：2026年3月3日 10:00\n件名：猫\n\nローマに住んでいます。"
MAIL_DE = (
    "Von: Bob <bob@example.com>\nGesendet: Dienstag, 3. März 2026 10:00\nAn: An\n <an@example.com>\n\nIch lebe in Rom."
)
MAIL_BOLD = "*From:* Bob <bob@example.com>\n*Sent:* Tuesday 10:00\n*To:* An <an@example.com>\n\nI live in Rome."
WRAPPED = (
    "> I have lived in Rome since I was a child and I have always loved all of the\nold streets of it\n> and the cats."
)

SHOWN = [
    "```\nI live in Rome.\n```",
    "~~~text\nI live in Rome.\n~~~",
    "```\nI live in Rome.",
    "1. ```sh\n   I live in Rome.\n   ```",
    "```I live in Rome. I have two cats.```",
    "`I live in Rome. I have two cats.`",
    "```\nA page\n```python\nx = 1\n```\nI live in Rome.\n```",
    "````\n```\nI live in Rome.\n````",
    "> I live in Rome.\n> I love it.",
    "＞ローマに住んでいます。",
    WRAPPED,
    "“He says “I live in Rome” and smiles. He has two cats.”",
    "“I live in Rome.\n\n“I have two cats.”",
    "‘I live in Rome. It’s nice.’",
    '"He says "I live in Rome" and smiles. He has two cats."',
    "»Ich lebe in Rom. Ich habe Katzen.«",
    "「ローマに住んでいます。猫が二匹います。」",
    f"“{'I live in Rome and ' * 12}so on”",
    "<html><body><p>I live in Rome.</p></body></html>",
    '<div\n class="x">I live in Rome. <p>I have two cats.<br>And a dog.',
    FORWARDED,
    MAIL_VI,
    MAIL_ZH,
    MAIL_JA,
    MAIL_DE,
    MAIL_BOLD,
    "On Mon, 3 Mar 2026 at 10:00, Bob Smith\n<bob@example.com> wrote:\n> I live in Rome.",
    "Bob <bob@example.com> 于2026年3月3日周二 10:00写道：\n\n我住在罗马。",
    "Le 3 mars 2026 à 10:00, Bob <bob@example.com> a écrit :\n\nJ'habite à Rome.",
]


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\u2028"])
def test_what_is_shown_is_not_said(shown: str, line_break: str) -> None:
    text = f"I keep bees in Hue.\n{shown}".replace("\n", line_break)
    assert own_words_in(text).split() == ["I", "keep", "bees", "in", "Hue."]
    assert statements_in(text) == ["I keep bees in Hue."]


CLOSED = [
    "```\nI live in Rome.\n```\n",
    "```I live in Rome``` ",
    "> I live in Rome.\n\n",
    f"{WRAPPED}\n",
    "“I live in Rome. I have two cats.” ",
    "<p>I live in Rome.</p><p>I have two cats.</p>\n",
    "On Mon, 3 Mar 2026 at 10:00, Bob <bob@example.com> wrote:\n> I live in Rome.\n",
]


@pytest.mark.parametrize("shown", CLOSED)
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_what_follows_it_is_said(shown: str, line_break: str) -> None:
    said = own_words_in(f"{shown}I keep bees in Hue.".replace("\n", line_break))
    assert said.strip().endswith("I keep bees in Hue.")
    assert "Rome" not in said


@pytest.mark.parametrize(
    "text",
    [
        'My dog\'s name is “Rex”, and I call my cat "The Queen of Sheba".',
        "My films are “Mr. & Mrs. Smith” and “Dr. No”.",
        "3 > 2, and I like a <b>bold</b> tea, <i>cold</i> ones too.",
        "Mail me: <bob@example.com>, <an@example.com> or <chi@example.com>.",
        'My table is 30" wide. My parents’ house is 5\'10" high, I\'d say. It is 27" deep.',
        "I live at: Rome\nI work at: FPT",
        # without a colon a line announces what stands behind a blank line
        "Please translate this\nI live in Rome.",
        "Name: An\nMail: an@example.com\nCity: Rome",
        "I use ``` for code, always.",
        "“I never closed this. I live in Rome.",
        "---\nI live in Rome.",
        "我最喜欢的书是《红楼梦》，还有“平凡的世界”。",
    ],
)
def test_what_is_said_stays(text: str) -> None:
    assert own_words_in(text) == text


MARKS = ["\n", "\r\n", "\r", " ", "`", "```", "~~~", ">", '"', "“", "”", "„", "«", "<p>", "---"]
PIECES = [*SHOWN, *CLOSED, *MARKS, "I keep bees."]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12).map("".join))
def test_the_parts_of_a_message_are_the_message(text: str) -> None:
    found = parts(text)
    assert "".join(part.text for part in found) == text
    assert all(part.text for part in found)
    assert all(one.shown is not other.shown for one, other in pairwise(found))


NASTY = [
    *("`", "```\n", "``` a\n", "~~~ ", "> a\n", '"', ' "a" ', "“a.\n", "„«", "‘a", "<a ", "<p>", "<a@b.c>:\n", "(a@"),
    *("---\n", "---\na: b\n", "a: b\n c\n", "a：b\n", "[1:23] a: b\n", "Translate this:\n", "# a\n", "\r", " "),
    "> " + "a" * 60 + "\n" + "a" * 60 + "\n",
]


@pytest.mark.parametrize("piece", NASTY)
def test_the_work_is_linear(piece: str) -> None:
    """Fractions of a second where each character is looked at a few times; where all pairs are, the time limit."""
    text = piece * (80_000 // len(piece)) + 'x`\n---\na: b\n “ " <'
    assert "".join(part.text for part in parts(text)) == text


UNMARKED = st.text("-_=*~:. \n\t'aB1@", max_size=80) | st.lists(
    st.sampled_from(["From: Ann\n", "To: Bo\n", "--", "~~", "\n", "I do. I do not.", "2026-01-02", "'"]), max_size=20
).map("".join)


@given(UNMARKED)
def test_a_text_without_any_mark_shows_nothing(text: str) -> None:
    assume(not shown_parts.MARK.search(text))
    assert not [span for find in shown_parts.KINDS for span in find(text)]
