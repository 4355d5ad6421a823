"""A long message costs in proportion to its length, and what is checked of it is what the model saw."""

from __future__ import annotations

import time

import pytest

from react_mem.memory.llm.answers import Answer
from react_mem.memory.model.operations import TranscriptMessage
from react_mem.memory.model.records import Message, now
from react_mem.memory.write.committing import unread_facts, verbatim_facts
from react_mem.memory.write.extraction.briefing import MAX_USER_CHARS, brief
from react_mem.memory.write.extraction.checks import check
from react_mem.memory.write.session import Stamp
from tests.support.labels import fact, proposal


def long_message() -> TranscriptMessage:
    return TranscriptMessage("q", "user", " ".join(f"I own book {number}." for number in range(60_000)))


def test_what_is_labelled_is_what_the_model_saw() -> None:
    briefing = brief([long_message()], [])
    last = max(briefing.clauses)
    assert sum(len(numbered.clause.text) for numbered in briefing.clauses.values()) <= MAX_USER_CHARS
    found = check(Answer(proposal([fact(1), fact(last), fact(last + 1)])), briefing)
    assert [accepted.text for accepted in found.ops] == ["I own book 0.", briefing.clauses[last].clause.text]
    assert len(found.rejected) == 1


TEXTS = {
    "sentence": "I own book {} and ",
    "one word": "a",
    "Chinese": "我喜欢喝茶和咖啡，我有一只猫。",
    "data": '{{"id": {}, "name": "book"}}, ',
}


def read_by_a_turn(text: str) -> None:
    """Do to a message of a turn what follows the model's call: with 20 labels, of what the user said."""
    message = Message(
        id="q", text=text[:2_000], role="user", content=text, turn=0, created_at=now(), session_id="1", agent_id="a"
    )
    briefing = brief([TranscriptMessage("q", "user", text)], [])
    checked = check(Answer(proposal([fact(number) for number in range(1, 21)])), briefing)
    stamp = Stamp("1", "a", now())
    unread_facts(checked.unread, [message], stamp)
    verbatim_facts([message], stamp)


@pytest.mark.parametrize("kind", TEXTS)
def test_four_times_the_text_takes_a_turn_no_sixteen_times_as_long(kind: str) -> None:
    part = TEXTS[kind]

    def text(size: int) -> str:
        return "".join(part.format(number) for number in range(size // len(part)))

    def seconds(size: int) -> float:
        said = text(size)
        begun = time.thread_time()
        read_by_a_turn(said)
        return time.thread_time() - begun

    read_by_a_turn(text(1_000))
    # all of it is read once, to know what of it is only shown: linear is four times as long, and quadratic sixteen
    assert min(seconds(160_000) for _ in range(2)) < 8 * max(min(seconds(40_000) for _ in range(2)), 0.01)
