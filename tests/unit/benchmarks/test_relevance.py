"""The set of facts and questions by which the cut of what is relevant was chosen."""

from __future__ import annotations

from collections import Counter

from benchmarks.relevance.__main__ import Asked, load_facts, load_questions, metrics


def test_the_set_has_the_numbers_that_it_says() -> None:
    facts, questions = load_facts(), load_questions()
    assert len(set(facts)) == 60
    assert len({question.text for question in questions}) == 120
    assert Counter(len(question.needs) for question in questions) == {0: 30, 1: 50, 2: 25, 3: 15}
    assert all(place < len(facts) for question in questions for place in question.needs)
    halves = Counter(question.half for question in questions)
    assert sum(halves.values()) == 120
    assert min(halves.values()) > 40
    assert load_questions("test") + load_questions("tuning") != questions
    assert len(load_questions("test")) == halves["test"]


def test_its_metrics() -> None:
    questions = [Asked("a", frozenset({1, 2})), Asked("b", frozenset())]
    assert metrics(questions, [[1, 3], [4]], [[1, 2, 3], [4, 5]]) == {
        "recall": 0.5,
        "recall_kept": 0.5,
        "shown_per_needed": 1.5,
        "shown_where_none_needed": 1.0,
    }
