"""Callers of our routes: an odd identity is refused, and nothing that a request says stands in for it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from langgraph_sdk import Auth
from starlette.authentication import UnauthenticatedUser
from starlette.types import Receive, Scope, Send

from react_mem.graphs.http import app

SUMMARY = {"conversation_id": "c", "user_input": "hello", "user_id": "ann"}
REQUESTS: dict[str, dict[str, Any]] = {
    "/conversations/t/end": {"user_id": "ann"},
    "/chat/summary": SUMMARY,
    "/memory/v1/memories": {"text": "I like tea.", "user_id": "ann"},
    "/memory/v1/search": {"query": "tea", "user_id": "ann"},
    "/memory/v1/context": {"message": "tea", "user_id": "ann"},
    "/memory/v1/forget": {"ids": ["x"], "user_id": "ann"},
    "/memory/v1/feedback": {"thread_id": "t", "score": 1, "user_id": "ann"},
    "/memory/v1/erase": {"confirm": "erase everything", "user_id": "ann"},
}


async def ask(path: str, body: dict[str, Any], user: Any) -> httpx.Response:
    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "user": user}, receive, send)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=served), base_url="http://server") as client:
        return await client.post(path, json=body)


@pytest.mark.parametrize("path", REQUESTS)
@pytest.mark.parametrize("identity", ["", "\u200b", "a\x00b", None], ids=repr)
async def test_an_authenticated_identity_that_is_odd_is_refused(identity: Any, path: str) -> None:
    answer = await ask(path, REQUESTS[path], SimpleNamespace(identity=identity, is_authenticated=True))
    assert answer.status_code == 401
    assert "cannot own memories" in answer.json()["detail"]


@pytest.mark.parametrize("path", REQUESTS)
async def test_the_studio_of_a_server_is_no_user(path: str) -> None:
    answer = await ask(path, REQUESTS[path], Auth.types.StudioUser("langgraph-studio-user"))
    assert answer.status_code == 401


@pytest.mark.parametrize("path", REQUESTS)
async def test_a_user_who_is_named_and_odd_is_refused_before_the_database(path: str) -> None:
    user_id = "人" * 400
    answer = await ask(path, {**REQUESTS[path], "user_id": user_id}, UnauthenticatedUser())
    assert answer.status_code == 422
    assert "`user_id` cannot own memories" in answer.json()["detail"]
    assert user_id not in answer.text
