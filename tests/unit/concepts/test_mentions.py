"""Which names a fact uses."""

from __future__ import annotations

import pytest

from react_mem.memory.merging.named_entities import mentions
from react_mem.memory.model.records import Fact
from tests.unit.concepts.facts import fact


@pytest.mark.parametrize(
    ("told", "named"),
    [
        (fact("Tôi sống ở Hà Nội"), {"Hà Nội"}),
        (fact("Là y tá", about="Lan"), {"Lan"}),
        (fact("lives in Da Nang, Vietnam", about="Lan's sister"), {"Lan", "Da Nang", "Vietnam"}),
        (fact("I have a dog named Rex and Lan's cat Tom"), {"Rex", "Lan", "Tom"}),
        (fact("I work at Bank of America"), {"Bank of America"}),
        (fact("住在那里", about="東京"), {"東京"}),
        (fact("I'm with O'Brien and Dr. Smith"), {"O'Brien", "Dr Smith"}),
        (fact("Ich wohne bei Ludwig van Beethoven in Wien"), {"Ludwig van Beethoven", "Wien"}),
        (fact("Mail ann@Example.com, not Bob"), {"Bob"}),
    ],
)
def test_names_are_found_in_whatever_language_writes_them(told: Fact, named: set[str]) -> None:
    assert set(mentions(told)) == named


@pytest.mark.parametrize(
    ("told", "named"),
    [
        (fact("Hà Nội là nơi tôi sinh ra"), {"Hà Nội"}),
        (fact("Met Anna yesterday", reading="User met Anna."), {"Anna"}),
        (fact("Anna is my boss"), set()),
        (fact("My Lan is ill. Lan coughs"), {"Lan"}),
        (fact("I was in Hue 3 years", reading="User was in Hue for 3 years."), {"Hue"}),
    ],
)
def test_where_a_sentence_begins_other_words_tell_a_name(told: Fact, named: set[str]) -> None:
    assert set(mentions(told)) == named


def test_a_reading_tells_what_is_a_name_and_names_nobody_itself() -> None:
    assert mentions(fact("she is ill", reading="User's sister Lan is ill.")) == []


@pytest.mark.parametrize(
    "told",
    [
        fact("Black coffee is what I like"),
        fact("I meet friends on Monday"),
        fact("I LOVE MY DOG"),
        fact("my email is ann@Example.com"),
        fact("I met Lan", verbatim=True),
    ],
)
def test_no_name_is_made_of_what_is_none(told: Fact) -> None:
    assert mentions(told) == []
