"""What is kept of questions: no vector is made twice, and nothing stale is found."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.store.postgres import MemoryStore
from tests.support.databases import open_memory_store
from tests.support.recalling import SenseEmbeddings, open_recalling, put, recalled, sense_model, shared_database

QUESTIONS = ("the kayak", "a puppy", "my wage", "what was said in January 2024?")
TEXTS = ("I bought a canoe.", "The terrier sleeps.", "My salary is paid late.", "The kayak leaks.", "The puppy is ill.")


@pytest.fixture(scope="module")
def shared_url(database_server: str) -> Iterator[str]:
    with shared_database(database_server) as url:
        yield url


@pytest.fixture
async def store(shared_url: str) -> AsyncIterator[MemoryStore]:
    async with open_recalling(shared_url) as store:
        yield store


def embedded(store: MemoryStore) -> list[str]:
    """Return the questions that the embedder was asked."""
    model = store.embedding.embeddings.model  # type: ignore[attr-defined]
    assert isinstance(model, SenseEmbeddings)
    return model.questions


async def test_five_reads_of_one_question_are_one_embedding(store: MemoryStore) -> None:
    await put(store, {"a": TEXTS[0]})
    answers = [await recalled(store, "the kayak") for _ in range(5)]
    assert embedded(store) == ["the kayak"]
    assert all(answer == answers[0] for answer in answers)
    assert [hit.key for hit in answers[0].found] == ["a"]


async def test_who_is_forgotten_leaves_no_question(store: MemoryStore) -> None:
    await put(store, {"a": TEXTS[0]})
    await recalled(store, "the kayak")
    await MemoryFacade(store).forget_user("ann")
    await recalled(store, "the kayak")
    assert embedded(store).count("the kayak") == 2


async def test_zero_switches_it_off(store: MemoryStore) -> None:
    await put(store, {"a": TEXTS[0]})
    async with open_memory_store(store.pool.conninfo, sense_model(), question_cache_bytes=0) as other:
        assert other.scale.calibration
        await other.scale.settle()
        for _ in range(2):
            await recalled(other, "the kayak")
        assert len(embedded(other)) == 2
