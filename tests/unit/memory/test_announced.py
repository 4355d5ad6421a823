"""Text that a line announces, heads of mail and pasted chats are shown in every language; one's own lists are said."""

from __future__ import annotations

import pytest

from react_mem.memory.language.own_words import own_words_in, parts
from react_mem.memory.language.statements import statements_in

EN = "I moved to Chicago last year and I hate pizza. My husband is a pilot."
VI = "Tôi sống ở Cần Thơ. Tôi bị dị ứng với tôm."
ZH = "我住在重庆。我有两只猫。"
JA = "私は大阪に住んでいます。猫が二匹います。"
VI_2 = "Tôi làm ở Đồng Nai. Con tôi học lớp ba."
DE = "Ich wohne in Bremen. Ich habe zwei Katzen und eine Allergie."

SHOWN = [
    f"Translate this review to German:\n\n{EN}",
    f"here is the README:\n# Project\nMy name is Readme.\n## Usage\n{EN}",
    f"[10:31, 3/3/2025] Bob: {EN}\nwhat should I say?",
    f"From: Bob\nSubject: home\n\n{EN}",
    f"Đây là email của khách hàng:\n{VI}",
    f"3/3/2025, 10:31 - Lan: {VI}\n3/3/2025, 10:32 - Minh: Tôi ở Huế.",
    f"帮我回复这封邮件：\n\n{ZH}",
    f"[2025-03-03 10:31] 李雷：{ZH}\n我该怎么回答？",
    f"次の文章を要約してください：\n\n{JA}",
    f"田中：{JA}\n佐藤：私は東京です。\n田中：はい。",
    f"Von: Bob\nBetreff: Wohnung\n\n{DE}",
    f"tom tat giup toi email nay:\n\n{VI_2}",
]
"""Messages that show a stranger's words; each holds the stranger's text of its language."""

OWN = [
    "My allergies:\n- peanuts\n- shrimp and crab",
    "Remember this:\nI live in Hue.",
    "I have three hobbies:\nI swim.\nI paint.\nI bake.",
    "Thông tin của tôi:\nTên: An\nThành phố: Huế",
    "Lịch của tôi:\nThứ hai: Tôi đi bơi.\nThứ ba: Tôi học vẽ.",
    "自己紹介：\n私はフエに住んでいます。",
    "私の状況です：\n私はフエに住んでいます。",
    "I wrote to my boss:\nI am going to quit in May.",
    "Flight: VN123\nDate: 3/3/2025\nSeat: 12A\n\nI need a vegetarian meal.",
    "Sobre mí:\nVivo en Hue.",
    "Please read the following and remember it:\nI live in Hue.",
    "修正：我住在顺化。我有两只猫。",
]
"""All of each is the user's own."""

STRANGERS = ["Chicago", "pilot", "Cần Thơ", "tôm", "重庆", "两只猫", "大阪", "二匹", "Bremen", "Katzen", "Đồng Nai"]
"""Words of the strangers' texts."""


@pytest.mark.parametrize("text", SHOWN)
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_what_is_announced_states_nothing_of_the_user(text: str, line_break: str) -> None:
    told = text.replace("\n", line_break)
    assert statements_in(told) == []
    assert not [word for word in STRANGERS if word in own_words_in(told)]
    assert "".join(part.text for part in parts(told)) == told


@pytest.mark.parametrize("text", OWN)
def test_what_a_user_lists_of_their_own_stays_theirs(text: str) -> None:
    assert own_words_in(text) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"I live in Hue. Translate this:\n\n{EN}\n\nIs it good English?", ["I live in Hue.", "Is it good English?"]),
        (f"[10:31] Bob: {EN}\nAnd my cat is Mo.\n\nI live in Hue.", ["I live in Hue."]),
        ("Translate this:\n> I hate tea.\nI live in Hue.", ["I live in Hue."]),
        ("Dịch giúp tôi: «Bob lives in Chicago» I live in Hue.", ["I live in Hue."]),
        ("请翻译：「我是 Bob，住在 Chicago」I live in Hue.", ["I live in Hue."]),
        ("Summarise this: “Bob won”, said Mo in Chicago.\nI live in Hue.", []),
        (f"Summarise this: “I am Bob.” {'So it was in Chicago. ' * 12}I live in Hue.", []),
    ],
)
def test_what_stands_around_it_is_said(text: str, said: list[str]) -> None:
    own = own_words_in(text)
    assert "Chicago" not in own
    assert [one for one in ("I live in Hue.", "Is it good English?", "Bob", "Mo") if one in own] == said


@pytest.mark.parametrize(
    "lead", ["Begin forwarded message:", "here is the README:", "Trả lời giúp tôi:", "这是邮件：", "My allergies:"]
)
def test_a_line_that_leads_to_something_is_no_fact(lead: str) -> None:
    assert statements_in(lead) == []


@pytest.mark.parametrize(
    "told",
    [
        "The page says: I live in Chicago",
        "Der Chef hat mir geschrieben: ich bin in Chicago",
        "网页上说：我住在Chicago",
        "ページによると：私はChicagoに住んでいます",
        "Trang web nói: tôi sống ở Chicago",
    ],
)
def test_what_somebody_says_on_one_line_is_theirs(told: str) -> None:
    said = f"I have a cat.\n{told}\nI live in Hue."
    assert "Chicago" not in own_words_in(said)
    assert statements_in(said) == ["I have a cat.", "I live in Hue."]


@pytest.mark.parametrize(
    "said",
    [
        "I told Lan: I live in Hue",
        "Tôi nói: tôi sống ở Huế",
        "我说：我住在顺化",
        "My name is: Lan",
    ],
)
def test_what_the_user_says_on_one_line_is_their_own(said: str) -> None:
    assert own_words_in(said) == said
