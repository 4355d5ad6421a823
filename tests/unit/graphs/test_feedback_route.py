"""Feedback over HTTP: on one's own answers only, in our form and in LangSmith's."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.store.memory import InMemoryStore
from starlette.authentication import SimpleUser

from react_mem.graphs.memory_api.forget_api import router
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.kinds import MESSAGE
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import put
from react_mem.memory.model.records import Fact
from react_mem.memory.write.turns import Turns
from tests.support.routes import client_of

ANN = SimpleUser("ann")
SECRET = "my doctor said so"


def client(store: InMemoryStore | None, user: Any) -> TestClient:
    return client_of(router, store, user)


@pytest.fixture
async def store() -> InMemoryStore:
    store = InMemoryStore()
    one = Turns(MemoryFacade(store), None, "ann", "talk", "tester")
    tea = Fact(id="tea", text="I like tea.", session_id="old", agent_id="tester")
    await one.memory.apply([put("ann", tea)])
    await one.close([HumanMessage("Hi.", id="q"), AIMessage("Tea?", id="a")], None, used=["tea"], run_id="run-1")
    return store


async def importance(store: InMemoryStore) -> float:
    item = await store.aget(scope_namespace("ann", "semantic"), "tea")
    assert item is not None
    return float(item.value["importance"])


@pytest.mark.parametrize(
    ("said", "verdict", "after"),
    [
        ({"thread_id": "talk", "score": "down", "comment": SECRET}, "down", 0.4),
        ({"thread_id": "talk", "message_id": "q", "score": -1, "key": "helpfulness"}, "down", 0.4),
        ({"thread_id": "talk", "score": 0}, "none", 0.5),
        ({"run_id": "run-1", "key": "user_score", "score": 1.0, "value": None, "comment": None}, "up", 0.6),
        ({"run_id": "run-1", "key": "thumbs", "value": "Good"}, "up", 0.6),
    ],
)
async def test_what_a_user_says_moves_what_was_used(
    store: InMemoryStore, said: dict[str, Any], verdict: str, after: float
) -> None:
    answer = client(store, ANN).post("/memory/v1/feedback", json=said)
    assert (answer.status_code, answer.json()["verdict"]) == (200, verdict)
    assert await importance(store) == pytest.approx(after)
    again = client(store, ANN).post("/memory/v1/feedback", json=said)
    assert (again.json()["memories"], await importance(store)) == (0, pytest.approx(after))
    assert SECRET not in str([item.value for item in await store.asearch(("memory",), limit=100)])


@pytest.mark.parametrize("message", ["a", "q"], ids=["answer", "question"])
async def test_an_answer_is_named_by_its_record_too_as_a_conversation_shows_it(
    store: InMemoryStore, message: str
) -> None:
    shown = await MemoryFacade(store).conversation("ann", "talk")
    assert shown is not None
    by_record = {"thread_id": "talk", "message_id": MESSAGE.id("talk", message), "score": 1}
    assert by_record["message_id"] in [one.id for one in shown.messages.items]
    answer = client(store, ANN).post("/memory/v1/feedback", json=by_record)
    assert (answer.status_code, answer.json()["verdict"]) == (200, "up")
    # the same answer, by its id in the thread
    again = client(store, ANN).post("/memory/v1/feedback", json={**by_record, "message_id": "a"})
    assert again.json()["memories"] == 0
    elsewhere = {**by_record, "thread_id": "other"}
    assert client(store, ANN).post("/memory/v1/feedback", json=elsewhere).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {"score": 1},
        {"thread_id": "talk"},
        {"thread_id": "talk", "score": "nan"},
        {"thread_id": "talk", "score": 5},
        {"run_id": "run-1", "score": 1.5},
    ],
)
async def test_what_says_nothing_is_refused(store: InMemoryStore, body: dict[str, Any]) -> None:
    assert client(store, ANN).post("/memory/v1/feedback", json=body).status_code == 422
    assert await importance(store) == 0.5


async def test_where_there_is_no_room_or_no_store_it_says_so(store: InMemoryStore) -> None:
    said = {"thread_id": "talk", "score": 1}
    codes = [
        client(store, ANN).post("/memory/v1/feedback", json={**said, "key": f"k{n}"}).status_code for n in range(11)
    ]
    assert codes == [200] * 10 + [409]
    assert client(None, ANN).post("/memory/v1/feedback", json=said).status_code == 503
