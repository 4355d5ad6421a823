"""A long message costs in proportion to its length, and what is checked of it is what the model saw."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from react_mem.memory.language.clauses import cut
from react_mem.memory.language.hallucination import Told
from react_mem.memory.language.own_words import own_words_in
from react_mem.memory.language.statements import is_question, sentences
from react_mem.memory.llm.answers import Answer, read_answer
from react_mem.memory.model.operations import TranscriptMessage
from react_mem.memory.model.records import Message, now
from react_mem.memory.write.committing import unread_facts, verbatim_facts
from react_mem.memory.write.extraction import structured
from react_mem.memory.write.extraction.briefing import MAX_USER_CHARS, brief
from react_mem.memory.write.extraction.checks import check
from react_mem.memory.write.extraction.proposal import FIELDS
from react_mem.memory.write.extraction.structured import StructuredExtractor
from react_mem.memory.write.session import Stamp
from tests.support.labels import fact, proposal
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
        (lambda text: read_answer(f'{text}{{"summary": "ok"}}', FIELDS), "<think>", 10_000),
        (lambda text: read_answer(text, FIELDS), '{"facts": [1]}', 2_000),
        (cut, "I own a book, and I like tea, ", 2_000),
        (own_words_in, "> quoted\n", 5_000),
        (lambda text: Told([text]).held(text), "User owns book 12 in Hue. ", 1_000),
    ],
    ids=["dots", "question marks", "unfinished thoughts", "objects", "clauses", "quoted lines", "held text"],
)
def test_four_times_the_text_takes_no_sixteen_times_as_long(
    work: Callable[[str], object], text: str, count: int
) -> None:
    assert growth(work, text, count) < 9


def long_message() -> TranscriptMessage:
    return TranscriptMessage("q", "user", " ".join(f"I own book {number}." for number in range(60_000)))


def test_what_is_labelled_is_what_the_model_saw() -> None:
    briefing = brief([long_message()], [])
    last = max(briefing.clauses)
    assert sum(len(numbered.clause.text) for numbered in briefing.clauses.values()) <= MAX_USER_CHARS
    found = check(Answer(proposal([fact(1), fact(last), fact(last + 1)])), briefing)
    assert [accepted.text for accepted in found.ops] == ["I own book 0.", briefing.clauses[last].clause.text]
    assert len(found.rejected) == 1


async def test_labels_are_checked_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def noted(*arguments: Any) -> Any:
        threads.append(threading.current_thread())
        return check(*arguments)

    class Fixed(StructuredExtractor):
        async def ask(self, *_: Any) -> tuple[str, bool]:
            return json.dumps(proposal([fact(1)])), False

    monkeypatch.setattr(structured, "check", noted)
    found = await Fixed([ScriptedModel(script=[AIMessage("unused")])], {}).extract([long_message()], (), deadline=30)
    assert [accepted.text for accepted in found.ops] == ["I own book 0."]
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
    assert min(seconds(400_000) for _ in range(2)) < 8 * max(min(seconds(100_000) for _ in range(2)), 0.01)
