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
    "My sister lives in Da Nang and my brother lives in Hue. I have not seen them since I moved to Rome in 2019.",
    "I am allergic to peanuts and to shellfish, so please be careful when you suggest a recipe to me.",
    "When I was ten years old I moved to a small town near Kyoto, where my father worked for Toyota.",
    "My mother thinks I work too much. I think she is right about that, but I cannot take a holiday this year.",
    "I never drink coffee after 4 p.m. because I sleep badly. My doctor, Dr. Lan, says the same about tea.",
    "The house in which I live has three rooms, a garden with old apple trees, and no heating at all.",
    "I would love to learn the cello, which my grandmother played. We still have hers - it stands in the hall.",
    "If I get the job I will move to Oslo, though my wife would rather stay. We decide on Friday.",
    'My e-mail is ann.lee@example.com, my site is https://ann.example/about and my well-known motto is "less is more".',
    # Vietnamese
    "Tôi không ăn thịt, trừ thịt gà và cá do anh trai tôi câu được ở sông Hương vào cuối tuần.",
    "Chị tôi sống ở Đà Nẵng còn anh tôi sống ở Huế. Tôi chuyển vào Thành phố Hồ Chí Minh năm 2019.",
    "Tôi bị dị ứng với đậu phộng và hải sản, nên hãy cẩn thận khi gợi ý món ăn cho tôi nhé.",
    "Khi tôi còn nhỏ, gia đình tôi sống ở một làng nhỏ gần Hội An và bố tôi làm nghề đánh cá.",
    "Con mèo của tôi tên là Mướp. Nó rất thích ngủ trên ghế của tôi mỗi khi tôi đi làm về muộn.",
    # Chinese
    "我不吃肉，除了鸡肉和我哥哥周末在河里钓到的鱼，其他的肉我一概不碰，因为我从小就不喜欢那种味道。",
    "我姐姐住在岘港，我弟弟住在顺化。我2019年搬到了罗马，从那以后就没有再见过他们，不过我们每天都会打电话。",
    "我对花生和贝类过敏，所以推荐菜谱的时候请小心。我的医生说我应该每年检查一次，我一直都照做。",
    # Japanese
    "私は肉を食べませんが、鶏肉と兄が週末に川で釣った魚だけは食べます。子どもの頃からずっとそうしています。",
    "姉はダナンに住んでいて、弟はフエに住んでいます。私は2019年にローマへ引っ越してから二人に会っていません。",
    "私はピーナッツと貝類にアレルギーがあるので、レシピを提案するときは気をつけてください。",
    # German
    "Ich esse kein Fleisch, außer Huhn und dem Fisch, den mein Bruder am Sonntag im Fluss fängt.",
    "Meine Schwester wohnt in Da Nang und mein Bruder in Hue. Seit ich 2019 nach Rom gezogen bin, sehe ich sie selten.",
    "Ich bin gegen Erdnüsse und Meeresfrüchte allergisch, deshalb sei bitte vorsichtig, wenn du mir Rezepte nennst.",
    # Spanish
    "No como carne, excepto pollo y el pescado que mi hermano pesca los domingos en el río de Hue.",
    "Mi hermana vive en Da Nang y mi hermano vive en Hue. Yo me mudé a Roma en 2019 y no los he visto desde entonces.",
    # without a file
    "Je ne mange pas de viande, sauf du poulet et le poisson que mon frère pêche le dimanche à Hue.",
    "Я не ем мясо, кроме курицы и рыбы, которую мой брат ловит по воскресеньям в реке около Хюэ.",
    "저는 고기를 먹지 않지만 닭고기와 형이 주말마다 강에서 잡은 생선은 먹습니다.",
)


def clauses(text: str) -> list[str]:
    return [clause.text for clause in cut(text)]


@settings(max_examples=300, deadline=None)
@given(
    text=st.sampled_from(TEXTS),
    width=st.integers(20, 100),
    hyphens=st.booleans(),
    indent=st.sampled_from(["", "  "]),
    end=st.sampled_from(["\n", "\r\n"]),
)
@example(text=TEXTS[4], width=20, hyphens=True, indent="", end="\n")
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


@settings(max_examples=200, deadline=None)
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
        (
            "My sister lives in\nDa Nang and my brother\nlives in Hue.",
            "My sister lives in Da Nang and my brother lives in Hue.",
        ),
        ("My house has\nthree\r\nrooms.", "My house has three rooms."),
        ("I am allergic to peanuts and to\nshellfish.", "I am allergic to peanuts and to shellfish."),
        ("i love\nmy cat", "i love my cat"),
        ("I was born in\n1990", "I was born in 1990"),
        ("I am moving to Rome\nif I get the job.", "I am moving to Rome if I get the job."),
        ("I have never been to\nNew York", "I have never been to New York"),
        ("Tôi không ăn thịt\ntrừ thịt gà.", "Tôi không ăn thịt trừ thịt gà."),
        ("Chị tôi sống ở\nĐà Nẵng", "Chị tôi sống ở Đà Nẵng"),
        ("我住在\n北京", "我住在北京"),
        ("我不吃肉，\n只吃鱼。", "我不吃肉，只吃鱼。"),
        ("私は寿司が\n好きではありません。", "私は寿司が好きではありません。"),
        ("Ich habe eine\nKatze namens Mimi", "Ich habe eine Katze namens Mimi"),
        ("Ich esse kein Fleisch,\naußer Huhn.", "Ich esse kein Fleisch, außer Huhn."),
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
        "I live in Hue\nI like tea.",
        "I live in Hue, Vietnam\nMy cat is called Mimi\nI am a nurse",
        "I live in Hue with my family\nI like green tea",
        "Tôi sống ở Huế\nTôi thích trà",
        "我住在北京\n我喜欢喝茶",
        "東京に住んでいます\n猫が好きです",
        "Ich wohne in Hue\nIch mag Tee",
        "Vivo en Hue\nMe gusta el té",
        "J'habite à Paris\nJ'aime le thé",
        "저는 부산에 살아요\n저는 차를 좋아해요",
        "Allergic to peanuts\nVegetarian since 2020\nLives in Hue",
        "Name: Lan\nCity: Hue",
        'user = {"name": "Hank"}\nassert user["pet"] == "ferret"',
        "- I like tea\n- I like milk",
        "* I like tea\n* milk as well",
        "• Tôi thích trà\n• và sữa",
        "1. I like tea\n2. milk as well",
        "My drinks\n\ntea",
        "# Drinks\ntea and milk",
        "| tea | milk |\n| - | - |",
        "My drinks:\n- tea and milk",
        "I live in Hue.\nand I like tea",
        "I live in Hue\nwhere should I eat?",
        "I am vegetarian\nsuggest a dinner",
        "Thanks\nmy cat is called Mimi",
        "I love tea 😊\nI live in Hue",
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
