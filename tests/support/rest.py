"""Clients of the REST interface on our whole app, behind a server that has found out who calls."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from langgraph.store.base import BaseStore
from starlette.authentication import SimpleUser
from starlette.types import Receive, Scope, Send

from react_mem.graphs.http import app

MEMORIES = "/memory/v1/memories"


@asynccontextmanager
async def client_as(store: BaseStore | None, user: Any) -> AsyncIterator[httpx.AsyncClient]:
    """Open a client."""
    caller = SimpleUser(user) if isinstance(user, str) else user

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, **({"user": caller} if caller is not None else {})}, receive, send)

    before = getattr(app.state, "store", None)
    app.state.store = store
    transport = httpx.ASGITransport(app=served)
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield client
    finally:
        app.state.store = before
