"""A chat client that names no user, over HTTP as LangChain's Agent Chat UI sends it: on a developer's machine it is
remembered, elsewhere it is told that it is not.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.dev_server import DevServer, database_for_a_server, dev_server

pytestmark = pytest.mark.e2e

SUGGESTING = """
manager: react_mem
models: {chat: extractive}
tools: [current_time, calculator]
switching:
  mode: semantic
  show_suggestions: true
  routes: {calculator: {after: [current_time]}, current_time: {after: [calculator]}}
"""

CARDED = "{manager: react_mem, models: {chat: extractive}, cards: true}"


@pytest.fixture(scope="module")
def database(database_server: str) -> Iterator[str]:
    with database_for_a_server(database_server) as url:
        yield url


@pytest.fixture(scope="module")
def server(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """`langgraph dev` as it comes: without a key, a user or authentication; beside its agent one that suggests and one
    with cards, whose components have been bundled before."""
    folder = tmp_path_factory.mktemp("chat")
    agents = folder / "agents"
    agents.mkdir()
    (agents / "suggesting.yaml").write_text(SUGGESTING, encoding="utf-8")
    (agents / "carded.yaml").write_text(CARDED, encoding="utf-8")
    bundle = folder / ".langgraph_api" / "ui"
    (bundle / "public" / "agent").mkdir(parents=True)
    (bundle / "public" / "agent" / "entrypoint.js").write_text("cards", encoding="utf-8")
    (bundle / "schemas.json").write_text('{"agent": {"name": "agent", "assets": ["entrypoint.js"]}}', encoding="utf-8")
    environment = {"DATABASE_URL": database, "EMBEDDING_MODEL": "local", "REACT_MEM_AGENTS": str(agents)}
    with dev_server(folder, environment) as running:
        yield running


class ChatClient:
    """What `useStream` of @langchain/langgraph-sdk sends for Agent Chat UI with its default settings."""

    def __init__(self, server: DevServer, **context: str) -> None:
        self._context = context
        self._http = httpx.Client(base_url=server.url, timeout=60)
        self.thread_id: str | None = None
        self.ui: list[dict[str, Any]] | None = None

    def submit(self, text: str) -> tuple[str, list[dict[str, Any]]]:
        """Send a message; return the answer and the custom events."""
        if self.thread_id is None:
            self.thread_id = self._http.post("/threads", json={}).raise_for_status().json()["thread_id"]
        message = {"id": str(uuid.uuid4()), "type": "human", "content": [{"type": "text", "text": text}]}
        body = {
            "input": {"messages": [message]},
            "assistant_id": "agent",
            "context": self._context,
            "stream_mode": ["values", "custom", "messages-tuple"],
            "stream_subgraphs": True,
            "stream_resumable": True,
            "on_disconnect": "continue",
        }
        values: dict[str, Any] = {}
        events: list[dict[str, Any]] = []
        with self._http.stream("POST", f"/threads/{self.thread_id}/runs/stream", json=body) as answer:
            assert answer.status_code == 200, answer.read()
            name = ""
            for line in answer.iter_lines():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    data = json.loads(line.removeprefix("data: "))
                    assert name != "error", data
                    if name == "values":
                        values = data
                    elif name == "custom":
                        events.append(data)
        self.ui = values.get("ui")
        return values["messages"][-1]["content"], events


def retrieved(events: list[dict[str, Any]]) -> dict[str, Any]:
    [event] = [event for event in events if event["type"] == "memory" and event["operation"] == "retrieve"]
    return event


def test_what_is_said_in_one_thread_is_known_in_the_next(server: DevServer) -> None:
    told, events = ChatClient(server).submit("My cat is called Mimi.")
    assert "Mimi" in told
    assert retrieved(events)["development_user"] == "dev"
    answer, events = ChatClient(server).submit("What is my cat called?")
    assert "Mimi" in answer
    assert retrieved(events)["development_user"] == "dev"
    assert server.log().count("development user") == 1


def test_next_steps_are_shown_where_a_client_shows_messages_alone(server: DevServer) -> None:
    client = ChatClient(server, agent="suggesting")
    client.submit("What time is it?")
    answer, events = client.submit("Thank you, that helps.")
    [suggested] = [event for event in events if event["type"] == "suggestion"]
    assert answer.endswith(f"({suggested['tool']})")
    assert "Possible next steps: " in answer


def test_cards_come_with_the_answers_of_an_agent_that_has_them_and_of_no_other(server: DevServer) -> None:
    ann = ChatClient(server, agent="carded", user_id="ann")
    _, events = ann.submit("My parrot is called Kiki.")
    assert ann.ui == [event for event in events if event["type"] == "ui"]
    assert [card["name"] for card in ann.ui] == ["remembered"]
    assert ann.ui[0]["props"]["page"] == f"{server.url}/memory/ui#/memories"
    for user, recalls in (("ann", True), ("bob", False)):
        asked = ChatClient(server, agent="carded", user_id=user)
        asked.submit("What is my parrot called?")
        assert ("Kiki" in str(asked.ui)) is recalls
    plain = ChatClient(server, user_id="ann")
    _, events = plain.submit("What is my parrot called?")
    assert plain.ui is None
    assert not [event for event in events if event["type"] == "ui"]


def test_components_that_were_bundled_before_are_served_without_a_bundler(server: DevServer) -> None:
    asked = httpx.post(f"{server.url}/ui/agent", json={"name": "recalled"})
    assert "/ui/agent/entrypoint.js" in asked.text
    assert httpx.get(f"{server.url}/ui/agent/entrypoint.js").text == "cards"
    # with `ui` it would fetch one from npm at each start, and end where there is no node
    assert "UI bundler" not in server.log()


def test_with_the_development_user_switched_off_event_answer_and_log_say_that_memory_is_off(
    database: str, tmp_path: Path
) -> None:
    environment = {"DATABASE_URL": database, "EMBEDDING_MODEL": "local", "REACT_MEM_DEV_USER": ""}
    with dev_server(tmp_path, environment) as silent:
        for _ in range(2):
            told, events = ChatClient(silent).submit("My dog is called Rex.")
            assert "Memory is off" in told
            assert "Rex" not in told
            assert retrieved(events)["status"] == "off"
            assert "REACT_MEM_DEV_USER" in retrieved(events)["message"]
        assert silent.log().count("memory is off for a run") == 1
