"""What a route of the server does is recorded as a user's."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import APIRouter, HTTPException
from langgraph.store.memory import InMemoryStore

from react_mem.graphs import chat_summary_route
from react_mem.graphs.memory_api import conversations_api, forget_api
from react_mem.memory import MemoryFacade
from react_mem.memory.records import AuditActor, AuditReason
from react_mem.memory.store.audit_log import who_acts
from tests.support.routes import NOBODY, client_of


@pytest.mark.parametrize(
    ("router", "path", "body"),
    [(forget_api.router, "/memory/v1/forget", {"text": "tea"}), (conversations_api.ending, "/conversations/s/end", {})],
)
def test_what_a_route_does_is_a_users(
    router: APIRouter, path: str, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    async def acted(*_: object, **__: object) -> None:
        seen.append(who_acts())
        raise HTTPException(404)

    for name in ("forget", "forget_said", "feedback"):
        monkeypatch.setattr(MemoryFacade, name, acted)
    monkeypatch.setattr(conversations_api, "conclude_soon", acted)
    monkeypatch.setattr(chat_summary_route, "loaded_for", acted)
    answer = client_of(router, InMemoryStore(), NOBODY).post(path, json={"user_id": "ann", **body})
    assert answer.status_code == 404
    assert seen == [(AuditActor.USER, AuditReason.REQUEST)]
    assert who_acts() == (AuditActor.APPLICATION, AuditReason.CALL)
