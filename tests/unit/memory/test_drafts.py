"""The user's own words: kept once, bounded, and gone once a model has read them."""

from __future__ import annotations

import pytest

from react_mem.memory.model.operations import Unread
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Fact, Message, now
from react_mem.memory.write.committing import (
    MAX_VERBATIM,
    parts_of,
    says_more_than_kept,
    settle_verbatim,
    unread_facts,
    verbatim_facts,
)
from react_mem.memory.write.session import Stamp

STAMP = Stamp("s", "a", now())


def message(text: str, turn: int = 0, **fields: object) -> Message:
    whole = {"id": f"m{turn}", "text": text, "content": text, "role": "user", "turn": turn, "session_id": "s"}
    return Message.model_validate({**whole, "agent_id": "a", **fields})


def said(*texts: str) -> list[Fact]:
    return verbatim_facts([message(text, n) for n, text in enumerate(texts)], STAMP)


def unread(*texts: str) -> list[Fact]:
    return unread_facts([Unread(text, "m0") for text in texts], [message("whatever")], STAMP)


def test_the_same_statement_twice_is_one_fact_with_two_sources() -> None:
    [once] = said("I like tea.", "  i like  tea ")
    assert (once.support, once.source_ids, once.verbatim, once.text) == (2, ("m0", "m1"), True, "I like tea.")


def test_a_pasted_document_gives_a_bounded_number_of_statements() -> None:
    many = "I like tea. " * 200 + " ".join(f"I own book number {n}." for n in range(200))
    kept = said(many)
    assert [fact.text for fact in kept][::99] == ["I like tea.", "I own book number 98."]
    assert len(kept) == MAX_VERBATIM
    assert says_more_than_kept([message(many)])
    assert not says_more_than_kept([message("I like tea. " * 200)])


@pytest.mark.parametrize("words", ["and never touch shellfish.", "从来不吃贝类。", "Soy alérgico a los cacahuetes."])
def test_words_that_no_label_covers_are_kept_without_evidence_of_a_statement(words: str) -> None:
    [fact] = unread(words)
    assert (fact.text, fact.verbatim, fact.source_ids, fact.origin) == (words, True, ("m0",), Origin.USER)


@pytest.mark.parametrize("words", ["Thanks!", "Where do I live?", "Tea", "你好", "cảm ơn bạn nhiều"])
def test_words_that_state_nothing_are_not(words: str) -> None:
    assert unread(words) == []


def test_of_a_message_a_bounded_number_of_words_is_kept_and_none_of_another_conversation() -> None:
    assert len(unread(*(f"I own book number {n}." for n in range(300)))) == MAX_VERBATIM
    assert unread_facts([Unread("I like tea.", "m9")], [message("whatever")], STAMP) == []


def test_words_of_a_message_are_trusted_no_more_than_the_message() -> None:
    [fact] = unread_facts([Unread("I like tea.", "m0")], [message("I like tea.", origin="quoted")], STAMP)
    assert fact.origin is Origin.QUOTED


def test_what_is_new_is_to_be_offered_and_what_is_known_is_not_offered_again() -> None:
    kept, gone = settle_verbatim(unread("I like tea."), [], {"m0"})
    assert ([(fact.text, fact.unread) for fact in kept], gone) == ([("I like tea.", True)], [])
    offered = [fact.model_copy(update={"unread": False}) for fact in kept]
    assert settle_verbatim(unread("I like tea."), offered, {"m0"}) == ([], [])


def test_what_has_been_read_goes_and_what_was_said_elsewhere_too_stays() -> None:
    tea, cake = said("I like tea.", "I like cake.")
    both = tea.model_copy(update={"id": "both", "source_ids": ("m0", "m7")})
    read = tea.model_copy(update={"id": "read", "verbatim": False})
    kept, gone = settle_verbatim([], [tea, cake, both, read], {"m0"})
    assert (kept, gone) == ([], [tea.id])


def test_a_part_of_what_is_kept_is_kept_of_the_same_message_only() -> None:
    [whole] = said("I like tofu a lot, and I have a boat.")
    boat, car = unread("and I have a boat.", "and I have a car.")
    elsewhere = boat.model_copy(update={"source_ids": ("m5",)})
    assert parts_of([boat, car, elsewhere], [whole]) == [boat]
