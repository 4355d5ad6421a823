"""Forgetting over HTTP: only what is one's own, and only where it is known who asks."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from langgraph.store.memory import InMemoryStore
from starlette.authentication import SimpleUser

from react_mem.graphs.memory_api.forget_api import MAX_IDS, router
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.records import fact_id
from tests.support.routes import NOBODY, client_of
from tests.support.telling import tell

TEA, BOAT = fact_id("user", "I like green tea"), fact_id("user", "I have a boat")


@pytest.fixture
async def store() -> InMemoryStore:
    store = InMemoryStore()
    for user in ("ann", "bob"):
        for text in ("I like green tea", "I have a boat"):
            await tell(store, text, user_id=user)
    return store


def client(store: InMemoryStore | None, user: Any) -> TestClient:
    return client_of(router, store, user)


async def known(store: InMemoryStore, user: str) -> list[str]:
    return sorted(fact.text for fact in await MemoryFacade(store).semantic.history(user_id=user))


@pytest.mark.parametrize("user", [SimpleUser("ann"), NOBODY], ids=["authenticated", "named"])
@pytest.mark.parametrize("what", [{"ids": [TEA]}, {"text": "I like green tea"}], ids=["by id", "in words"])
async def test_a_user_forgets_a_memory_of_theirs(store: InMemoryStore, user: Any, what: dict[str, Any]) -> None:
    answer = client(store, user).post("/memory/v1/forget", json={"user_id": "ann", **what})
    assert answer.status_code == 200
    told = answer.json()
    assert (told["receipt"]["removed"], told["problems"], told["unclear"]) == ({"fact": [TEA]}, [], [])
    assert {"scope semantic", "arm vector", "export"} <= {check["name"] for check in told["receipt"]["checks"]}
    assert await known(store, "ann") == ["I have a boat"]
    assert await known(store, "bob") == ["I have a boat", "I like green tea"]


async def test_of_several_those_that_are_not_there_are_named(store: InMemoryStore) -> None:
    await tell(store, "I have a plane", user_id="eve")
    theirs = fact_id("user", "I have a plane")
    answer = client(store, SimpleUser("ann")).post("/memory/v1/forget", json={"ids": ["nope", TEA, theirs, "nope"]})
    assert answer.json()["problems"] == [f"{id_}: this user has no such memory" for id_ in ("nope", theirs)]
    assert answer.json()["receipt"]["removed"] == {"fact": [TEA]}
    assert await known(store, "ann") == ["I have a boat"]


async def test_where_it_is_not_clear_what_is_meant_nothing_is_forgotten(store: InMemoryStore) -> None:
    await tell(store, "I like green tea with honey")
    await tell(store, "I like green tea with milk")
    before = await known(store, "ann")
    answer = client(store, SimpleUser("ann")).post("/memory/v1/forget", json={"text": "green tea"})
    assert (answer.status_code, answer.json()["receipt"]["removed"]) == (200, {})
    assert len(answer.json()["unclear"]) == 3
    assert await known(store, "ann") == before


@pytest.mark.parametrize(
    "body",
    [{}, {"ids": [TEA], "text": "tea"}, {"ids": [TEA] * (MAX_IDS + 1)}],
)
async def test_what_names_nothing_or_too_much_is_refused(store: InMemoryStore, body: dict[str, Any]) -> None:
    assert client(store, SimpleUser("ann")).post("/memory/v1/forget", json=body).status_code == 422
    assert len(await known(store, "ann")) == 2


async def test_without_a_store_it_says_so() -> None:
    assert client(None, SimpleUser("ann")).post("/memory/v1/forget", json={"ids": [TEA]}).status_code == 503
