"""The user's own words: kept once, and not beside a fact that says the same."""

from __future__ import annotations

import pytest

from memory.drafts import Origin, is_known, verbatim_facts
from memory.records import Fact, Message, now

ORIGIN = Origin("s", "a", now())


def said(*texts: str) -> list[Fact]:
    messages = [
        Message(id=f"m{n}", text=t, content=t, role="user", turn=n, session_id="s", agent_id="a")
        for n, t in enumerate(texts)
    ]
    return verbatim_facts(messages, ORIGIN)


def fact(text: str) -> Fact:
    return Fact(id=text, text=text, subject="user", predicate="p", object="o", session_id="s", agent_id="a")


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("Don't forget that I like tea!", "User likes tea."),
        ("Đừng quên là tôi dị ứng tôm nhé!", "Người dùng dị ứng tôm."),
        ("I am allergic to peanuts.", "User is allergic to peanuts."),
    ],
)
def test_words_that_only_repeat_a_fact_are_known(statement: str, known: str) -> None:
    [verbatim] = said(statement)
    assert is_known(verbatim, [fact(known)])


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("I don't like tea.", "User likes tea."),
        ("Đừng quên là tôi dị ứng tôm và cua nhé!", "Người dùng dị ứng tôm."),
        ("I like green tea.", "User likes tea."),
        ("I no longer like tea.", "User likes tea."),
        ("Tôi không thích trà.", "Người dùng thích trà."),
    ],
)
def test_words_that_say_more_or_the_opposite_are_not(statement: str, known: str) -> None:
    [verbatim] = said(statement)
    assert not is_known(verbatim, [fact(known)])


def test_the_same_statement_twice_is_one_fact_with_two_sources() -> None:
    [once] = said("I like tea.", "  i like  tea ")
    assert (once.support, once.source_ids) == (2, ("m0", "m1"))


def test_a_pasted_document_gives_a_bounded_number_of_statements() -> None:
    assert len(said("I like tea. " + " ".join(f"I own book number {n}." for n in range(100)))) == 20
