"""The user's own words: kept once, and not beside a fact that says the same."""

from __future__ import annotations

import pytest

from memory.drafts import MAX_VERBATIM, Origin, is_known, says_more_than_kept, verbatim_facts
from memory.records import Fact, Message, now

ORIGIN = Origin("s", "a", now())


def said(*texts: str) -> list[Fact]:
    return verbatim_facts([message(text, n) for n, text in enumerate(texts)], ORIGIN)


def message(text: str, turn: int = 0) -> Message:
    return Message(id=f"m{turn}", text=text, content=text, role="user", turn=turn, session_id="s", agent_id="a")


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
    many = "I like tea. " * 200 + " ".join(f"I own book number {n}." for n in range(200))
    kept = said(many)
    assert [fact.text for fact in kept][::99] == ["I like tea.", "I own book number 98."]
    assert len(kept) == MAX_VERBATIM
    assert says_more_than_kept([message(many)])
    assert not says_more_than_kept([message("I like tea. " * 200)])
