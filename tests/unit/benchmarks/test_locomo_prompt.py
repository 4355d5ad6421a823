"""Intervals of the retrieval benchmark, and how it counts the evidence that comes into a prompt."""

from __future__ import annotations

import numpy as np

from benchmarks.locomo.metrics import Prompt, Ranking, intervals, quality
from benchmarks.locomo.systems import prompt_of
from benchmarks.measures import interval
from react_mem.memory.model.interface import Fragment, MemoryResultItem, MemoryScope
from tests.unit.benchmarks.beam_sample import ANSWER

# --- intervals ---


def ranking(found: str, group: str, conversation: str, prompt: Prompt | None = None) -> Ranking:
    return Ranking([found], frozenset({"right", "other"}), (group,), conversation, 0, 0.0, 0.0, prompt)


def test_an_interval_has_the_mean_within() -> None:
    low, mean, high = interval(np.array([1.0] * 30 + [0.0] * 10))
    assert mean == 0.75
    assert 0.55 < low < 0.7
    assert 0.8 < high < 0.9


def test_an_interval_over_conversations_is_wider_where_their_questions_stand_and_fall_together() -> None:
    right = [ranking("right", "easy", name) for name in ("a", "b") for _ in range(10)]
    wrong = [ranking("wrong", "hard", name) for name in ("c", "d") for _ in range(10)]
    found = intervals([*right, *wrong])
    assert found["conversations.low.recall@10"] == 0.0
    assert found["conversations.high.recall@10"] == 0.5
    assert 0.1 < found["low.recall@10"] < 0.25 < found["high.recall@10"] < 0.4
    assert (found["low.recall@10.easy"], found["high.recall@10.easy"]) == (0.5, 0.5)
    assert (found["conversations.low.recall@10.hard"], found["high.all_evidence@10"]) == (0.0, 0.0)


def test_a_large_conversation_counts_by_its_questions() -> None:
    _, mean, high = interval(np.array([0.0] * 9 + [1.0]), ["large"] * 9 + ["small"])
    assert mean == 0.1
    assert high == 1.0


def test_one_conversation_has_no_interval_over_conversations() -> None:
    assert {name.split("@")[0] for name in intervals([ranking("right", "easy", "a")])} == {
        f"{end}.{metric}" for end in ("low", "high") for metric in ("recall", "all_evidence")
    }


# --- the prompt ---


def item(id_: str, text: str, *fragments: Fragment) -> MemoryResultItem:
    payload = {"text": text, "role": "user", "created_at": "2024-03-15T00:00:00+00:00", "kind": "message"}
    return MemoryResultItem(scope=MemoryScope.DIALOG, id=id_, payload=payload, source="message", fragments=fragments)


def test_a_line_stands_for_what_it_shows_and_a_part_will_do() -> None:
    question = Fragment(id="2", role="user", content="Can you plan a day in Kyoto without fish?")
    answer = Fragment(id="3", role="assistant", content=ANSWER)
    prompt = prompt_of("Kyoto?", [item("2", question.content, question, answer)], {"2": "D2:1", "3": "D2:2"}.get)
    assert prompt.turns == {"D2:1", "D2:2"}
    assert 100 < prompt.tokens < 250


def test_what_was_found_and_has_no_room_is_not_in_the_prompt() -> None:
    found = [item(str(place), f"{place} " + "and so on, at length and more of it, " * 15) for place in range(40)]
    prompt = prompt_of("What?", found, str)
    assert "0" in prompt.turns
    assert "39" not in prompt.turns
    assert 5 < len(prompt.turns) < 20
    assert 1000 < prompt.tokens < 1700


def test_what_is_not_shown_beside_a_line_is_not_in_the_prompt() -> None:
    question = Fragment(id="2", role="user", content="Can you plan a day in Kyoto?")
    # found by itself as well, so that it is not repeated beside its question, but there is no room for all
    answer = Fragment(id="39", role="assistant", content="Yes: Kyoto in a day. " + "And so on, at length. " * 30)
    fill = [item(str(place), f"{place} " + "and so on, at length and more of it, " * 15) for place in range(3, 39)]
    prompt = prompt_of("?", [item("2", question.content, question, answer), *fill, item("39", answer.content)], str)
    assert "2" in prompt.turns
    assert "39" not in prompt.turns


def test_a_turn_without_text_is_not_in_the_prompt() -> None:
    said = Fragment(id="2", role="user", content="Can you plan a day in Kyoto?")
    found = [item("2", said.content, said, Fragment(id="3", role="assistant", content=""))]
    assert prompt_of("?", found, str).turns == {"2"}


def test_a_record_that_is_no_turn_counts_for_nothing() -> None:
    assert prompt_of("What?", [item("summary", "They planned a day.")], {}.get).turns == frozenset()


def test_nothing_found_takes_nothing() -> None:
    assert prompt_of("What?", [], str) == Prompt(frozenset(), 0)


def test_evidence_in_the_prompt_is_counted_by_kind() -> None:
    scores = quality(
        [
            ranking("", "event_ordering", "a", Prompt(frozenset({"right", "other", "more"}), 900)),
            ranking("", "summarization", "a", Prompt(frozenset({"right"}), 601)),
        ]
    )
    assert (scores["prompt_evidence"], scores["prompt_evidence.summarization"]) == (0.75, 0.5)
    assert (scores["prompt_tokens"], scores["prompt_tokens.event_ordering"]) == (750.5, 900.0)
