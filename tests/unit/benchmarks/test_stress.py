"""The stress set can be read, and has the shape that it is there for."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from benchmarks.locomo.dataset import Conversation, load
from tests.support.documents import ROOT

FILES = sorted((ROOT / "benchmarks" / "stress").glob("*.json"))
CONVERSATIONS = [pytest.param(load([file]), id=file.stem) for file in FILES]


def test_every_kind_is_there() -> None:
    assert {file.stem for file in FILES} == {
        "developer",
        "english_long_answers",
        "mixed_languages",
        "two_speakers",
        "vietnamese",
    }


@pytest.mark.parametrize("conversations", CONVERSATIONS)
def test_evidence_is_there_and_comes_before_the_question(conversations: list[Conversation]) -> None:
    for conversation in conversations:
        assert conversation.skipped == 0
        said_at = [session.said_at for session in conversation.sessions]
        assert said_at == sorted(said_at)
        assert said_at[-1] < conversation.asked_at
        assert any(len(question.evidence) > 1 for question in conversation.questions)


@pytest.mark.parametrize("conversations", CONVERSATIONS)
def test_nothing_is_there_twice(conversations: list[Conversation]) -> None:
    for conversation in conversations:
        ids = [turn.id for turn in conversation.turns]
        long = [turn.text for turn in conversation.turns if len(turn.text) > 60]
        questions = [question.text for question in conversation.questions]
        assert len(ids) == len(set(ids))
        assert len(long) == len(set(long))
        assert len(questions) == len(set(questions))


@pytest.mark.parametrize("file", [file for file in FILES if file.stem != "two_speakers"], ids=lambda file: file.stem)
def test_answers_are_long_and_users_hold_the_evidence(file: Path) -> None:
    for conversation in load([file]):
        answers = [turn for turn in conversation.turns if turn.role == "assistant"]
        assert all(2_400 < len(turn.text) < 5_500 for turn in answers)
        assert median(len(turn.text) for turn in answers) > 2_900
        said_by_users = {turn.id for turn in conversation.turns if turn.role == "user"}
        evidence = [id_ for question in conversation.questions for id_ in question.evidence]
        assert sum(id_ in said_by_users for id_ in evidence) > 0.7 * len(evidence)
