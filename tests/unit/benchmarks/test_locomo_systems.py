"""What the retrieval benchmark measures: ours through the facade, and its peers, each finding what was written."""

from __future__ import annotations

from pathlib import Path

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from benchmarks.locomo.__main__ import main
from benchmarks.locomo.dataset import Conversation, load
from benchmarks.locomo.embedding import SharedEmbeddings
from benchmarks.locomo.run import measure
from benchmarks.locomo.systems import Bm25, Dense, LangMemTool, ReactMem, Store, System
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from tests.support.databases import WordEmbeddings
from tests.unit.benchmarks.locomo_sample import sample, write

SYSTEMS = ["react_mem", "bm25", "dense", "store", "langmem"]


@pytest.fixture
def conversations(tmp_path: Path) -> list[Conversation]:
    """Two owners whose turns have the same ids: what one is asked must not be answered by the other."""
    other = sample()
    other["conversation"]["session_2"][1]["text"] = "For my red kayak I bought a paddle."
    return load([write(tmp_path / "set.json", other, sample())])


@pytest.fixture
def embeddings() -> SharedEmbeddings:
    return SharedEmbeddings(WordEmbeddings())


@pytest.fixture
def store(embeddings: SharedEmbeddings) -> BaseStore:
    return InMemoryStore(index={"dims": 64, "embed": embeddings, "fields": ["text"]})


@pytest.fixture(params=SYSTEMS)
def system(request: pytest.FixtureRequest, store: BaseStore, embeddings: SharedEmbeddings) -> System:
    systems: dict[str, System] = {
        "react_mem": ReactMem(store),
        "bm25": Bm25(),
        "dense": Dense(embeddings),
        "store": Store(store),
        "langmem": LangMemTool(store),
    }
    return systems[request.param]


async def test_a_system_returns_the_owners_turns_the_nearest_first(
    system: System, conversations: list[Conversation]
) -> None:
    for conversation in conversations:
        await system.write(conversation)
    for conversation, nearest in zip(conversations, [{"D1:1", "D2:2"}, {"D1:1"}], strict=True):
        hits = await system.search(conversation, "I bought a red kayak.")
        # react_mem counts what stands beside a turn, too: the neighbour of the nearest may be the second
        first = 1 if isinstance(system, ReactMem) else len(nearest)
        assert {hit.turn_id for hit in hits[:first]} <= nearest
        assert "I bought a red kayak." in hits[0].item.payload["text"]
        assert sorted(hit.turn_id for hit in hits) == ["D1:1", "D1:2", "D2:1", "D2:2"]


async def test_a_run_counts_what_was_found(
    system: System, conversations: list[Conversation], embeddings: SharedEmbeddings
) -> None:
    metrics = await measure(system, conversations, embeddings)
    assert (metrics["recall@5"], metrics["all_evidence@10"], metrics["questions"]) == (1.0, 1.0, 4)
    assert metrics["questions.multi_hop"] == 2
    assert metrics["context_tokens"] > 20
    assert metrics["turns_per_s"] > 0
    assert metrics["p50_ms"] <= metrics["p50_with_embedding_ms"]
    assert metrics["peak_rss_bytes"] > 1_000_000
    assert "disk_bytes_per_memory" not in metrics


async def test_several_files_are_told_apart(
    conversations: list[Conversation], embeddings: SharedEmbeddings, tmp_path: Path
) -> None:
    more = load([write(tmp_path / "other.json", sample())])
    metrics = await measure(Bm25(), [*conversations, *more], embeddings)
    assert (metrics["questions"], metrics["questions.set"], metrics["questions.other"]) == (6, 4, 2)


async def test_a_session_is_written_as_a_conversation_of_the_user(
    store: BaseStore, conversations: list[Conversation]
) -> None:
    [conversation, _] = conversations
    await ReactMem(store).write(conversation)
    kept = await MemoryFacade(store).list_records(conversation.owner, [MemoryScope.DIALOG])
    said = sorted((item.payload["session_id"], item.payload["turn"], item.payload["role"]) for item in kept)
    sessions = [f"{conversation.owner}/session_{number}" for number in (1, 2)]
    assert said == [
        (sessions[0], 0, "user"),
        (sessions[0], 1, "assistant"),
        (sessions[1], 0, "assistant"),
        (sessions[1], 1, "user"),
    ]


# --- embedding once ---


def test_a_known_text_is_charged_but_not_embedded_again(embeddings: SharedEmbeddings) -> None:
    [first] = embeddings.embed_documents(["tea"])
    spent, charged = embeddings.spent, embeddings.charged
    assert 0 < charged <= spent
    assert embeddings.embed_documents(["tea", "tea"]) == [first, first]
    assert (embeddings.spent, embeddings.charged) == (spent, 2 * charged)


def test_a_query_is_not_a_text_and_is_charged_too(embeddings: SharedEmbeddings) -> None:
    [text] = embeddings.embed_documents(["tea"])
    charged = embeddings.charged
    assert embeddings.embed_query("tea") != text
    once = embeddings.charged - charged
    spent = embeddings.spent
    embeddings.embed_query("tea")
    assert embeddings.charged - charged == pytest.approx(2 * once)
    assert once > 0
    assert embeddings.spent == spent


# --- the command ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "missing.json"], "missing.json cannot be read"),
        (["--data", "set.json", "--peers", "nobody"], "invalid choice: 'nobody'"),
    ],
)
def test_a_command_that_cannot_run_says_why(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "set.json", sample())
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "--json", "out.json"])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()
