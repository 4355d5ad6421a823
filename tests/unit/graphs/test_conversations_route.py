"""Ending a conversation over HTTP: only one's own, and only where it is known who asks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore

from graphs.conversations_route import router
from memory.facade import MemoryFacade
from memory.namespaces import work_namespace
from memory.turns import Turns


def client(store: InMemoryStore | None, identity: str | None) -> TestClient:
    """Return a client of a server that authenticates its users; "" is one that does not, None one that never looks."""
    app = FastAPI()
    app.state.store = store
    app.router.routes.extend(router.routes)

    async def authenticated(scope: Any, receive: Any, send: Any) -> None:
        if identity is not None:
            scope["user"] = SimpleNamespace(identity=identity)
        await app(scope, receive, send)

    return TestClient(authenticated)


@pytest.fixture
async def store() -> InMemoryStore:
    store = InMemoryStore()
    one = Turns(MemoryFacade(store), None, "ann", "talk", "tester")
    await one.open([HumanMessage("I have a cat.", id="q")], None)
    return store


async def kinds(store: InMemoryStore, user: str) -> list[str]:
    return sorted(item.value["kind"] for item in await store.asearch(work_namespace(user)))


@pytest.mark.parametrize("identity", ["ann", ""])
async def test_a_user_ends_a_conversation_of_theirs(store: InMemoryStore, identity: str) -> None:
    answer = client(store, identity).post("/conversations/talk/end", json={"user_id": "ann"})
    assert (answer.status_code, answer.json()) == (202, {"status": "ending"})
    assert await kinds(store, "ann") == ["conclude", "maintain"]


@pytest.mark.parametrize(
    ("identity", "named", "thread"),
    [("bob", "ann", "talk"), ("", "bob", "talk"), ("ann", "ann", "another"), ("", None, "talk"), (None, "ann", "talk")],
)
async def test_nobody_ends_what_is_not_theirs(
    store: InMemoryStore, identity: str | None, named: str | None, thread: str
) -> None:
    answer = client(store, identity).post(f"/conversations/{thread}/end", json={"user_id": named})
    assert answer.status_code == 404
    assert [await kinds(store, user) for user in ("ann", "bob")] == [["maintain"], []]


async def test_without_a_store_it_says_so() -> None:
    assert client(None, "ann").post("/conversations/talk/end").status_code == 503
