"""How what was recalled is ordered and packed: repetitions last, a message with the one that belongs to it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from langgraph.store.base import SearchItem

from react_mem.memory.index.recall import RecallHit
from react_mem.memory.model.interface import Fragment
from react_mem.memory.retrieval.results import distinct, fragments

AT = datetime(2024, 5, 15, tzinfo=UTC)


def found(text: str, key: str = "", *, passage: str = "", partner: Any = None, **value: Any) -> RecallHit:
    item = SearchItem(("memory",), key or text, {"text": text, **value}, AT, AT)
    return RecallHit(item, arms={}, similarity=None, passage=passage, partner=partner)


def order(*texts: str) -> list[str]:
    return [one.item.value["text"] for one in distinct([found(text) for text in texts], len(texts))]


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("I like green tea.", "i like GREEN tea!"),
        ("Do I like tea?", "do I like tea?"),
        ("Tôi thích trà xanh", "tôi thích trà xanh."),
    ],
)
def test_what_repeats_something_better_comes_last(text: str, again: str) -> None:
    assert order(text, again, "coffee") == [text, "coffee", again]


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("I like green tea", "I like black tea"),
        ("You like tea", "You like tea?"),
        ("I like tea", "I don't like tea"),
        ("I can eat peanuts", "I can’t eat peanuts"),
        ("Tôi ăn thịt", "Tôi không ăn thịt"),
        ("Do I like tea?", "I like tea"),
        ("The meeting is at 5", "The meeting is at 6"),
        ("👍", "👎"),
    ],
)
def test_what_says_something_else_stays_in_its_place(text: str, other: str) -> None:
    assert order(text, other, "coffee") == [text, other, "coffee"]
    assert order(other, text, "coffee") == [other, text, "coffee"]


def test_what_is_about_another_repeats_nothing() -> None:
    lan, mai, again = (found("She lives in Hue.", name, about=name) for name in ("Lan", "Mai", "lan"))
    coffee, message = found("coffee"), found("She lives in Hue.", "message")
    assert distinct([lan, mai, coffee], 9) == [lan, mai, coffee]
    # of whom a message is nobody says
    assert distinct([lan, again, message, coffee], 9) == [lan, coffee, again, message]


def test_long_texts_are_compared_by_what_matched() -> None:
    coffee = found("coffee")
    same = [found("One long text", passage="the kitchen is green"), found("Another", passage="The kitchen is green.")]
    assert distinct([*same, coffee], 3) == [same[0], coffee, same[1]]
    other = [found("one text", "1", passage="the kitchen is green"), found("one text", "2", passage="the well is dry")]
    assert distinct([*other, coffee], 9) == [*other, coffee]


def test_no_more_are_compared_than_are_wanted() -> None:
    texts = [found("green tea", "1"), found("coffee", "2"), found("green tea!", "3")]
    assert distinct(texts, 2) == texts


def test_a_question_stands_before_its_answer_whichever_was_found() -> None:
    question, answer = {"id": "q", "role": "user", "text": "Cat?"}, {"id": "a", "role": "assistant", "text": "Rex."}
    pair = (Fragment(id="q", role="user", content="Cat?"), Fragment(id="a", role="assistant", content="Rex."))
    assert fragments(found("Cat?", "q", role="user", partner=answer)) == pair
    assert fragments(found("Rex.", "a", role="assistant", partner=question)) == pair


def test_a_partner_that_lacks_something_is_still_one() -> None:
    *_, other = fragments(found("Cat?", "q", role="user", partner={"id": "a", "role": None, "text": None}))
    assert other == Fragment(id="a", role="", content="")
