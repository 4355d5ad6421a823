"""A summary that says nothing twice, and loses nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.memory.language import content_terms, sentences
from react_mem.memory.write.chat_summary.summarizer import without_repetition

WORDS = st.sampled_from(
    ["red", "kettle", "35", "2", "pot", "not", "never", "Lan", "còn", "hàng", "không", "水壶", "35.50", "€", "asks"]
)
SENTENCES = st.builds(
    lambda words, end: " ".join(words) + end, st.lists(WORDS, min_size=1, max_size=5), st.sampled_from(".?!")
)
TEXTS = st.lists(st.tuples(SENTENCES, st.sampled_from([" ", "\n", "\n\n"])), max_size=8).map(
    lambda parts: "".join(map("".join, parts))
)


@given(text=TEXTS)
def test_no_telling_word_is_lost_and_no_sentence_stands_twice(text: str) -> None:
    said = without_repetition(text)
    assert content_terms(said) == content_terms(text)
    assert without_repetition(said) == said
    kept = [" ".join(one.casefold().split()) for one in sentences(said)]
    assert len(kept) == len(set(kept))
    assert set(sentences(said)) <= set(sentences(text))


@pytest.mark.parametrize(
    "text",
    [
        "- Wants 2 kettles.\n- Wants 3 kettles.",
        "Chị lấy ấm đỏ. Chị không lấy ấm đỏ.",
        "顾客想要红色水壶。顾客想要蓝色水壶。",
    ],
)
def test_what_differs_in_a_word_stays(text: str) -> None:
    assert without_repetition(text) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Is the red kettle in stock? The red kettle is in stock.", "The red kettle is in stock."),
        ("Chị hỏi ấm đỏ. Chị hỏi ấm đỏ, 350.000đ. Chị lấy 2 cái.", "Chị hỏi ấm đỏ, 350.000đ. Chị lấy 2 cái."),
        ("顾客想要红色水壶。价格35元。顾客想要红色水壶。", "顾客想要红色水壶。价格35元。"),
    ],
)
def test_what_is_said_again_goes(text: str, said: str) -> None:
    assert without_repetition(text) == said
