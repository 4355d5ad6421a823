"""Line breaks: wrapping a text changes nothing of what it states, and lines that are things of their own stay apart."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from react_mem.memory.language.clauses import cut
from react_mem.memory.language.line_breaks import unwrapped
from react_mem.memory.language.own_words import own_words_in
from react_mem.memory.language.statements import sentences, statements_in

TEXTS = (
    # English
    "I do not eat meat, except chicken and the fish that my brother catches in the river on Sundays.",
    "When I was ten years old I moved to a small town near Kyoto, where my father worked for Toyota.",
    "I never drink coffee after 4 p.m. because I sleep badly. My doctor, Dr. Lan, says the same about tea.",
    "I would love to learn the cello, which my grandmother played. We still have hers - it stands in the hall.",
    'My e-mail is ann.lee@example.com, my site is https://ann.example/about and my well-known motto is "less is more".',
    # Vietnamese
    "Chị tôi sống ở Đà Nẵng còn anh tôi sống ở Huế. Tôi chuyển vào Thành phố Hồ Chí Minh năm 2019.",
    "Con mèo của tôi tên là Mướp. Nó rất thích ngủ trên ghế của tôi mỗi khi tôi đi làm về muộn.",
    # Chinese
    "我姐姐住在岘港，我弟弟住在顺化。我2019年搬到了罗马，从那以后就没有再见过他们，不过我们每天都会打电话。",
    # Japanese
    "私はピーナッツと貝類にアレルギーがあるので、レシピを提案するときは気をつけてください。",
    # German
    "Meine Schwester wohnt in Da Nang und mein Bruder in Hue. Seit ich 2019 nach Rom gezogen bin, sehe ich sie selten.",
    # Spanish
    "Mi hermana vive en Da Nang y mi hermano vive en Hue. Yo me mudé a Roma en 2019 y no los he visto desde entonces.",
    # without a file
    "Je ne mange pas de viande, sauf du poulet et le poisson que mon frère pêche le dimanche à Hue.",
    "저는 고기를 먹지 않지만 닭고기와 형이 주말마다 강에서 잡은 생선은 먹습니다.",
)


def clauses(text: str) -> list[str]:
    return [clause.text for clause in cut(text)]


@settings(max_examples=80, deadline=None)
@given(
    text=st.sampled_from(TEXTS),
    width=st.integers(20, 100),
    hyphens=st.booleans(),
    indent=st.sampled_from(["", "  "]),
    end=st.sampled_from(["\n", "\r\n"]),
)
@example(text=TEXTS[2], width=20, hyphens=True, indent="", end="\n")
def test_wrapping_a_text_changes_nothing_of_what_it_states(
    text: str, width: int, hyphens: bool, indent: str, end: str
) -> None:
    # without spaces it is wrapped between any two letters
    unspaced = " " not in text
    indent = "" if unspaced else indent
    lines = textwrap.wrap(text, width, break_on_hyphens=hyphens, break_long_words=unspaced, subsequent_indent=indent)
    wrapped = end.join(lines)
    assert statements_in(wrapped) == statements_in(text)
    assert clauses(wrapped) == clauses(text)
    assert sentences(wrapped) == sentences(text)


@settings(max_examples=50, deadline=None)
@given(
    texts=st.lists(
        st.sampled_from([text for text in TEXTS if " - " not in text and " " in text]), min_size=2, max_size=4
    ),
    width=st.integers(40, 100),
)
def test_so_does_wrapping_several_paragraphs_or_the_items_of_a_list(texts: list[str], width: int) -> None:
    apart = [sentence for text in texts for sentence in sentences(text)]
    assert sentences("\n\n".join(textwrap.fill(text, width) for text in texts)) == apart
    items = "\n".join(
        textwrap.fill(text, width, initial_indent="- ", subsequent_indent="  ", break_long_words=False)
        for text in texts
    )
    assert [one.removeprefix("- ") for one in sentences(items)] == apart


@pytest.mark.parametrize(
    ("text", "one"),
    [
        ("I do not eat meat,\nexcept chicken.", "I do not eat meat, except chicken."),
        ("I do not like\nspinach.", "I do not like spinach."),
        ("My house has\nthree\r\nrooms.", "My house has three rooms."),
        ("Tôi không ăn thịt\ntrừ thịt gà.", "Tôi không ăn thịt trừ thịt gà."),
        ("我住在\n北京", "我住在北京"),
        ("私は寿司が\n好きではありません。", "私は寿司が好きではありません。"),
        ("Ich habe eine\nKatze namens Mimi", "Ich habe eine Katze namens Mimi"),
        ("Vivo en la ciudad de\nHue", "Vivo en la ciudad de Hue"),
        ("J'habite à\nParis", "J'habite à Paris"),
    ],
)
def test_a_break_within_a_sentence_is_white_space(text: str, one: str) -> None:
    assert sentences(text) == statements_in(text) == [one]


@pytest.mark.parametrize(
    "text",
    [
        "I live in Hue\nI like tea",
        "i live in hue\ni like tea",
        "Tôi sống ở Huế\nTôi thích trà",
        "我住在北京\n我喜欢喝茶",
        "東京に住んでいます\n猫が好きです",
        "Ich wohne in Hue\nIch mag Tee",
        "저는 부산에 살아요\n저는 차를 좋아해요",
        "Allergic to peanuts\nVegetarian since 2020\nLives in Hue",
        "Name: Lan\nCity: Hue",
        "- I like tea\n- I like milk",
        "• Tôi thích trà\n• và sữa",
        "1. I like tea\n2. milk as well",
        "# Drinks\ntea and milk",
        "I live in Hue.\nand I like tea",
        "I live in Hue\nwhere should I eat?",
        "I am vegetarian\nsuggest a dinner",
        "Thanks\nmy cat is called Mimi",
    ],
)
def test_lines_that_are_things_of_their_own_stay_apart(text: str) -> None:
    assert sentences(text) == [line for line in text.splitlines() if line]


def test_what_a_user_shows_between_two_halves_keeps_them_apart() -> None:
    assert sentences(own_words_in("I never eat\n> He hates tea.\nmeat.")) == ["I never eat", "meat."]
    assert sentences(own_words_in("I never eat “what he. likes so much. Or” meat.")) == ["I never eat", "meat."]


@given(st.text("aB .,:-\n\r\u2028我、。1•", max_size=120))
def test_nothing_but_white_space_changes(text: str) -> None:
    assert "".join(unwrapped(text).split()) == "".join(text.split())
