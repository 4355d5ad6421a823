"""Cutting out of texts what is to be forgotten, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from react_mem.memory.rights.saying import Sayings

FACTS = ["I live in Hue.", "I have a red car.", "Tôi thích trà xanh.", "我对青霉素过敏。", "Ich arbeite bei Bosch."]


@given(st.lists(st.sampled_from(FACTS), min_size=1, max_size=6), st.sampled_from(FACTS))
def test_what_is_forgotten_goes_and_every_other_sentence_stays(said: list[str], what: str) -> None:
    others = tuple(fact for fact in FACTS if fact != what)
    left = Sayings((what,), others).without(" ".join(said), by_user=True)
    assert what not in left
    assert [left.count(fact) for fact in others] == [said.count(fact) for fact in others]


@pytest.mark.parametrize(
    ("what", "text", "left"),
    [
        ("I'm allergic to penicillin", "Forget that I'm allergic to penicillin. I live in Hue.", "I live in Hue."),
        ("I live in Hue", "I live in Hue, and I have a red car.", "and I have a red car."),
        ("我对青霉素过敏", "我对青霉素过敏。我住在河内。", "我住在河内。"),
        ("Tôi dị ứng penicillin", "Tôi bị dị ứng penicillin. Tôi ở Huế.", "Tôi ở Huế."),
        ("My code is 4711", "My code is 1234.", "My code is 1234."),
    ],
)
def test_a_message_keeps_its_other_clauses(what: str, text: str, left: str) -> None:
    assert Sayings((what,)).without(text, by_user=True) == left


def test_of_an_answer_goes_what_only_this_fact_has_words_for() -> None:
    sayings = Sayings(("I'm allergic to penicillin",), said=("My sister is allergic to nuts.",))
    answer = "Mind the penicillin. Nuts make your sister allergic."
    assert sayings.without(answer, by_user=False) == "Nuts make your sister allergic."
