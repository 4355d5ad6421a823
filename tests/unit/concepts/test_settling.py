"""What names leave in doubt: settled by initials and vectors, or not at all."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.memory import InMemoryStore

from react_mem.memory.merging.concepts.concept_store import Names
from react_mem.memory.merging.concepts.named_entities import initials, may_be_one
from react_mem.memory.model.records import Fact
from react_mem.memory.reflect import deduplication
from react_mem.memory.reflect.deduplication import EntityResolution
from react_mem.memory.reflect.driver import Report, run
from react_mem.memory.store.calibration import Calibration
from react_mem.memory.store.capabilities import StoreCapabilities
from react_mem.memory.store.embeddings import EmbeddingModel
from tests.support.databases import WordEmbeddings
from tests.unit.concepts.facts import fact
from tests.unit.concepts.test_concepts import names, write_facts

ACTOR = [fact("I met Arnold Schwarzenegger"), fact("I admire Arnold Schwarzeneger")]
SISTERS = [fact("my sister is Christina"), fact("is my boss", about="Christine")]
CITY = [fact("I live in HCMC"), fact("I was in Ho Chi Minh City")]
NAMED = [{"Arnold Schwarzenegger", "Arnold Schwarzeneger"}, {"Christina", "Christine"}]


class Same(Embeddings):
    """Says of a name in capitals what it means."""

    def __init__(self, meaning: str) -> None:
        self.meaning = meaning

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return WordEmbeddings().embed_documents([self.meaning if text.isupper() else text for text in texts])

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class Calibrated(InMemoryStore, StoreCapabilities):
    """A store that knows its embedder and the meaning of its cosines, as the one on PostgreSQL does."""

    __slots__ = ("embedding",)
    calibration = Calibration(points=((-1, 0), (0.5, 0.5), (0.9, 0.9), (1, 1)), separation={"en": 1.0})

    def __init__(self, meaning: str) -> None:
        super().__init__(index={"dims": 64, "embed": Same(meaning), "fields": ["text"]})
        self.embedding = EmbeddingModel("words", 64, Same(meaning))


async def settle_concepts(store: InMemoryStore) -> Report:
    return await run(EntityResolution(store, "ann"), None)


@pytest.mark.parametrize(
    "facts",
    [
        [fact("my friend is Anna Schmidt"), fact("my boss is Anna Müller")],
        [fact("my friend is Hoàng Oanh"), fact("my boss is Hoãng Oanh")],
    ],
)
def test_what_speaks_against_being_one(facts: list[Fact]) -> None:
    one, other = Names.in_facts(facts, Names()).concepts()
    assert not may_be_one(one, other)


async def test_initials_are_the_name_where_vectors_say_so() -> None:
    stores = Calibrated("Ho Chi Minh City"), Calibrated("Higher Command of Military Catering")
    for store in stores:
        await write_facts(store, *CITY)
        await settle_concepts(store)
    assert await names(stores[0]) == {frozenset({"HCMC", "Ho Chi Minh City"})}
    assert await names(stores[1]) == {frozenset({"HCMC"}), frozenset({"Ho Chi Minh City"})}


async def test_initials_of_two_are_nobodys() -> None:
    store = Calibrated("Ho Chi Minh City")
    await write_facts(store, *CITY, fact("I was in Hoi Chu Muong Cat"))
    await settle_concepts(store)
    assert len(await names(store)) == 3


async def test_letters_alone_merge_nothing() -> None:
    store = Calibrated("anything")
    await write_facts(store, *ACTOR, *SISTERS)
    await settle_concepts(store)
    assert len(await names(store)) == 4


async def test_pairs_are_found_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryStore()
    await write_facts(store, *CITY)
    here, threads = threading.get_ident(), []

    def noted(given: Any) -> Any:
        threads.append(threading.get_ident())
        return initials(given)

    monkeypatch.setattr(deduplication, "initials", noted)
    await settle_concepts(store)
    assert len(threads) == 1
    assert here not in threads
