"""A long message costs in proportion to its length, and what is checked of it is what the model saw."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from memory.extraction import TranscriptMessage, engine
from memory.extraction.answers import Answer, read_answer
from memory.extraction.briefing import MAX_USER_CHARS, brief
from memory.extraction.calls import Calls
from memory.extraction.checks import check
from memory.extraction.engine import Engine
from memory.statements import is_question, sentences
from tests.support.scripted_model import ScriptedModel


def growth(work: Callable[[str], object], text: str, count: int) -> float:
    """Return how many times as long four times the text takes; the best of three, since others use the machine too."""

    def best(size: int) -> float:
        times = []
        for _ in range(3):
            begun = time.process_time()
            work(text * size)
            times.append(time.process_time() - begun)
        return min(times)

    return best(4 * count) / max(best(count), 1e-4)


@pytest.mark.parametrize(
    ("work", "text", "count"),
    [
        (lambda text: sentences(text + "a"), ".", 10_000),
        (lambda text: is_question(text + "a"), "?", 10_000),
        (read_answer, "<think>", 10_000),
    ],
    ids=["dots", "question marks", "unfinished thoughts"],
)
def test_four_times_the_text_takes_no_sixteen_times_as_long(
    work: Callable[[str], object], text: str, count: int
) -> None:
    assert growth(work, text, count) < 9


def operation(number: int) -> dict[str, Any]:
    text = f"User owns book {number}."
    return {
        "op": "add",
        "source_ids": ["m1"],
        "subject": "user",
        "predicate": "owns",
        "object": text[10:-1],
        "text": text,
    }


def long_message() -> TranscriptMessage:
    return TranscriptMessage("q", "user", " ".join(f"I own book {number}." for number in range(60_000)))


def test_what_a_proposal_says_is_looked_for_in_what_the_model_saw() -> None:
    briefing = brief([long_message()], [])
    assert len(briefing.messages["m1"].text) <= MAX_USER_CHARS
    found = check(Answer({"ops": [operation(7), operation(59_999), operation(30_000)]}), briefing)
    assert [accepted.object for accepted in found.ops] == ["book 7", "book 59999"]
    assert len(found.rejected) == 1


async def test_proposals_are_checked_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def noted(*arguments: Any) -> Any:
        threads.append(threading.current_thread())
        return check(*arguments)

    class Fixed(Engine):
        async def ask(self, briefing: Any, calls: Calls, failed: Answer | None) -> Answer:
            return Answer({"ops": [operation(7)]})

    monkeypatch.setattr(engine, "check", noted)
    found = await Fixed(ScriptedModel(script=[AIMessage("unused")]), {}).extract([long_message()], (), deadline=30)
    assert [accepted.object for accepted in found.ops] == ["book 7"]
    assert threads
    assert threading.main_thread() not in threads
