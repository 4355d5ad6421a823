"""The user's own words, kept as they are said: each once, with all the messages that say it."""

from __future__ import annotations

import pytest

from memory.drafts import MAX_VERBATIM, Stamp, says_more_than_kept, unread_facts, verbatim_facts
from memory.extraction import Unread
from memory.records import Fact, Message, now

STAMP = Stamp("s", "a", now())


def said(*texts: str) -> list[Fact]:
    return verbatim_facts([message(text, n) for n, text in enumerate(texts)], STAMP)


def message(text: str, turn: int = 0) -> Message:
    return Message(id=f"m{turn}", text=text, content=text, role="user", turn=turn, session_id="s", agent_id="a")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("I like tea.", ["I like tea."]),
        ("Thanks!", []),
        ("我对花生过敏。", ["我对花生过敏。"]),
        ("Write me a haiku.", []),
    ],
)
def test_of_what_no_label_covers_what_states_something_is_kept(text: str, kept: list[str]) -> None:
    found = unread_facts([Unread(text, "m0"), Unread("I like cake.", "gone")], [message("x")], STAMP)
    assert [fact.text for fact in found] == kept
    assert all(fact.verbatim and fact.source_ids == ("m0",) for fact in found)


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
