"""A recall on a store that takes none itself."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from langgraph.store.base import GetOp, Item, SearchItem, SearchOp
from langgraph.store.memory import InMemoryStore

from react_mem.memory.index.recall import Recall, RecallOp, read_question
from react_mem.memory.model.interface import ALL_ARMS, Arm
from react_mem.memory.retrieval.divided_store import recall
from react_mem.memory.store.capabilities import StoreCapabilities
from tests.support.databases import WordEmbeddings

SPACE = ("memory", "ann", "semantic")
KEPT = {
    "tea": {"text": "she drinks green tea", "kind": "fact", "current": True},
    "coffee": {"text": "she drinks coffee", "kind": "fact", "current": True},
    "milk": {"text": "she drinks milk", "kind": "fact", "current": False},
    "paper": {"text": "on drinks and green tea", "kind": "document", "current": True},
}


@pytest.fixture
async def store() -> InMemoryStore:
    store = InMemoryStore(index={"dims": 64, "embed": WordEmbeddings(), "fields": ["text"]})
    for key, value in KEPT.items():
        await store.aput(SPACE, key, value)
        await store.aput(("memory", "bob", "semantic"), key, value)
    return store


def op(query: str, limit: int = 10, **fields: Any) -> RecallOp:
    question = read_question(query, datetime(2024, 5, 15))
    return RecallOp(SPACE, question, fields.pop("conditions", {}), limit, **fields)


async def one(store: InMemoryStore, asked: RecallOp) -> Recall:
    [answer] = await recall(store, [asked])
    assert isinstance(answer, Recall)
    return answer


def keys(answer: Recall) -> list[str]:
    return [recalled.item.key for recalled in answer.found]


async def test_the_best_come_first_with_what_each_arm_contributed(store: InMemoryStore) -> None:
    answer = await one(store, op("she drinks green tea"))
    assert keys(answer)[0] == "tea"
    assert sorted(keys(answer)) == sorted(KEPT)
    for recalled in answer.found:
        assert recalled.item.namespace == SPACE
        assert sum(recalled.arms.values()) == pytest.approx(recalled.item.score)
        assert recalled.arms.keys() == ALL_ARMS
        assert recalled.similarity is None
        assert (recalled.passage, recalled.partner) == ("", None)
    scores = [recalled.item.score or 0 for recalled in answer.found]
    assert scores == sorted(scores, reverse=True)


async def test_it_is_no_arm_that_is_missing(store: InMemoryStore) -> None:
    assert (await one(store, op("tea", pairs=True))).missing == {}


async def test_conditions_hold(store: InMemoryStore) -> None:
    conditions = {"kind": "fact", "current": {"$ne": False}}
    assert sorted(keys(await one(store, op("tea", conditions=conditions)))) == ["coffee", "tea"]


async def test_what_the_caller_has_makes_room_for_the_next(store: InMemoryStore) -> None:
    assert keys(await one(store, op("she drinks green tea", 1))) == ["tea"]
    answer = await one(store, op("she drinks green tea", 3, without=("tea", "elsewhere")))
    assert sorted(keys(answer)) == ["coffee", "milk", "paper"]


async def test_results_come_in_the_order_of_what_was_asked(store: InMemoryStore) -> None:
    get, search = GetOp(SPACE, "milk"), SearchOp(SPACE, {"kind": "document"})
    answers = await recall(store, [get, op("coffee", 1), search, op("milk", 1), GetOp(SPACE, "nothing")])
    item, coffee, documents, milk, nothing = answers
    assert isinstance(item, Item)
    assert item.key == "milk"
    assert isinstance(coffee, Recall)
    assert isinstance(milk, Recall)
    assert (keys(coffee), keys(milk)) == (["coffee"], ["milk"])
    assert isinstance(documents, list)
    assert [document.key for document in documents if isinstance(document, SearchItem)] == ["paper"]
    assert nothing is None


async def test_nothing_asked_nothing_answered(store: InMemoryStore) -> None:
    assert await recall(store, []) == []


async def test_a_store_without_an_index_answers_with_what_there_is() -> None:
    store = InMemoryStore()
    await store.aput(SPACE, "tea", KEPT["tea"])
    answer = await one(store, op("coffee"))
    assert keys(answer) == ["tea"]
    assert answer.found[0].arms == {}


async def test_a_store_that_recalls_is_asked_to() -> None:
    class Recalling(InMemoryStore, StoreCapabilities):
        recalls = True

        async def arecall(self, ops: Any) -> list[Any]:
            return [Recall(missing={Arm.LEXICAL: "asked"}) for _ in ops]

    assert (await one(Recalling(), op("tea"))).missing == {Arm.LEXICAL: "asked"}
