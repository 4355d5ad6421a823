"""A long message costs in proportion to its length, and what is checked of it is what the model saw."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from memory.coverage import Coverage
from memory.extraction.supersession import is_corrected

from memory.drafts import Origin, as_cited, verbatim_facts
from memory.extraction import TranscriptMessage, engine
from memory.extraction.answers import Answer, read_answer
from memory.extraction.briefing import MAX_USER_CHARS, brief
from memory.extraction.calls import Calls
from memory.extraction.checks import check
from memory.extraction.engine import Engine
from memory.reconcile import reconcile
from memory.records import Message, now
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
        (lambda text: is_corrected("tea", f"I like tea. {text}"), "No, ", 1_000),
        (lambda text: is_corrected("no", text), "No, ", 1_000),
        (lambda text: is_corrected("tea", f"I like tea.\n{text}a"), "?", 10_000),
    ],
    ids=["dots", "question marks", "unfinished thoughts", "corrections", "corrections of all", "marks after a fact"],
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


TEXTS = {
    "prose": "I own book {}. ",
    "sentence": "I own book {} and ",
    "corrections": "No, wait, I own book {}. ",
    "questions": "Do I own book {}? ",
    "one word": "a",
    "punctuation": ".,;:!?-()'\"…",
    "lines": "\n",
    "Chinese": "我喜欢喝茶和咖啡，我有一只猫。",
    "Vietnamese": "Tôi có quyển sách {} và tôi thích trà. ",
    "emoji": "😀👨‍👩‍👧",
    "data": '{{"id": {}, "name": "book"}}, ',
    "code": "def own(book):\n    return {}\n\n",
}


def read_by_a_turn(text: str) -> None:
    """Do to a message of a turn what follows the model's call: with 20 proposals, of what the user said."""
    message = Message(
        id="q", text=text[:2_000], role="user", content=text, turn=0, created_at=now(), session_id="1", agent_id="a"
    )
    briefing = brief([TranscriptMessage("q", "user", text)], [])
    checked = check(Answer({"ops": [operation(number) for number in range(20)]}), briefing)
    said = as_cited([message])
    coverage = Coverage(checked, {}, {id_: one.text for id_, one in said.items()})
    coverage.unread(verbatim_facts([message], Origin("1", "a", now())))
    reconcile(checked.ops, {}, at=now(), session_id="1", agent_id="a", said=said)


@pytest.mark.parametrize("kind", TEXTS)
def test_what_follows_the_model_takes_as_long_for_four_times_the_text(kind: str) -> None:
    part = TEXTS[kind]

    def text(size: int) -> str:
        return "".join(part.format(number) for number in range(size // len(part)))

    def seconds(size: int) -> float:
        said = text(size)
        begun = time.thread_time()
        read_by_a_turn(said)
        return time.thread_time() - begun

    read_by_a_turn(text(1_000))
    # what is read of it is cut long before that: linear would be four times as long, and quadratic sixteen
    assert min(seconds(1_000_000) for _ in range(2)) < 3 * max(min(seconds(250_000) for _ in range(2)), 0.02)
