"""Which names a fact uses."""

from __future__ import annotations

import pytest

from memory.concepts.mentions import mentions
from memory.records import Fact
from tests.unit.concepts.facts import fact

TOLD = {"id": "f", "session_id": "s", "agent_id": "a"}


@pytest.mark.parametrize(
    ("told", "named"),
    [
        (fact("user", "has_sister", "Lan"), {"Lan": "person"}),
        (fact("user", "sống_ở", "Hà Nội", "Người dùng sống ở Hà Nội."), {"Hà Nội": "place"}),
        (fact("Lan", "works_as", "y tá", "Lan là y tá."), {"Lan": "person"}),
        (fact("Lan's sister", "lives_in", "Da Nang, Vietnam"), {"Lan": "", "Da Nang": "place", "Vietnam": ""}),
        (fact("user", "has_pet", "a dog named Rex"), {"Rex": "animal"}),
        (fact("user", "works_at", "Bank of America"), {"Bank of America": "organisation"}),
        (fact("user", "owns", "an iPhone 15"), {"iPhone 15": ""}),
        (fact("user", "has_sister", "Lan 🌸"), {"Lan": "person"}),
        (fact("user", "lives_in", "東京", "ユーザーは東京に住んでいます"), {"東京": "place"}),
        (fact("NASA", "is", "an agency"), {"NASA": ""}),
        (fact("user", "has_daughter", "April"), {"April": "person"}),
    ],
)
def test_a_name_is_found_with_what_the_fact_says_it_is(told: Fact, named: dict[str, str]) -> None:
    assert {mention.name: mention.type for mention in mentions(told)} == named


@pytest.mark.parametrize(
    "told",
    [
        fact("user", "likes", "Black coffee", "User likes black coffee."),
        fact("user", "meets", "friends on Monday"),
        fact("user", "age", "42"),
        fact("user", "birthday", "12 April 1990"),
        fact("Sister", "lives_in", "a small town", "Sister lives in a small town."),
        fact("user", "email", "ann@Example.com"),
        fact("user", "likes", "🍕🍕"),
        fact("user", "likes", "😀 " * 200 + "https://Example.com/A"),
        Fact(**TOLD, subject="user", predicate="said", object="I met Lan", text="I met Lan", verbatim=True),
        Fact(**TOLD, subject="user", predicate="noted", object="Call Lan", text="Call Lan"),
    ],
)
def test_no_name_is_made_of_what_is_none(told: Fact) -> None:
    assert mentions(told) == []
