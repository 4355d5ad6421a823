"""Ending a conversation over HTTP: only one's own, and only where it is known who asks."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore
from starlette.authentication import SimpleUser

from react_mem.graphs.memory_api.conversations_api import ending
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.namespaces import work_namespace
from react_mem.memory.write.turns import Turns
from tests.support.routes import NOBODY, client_of


def client(store: InMemoryStore | None, user: Any) -> TestClient:
    return client_of(ending, store, user)


@pytest.fixture
async def store() -> InMemoryStore:
    store = InMemoryStore()
    one = Turns(MemoryFacade(store), None, "ann", "talk", "tester")
    await one.open([HumanMessage("I have a cat.", id="q")], None)
    return store


async def kinds(store: InMemoryStore, user: str) -> list[str]:
    return sorted(item.value["kind"] for item in await store.asearch(work_namespace(user)))


@pytest.mark.parametrize("user", [SimpleUser("ann"), NOBODY], ids=["authenticated", "named"])
async def test_a_user_ends_a_conversation_of_theirs(store: InMemoryStore, user: Any) -> None:
    answer = client(store, user).post("/conversations/talk/end", json={"user_id": "ann"})
    assert (answer.status_code, answer.json()) == (202, {"status": "ending"})
    assert await kinds(store, "ann") == ["conclude", "maintain"]


@pytest.mark.parametrize("body", [None, {"user_id": "  "}])
async def test_on_a_developers_own_machine_it_is_the_development_users(
    store: InMemoryStore, monkeypatch: pytest.MonkeyPatch, body: dict[str, str] | None
) -> None:
    monkeypatch.setenv("LANGSMITH_LANGGRAPH_API_VARIANT", "local_dev")
    monkeypatch.setenv("LANGGRAPH_API_URL", "http://127.0.0.1:2024")
    monkeypatch.setenv("REACT_MEM_DEV_USER", "ann")
    monkeypatch.delenv("LANGGRAPH_AUTH", raising=False)
    assert client(store, NOBODY).post("/conversations/talk/end", json=body).status_code == 202
    assert await kinds(store, "ann") == ["conclude", "maintain"]


@pytest.mark.parametrize(
    ("user", "named"),
    [
        pytest.param(SimpleUser("bob"), "ann", id="authenticated, naming another"),
        pytest.param(NOBODY, "bob", id="named, of another"),
        pytest.param(None, "ann", id="where nobody looks who calls"),
    ],
)
async def test_nobody_ends_what_is_not_theirs(store: InMemoryStore, user: Any, named: str) -> None:
    answer = client(store, user).post("/conversations/talk/end", json={"user_id": named})
    assert answer.status_code == 404
    assert [await kinds(store, user) for user in ("ann", "bob")] == [["maintain"], []]


async def test_without_a_store_it_says_so() -> None:
    assert client(None, SimpleUser("ann")).post("/conversations/talk/end").status_code == 503
