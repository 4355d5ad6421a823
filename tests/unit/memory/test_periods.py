"""Which questions are about what was true before: English and Vietnamese."""

from __future__ import annotations

import pytest

from react_mem.memory.language.statements import asks_about_the_past


@pytest.mark.parametrize(
    "question",
    [
        "What is my old address?",
        "Which old jobs do I still talk about?",
        "Old phone number?",
        "Where was my office two years earlier?",
        "Số điện thoại cũ của tôi là gì?",
    ],
)
def test_what_was_true_before_is_asked_for(question: str) -> None:
    assert asks_about_the_past(question)


@pytest.mark.parametrize(
    "question",
    [
        "How old am I?",
        "how old is my daughter",
        "Is my son old enough to drive?",
        "How many minutes before the flight do I leave?",
        "Tôi bao nhiêu tuổi?",
    ],
)
def test_a_measure_is_not_the_past(question: str) -> None:
    assert not asks_about_the_past(question)
