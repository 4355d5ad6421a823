"""The server's route for MCP clients where something that it needs is missing."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from starlette.authentication import SimpleUser

from react_mem.agents.cli import main
from react_mem.graphs.mcp_route import PATH, route
from react_mem.installation import pip_install
from tests.support.routes import NOBODY

ASKED = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HEADERS = {"accept": "application/json, text/event-stream"}


class _Ann(SimpleUser):
    identity = "ann"


@contextmanager
def served(store: BaseStore | None, user: Any) -> Iterator[TestClient]:
    """Serve the route to a user of a server."""
    app = FastAPI()
    app.state.store = store
    app.router.routes.append(route)

    async def authenticated(scope: Any, receive: Any, send: Any) -> None:
        await app(scope if scope["type"] == "lifespan" else {**scope, "user": user}, receive, send)

    with TestClient(authenticated) as client:
        yield client


def test_a_user_is_served() -> None:
    with served(InMemoryStore(), _Ann("ann")) as http:
        answer = http.post(PATH, json=ASKED, headers=HEADERS)
        assert len(answer.json()["result"]["tools"]) == 5
        assert http.get(PATH, headers=HEADERS).status_code == 405


@pytest.mark.parametrize("variant", ["", "local_dev"])
def test_nobody_has_no_memory(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REACT_MEM_DEV_USER", "")
    monkeypatch.setenv("LANGSMITH_LANGGRAPH_API_VARIANT", variant)
    with served(InMemoryStore(), NOBODY) as http:
        answer = http.post(PATH, json=ASKED, headers=HEADERS)
        assert (answer.status_code, answer.json()["detail"][:16]) == (404, "no user is named")


def test_a_server_that_does_not_have_the_extra_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with served(InMemoryStore(), _Ann("ann")) as http:
        answer = http.post(PATH, json=ASKED, headers=HEADERS)
        assert answer.status_code == 503
        assert 'pip install "react-mem[mcp]"' in answer.json()["detail"]


def test_a_terminal_that_does_not_have_the_extra_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert main(["mcp", "--user", "ann"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert pip_install("mcp") in said.err


def test_a_server_whose_agent_is_not_valid_serves_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "assistant.yaml").write_text("manager: no_such_manager\n", encoding="utf-8")
    monkeypatch.setenv("REACT_MEM_AGENTS", str(tmp_path))
    with served(InMemoryStore(), _Ann("ann")) as http:
        answer = http.post(PATH, json=ASKED, headers=HEADERS)
        assert answer.status_code == 503
        assert "the agent 'assistant' of this server is not valid" in answer.json()["detail"]
