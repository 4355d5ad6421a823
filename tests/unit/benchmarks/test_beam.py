"""The benchmark of long chats: questions by their kind, and a run beside a peer."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from benchmarks.beam import __doc__ as about
from benchmarks.locomo.__main__ import main
from benchmarks.locomo.dataset import Conversation, load
from benchmarks.locomo.embedding import SharedEmbeddings
from benchmarks.locomo.run import measure
from benchmarks.locomo.systems import Bm25, ReactMem
from tests.support.databases import WordEmbeddings
from tests.unit.benchmarks.beam_sample import sample
from tests.unit.benchmarks.locomo_sample import write

# --- the data ---


def test_kinds_are_categories_and_turns_that_are_not_there_are_no_evidence(tmp_path: Path) -> None:
    [conversation] = load([write(tmp_path / "beam.json", sample())])
    assert [(q.category, sorted(q.evidence)) for q in conversation.questions] == [
        ("instruction_following", ["D1:1"]),
        ("event_ordering", ["D1:1", "D2:1"]),
    ]
    # the one to abstain from is left out as well
    assert conversation.skipped == 2
    assert conversation.asked_at == datetime(2024, 4, 9, tzinfo=UTC)


def test_the_command_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"], name="beam", about=about)
    shown = capsys.readouterr().out
    assert "usage: python -m benchmarks.beam" in shown
    assert "recall@10.instruction_following" in shown


# --- a run ---


@pytest.fixture
def conversations(tmp_path: Path) -> list[Conversation]:
    other: dict[str, Any] = sample()
    other["sessions"][0]["turns"][0]["text"] = "Never book a train before noon when I ask about travel."
    return load([write(tmp_path / "beam.json", sample(), other)])


@pytest.mark.parametrize("name", ["react_mem", "bm25"])
async def test_a_run_measures_the_prompt_of_everyone(name: str, conversations: list[Conversation]) -> None:
    embeddings = SharedEmbeddings(WordEmbeddings())
    store = InMemoryStore(index={"dims": 64, "embed": embeddings, "fields": ["text"]})
    system = ReactMem(store) if name == "react_mem" else Bm25()
    metrics = await measure(system, conversations, embeddings)
    # four turns, and everything fits
    assert metrics["prompt_evidence"] == metrics["prompt_evidence.event_ordering"] == 1.0
    assert metrics["conversations.low.prompt_evidence"] == metrics["low.prompt_evidence"] == 1.0
    assert 50 < metrics["prompt_tokens"] < 1600
    assert metrics["prompt_tokens.instruction_following"] > 50
