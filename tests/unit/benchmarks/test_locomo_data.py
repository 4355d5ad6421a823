"""What the retrieval benchmark reads, and how it counts."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.locomo.dataset import load
from benchmarks.locomo.metrics import Ranking, latency, quality
from tests.unit.benchmarks.locomo_sample import sample, write


def test_questions_keep_the_evidence_that_is_there(tmp_path: Path) -> None:
    [conversation] = load([write(tmp_path / "set.json", sample())])
    assert [(q.text, q.category, sorted(q.evidence)) for q in conversation.questions] == [
        ("red kayak bought", "single_hop", ["D1:1"]),
        ("river cold loaf", "multi_hop", ["D1:2", "D2:2"]),
    ]
    assert conversation.skipped == 2


def test_two_people_are_user_and_assistant_by_name(tmp_path: Path) -> None:
    [conversation] = load([write(tmp_path / "set.json", sample())])
    assert [(turn.id, turn.speaker, turn.role) for turn in conversation.turns] == [
        ("D1:1", "Mira", "user"),
        ("D1:2", "Tom", "assistant"),
        ("D2:1", "Tom", "assistant"),
        ("D2:2", "Mira", "user"),
    ]


@pytest.mark.parametrize(("first", "second"), [("user", "assistant"), ("assistant", "user")])
def test_a_speaker_that_is_a_role_has_no_name(first: str, second: str, tmp_path: Path) -> None:
    data = sample()
    data["conversation"] |= {"speaker_a": first, "speaker_b": second}
    names = {"Mira": "user", "Tom": "assistant"}
    for session in ("session_1", "session_2"):
        for turn in data["conversation"][session]:
            turn["speaker"] = names[turn["speaker"]]
    [conversation] = load([write(tmp_path / "set.json", data)])
    assert [(turn.speaker, turn.role) for turn in conversation.turns] == [
        (None, role) for role in ("user", "assistant", "assistant", "user")
    ]


def test_a_picture_is_read_by_its_caption(tmp_path: Path) -> None:
    [conversation] = load([write(tmp_path / "set.json", sample())])
    assert [turn.text for turn in conversation.turns][1] == "Look at this! [shared a photo: a loaf on a table]"


def test_sessions_are_dated_and_asked_about_a_week_later(tmp_path: Path) -> None:
    [conversation] = load([write(tmp_path / "set.json", sample())])
    assert [session.said_at for session in conversation.sessions] == [
        datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
        datetime(2023, 6, 9, 9, tzinfo=UTC),
    ]
    assert conversation.asked_at == datetime(2023, 6, 16, 9, tzinfo=UTC)


def test_the_data_may_say_when_it_is_asked(tmp_path: Path) -> None:
    data = sample() | {"asked_date_time": "2023-08-01T10:00:00+07:00"}
    [conversation] = load([write(tmp_path / "set.json", data)])
    assert conversation.asked_at == datetime(2023, 8, 1, 3, tzinfo=UTC)


def test_owners_of_several_files_are_different(tmp_path: Path) -> None:
    for name in ("two", "one"):
        write(tmp_path / f"{name}.json", sample(), sample())
    conversations = load([tmp_path])
    assert len({conversation.owner for conversation in conversations}) == 4
    assert [conversation.source for conversation in conversations] == ["one", "one", "two", "two"]


def without(key: str) -> dict[str, Any]:
    data = sample()
    del data["conversation"][key]
    return data


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([without("session_2_date_time")], "set.json, sample 0: 'session_2_date_time' is missing"),
        ([sample(), {"qa": []}], "set.json, sample 1: 'conversation' is missing"),
        ([sample() | {"asked_date_time": "soon"}], "set.json, sample 0: 'soon' is no date such as"),
        ([sample() | {"conversation": {}}], "set.json, sample 0: the conversation has no session"),
        ([sample() | {"qa": []}], "no question with evidence in"),
        ([[]], "set.json, sample 0: "),
    ],
)
def test_data_in_another_layout_is_refused_by_place(content: list[Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        load([write(tmp_path / "set.json", *content)])


@pytest.mark.parametrize(("text", "message"), [("{", "cannot be read as JSON"), ("{}", "expected a list of samples")])
def test_a_file_that_is_no_data_set_is_refused(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "set.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        load([file])


def ranking(found: list[str], evidence: set[str], group: str, milliseconds: float = 1.0) -> Ranking:
    return Ranking(found, frozenset(evidence), (group,), "owner", 100, milliseconds, 10.0)


def test_recall_counts_evidence_and_a_result_that_is_no_turn_takes_a_place() -> None:
    scores = quality(
        [
            ranking(["a", "", "", "", "", "b"], {"a", "b"}, "multi_hop"),
            ranking([""] * 10 + ["c"], {"c"}, "temporal"),
        ]
    )
    assert (scores["recall@5"], scores["recall@10"], scores["recall@20"]) == (0.25, 0.5, 1.0)
    assert (scores["recall@5.multi_hop"], scores["recall@5.temporal"]) == (0.5, 0.0)
    assert (scores["all_evidence@10"], scores["all_evidence@10.multi_hop"]) == (0.5, 1.0)
    assert scores["mrr"] == round((1 + 1 / 11) / 2, 4)
    assert (scores["questions"], scores["questions.temporal"]) == (2, 1)


def test_latency_is_told_without_and_with_the_embedding() -> None:
    times = latency([ranking(["a"], {"a"}, "temporal", float(place)) for place in range(1, 101)])
    assert times == {
        "p50_ms": 50.0,
        "p95_ms": 95.0,
        "p50_with_embedding_ms": 60.0,
        "p95_with_embedding_ms": 105.0,
    }


def test_sessions_in_a_list_are_read_with_their_own_ids(tmp_path: Path) -> None:
    turns = [{"id": 7, "role": "user", "text": "tea, please"}, {"id": 8, "role": "assistant", "text": "here"}]
    questions = [
        {"question": "What to drink?", "type": "preference", "evidence": ["7", "99"], "answer": "tea"},
        {"question": "Which hotel?", "type": "abstention", "evidence": [], "answer": "unknown"},
    ]
    sessions = [{"date": "2024-03-15", "turns": turns}]
    [conversation] = load([write(tmp_path / "beam.json", {"sample_id": "1", "sessions": sessions, "qa": questions})])
    assert [(turn.id, turn.speaker, turn.role, turn.text) for turn in conversation.turns] == [
        ("D1:1", None, "user", "tea, please"),
        ("D1:2", None, "assistant", "here"),
    ]
    [question] = conversation.questions
    assert (question.category, question.evidence) == ("preference", {"D1:1"})
    assert conversation.sessions[0].said_at == datetime(2024, 3, 15, tzinfo=UTC)
