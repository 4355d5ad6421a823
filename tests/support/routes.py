"""A client of the server's own routes, on a server that says who calls."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient
from langgraph.store.base import BaseStore
from starlette.authentication import UnauthenticatedUser

NOBODY = UnauthenticatedUser()
"""Whom a server that authenticates nobody takes everybody for."""


def client_of(router: APIRouter, store: BaseStore | None, user: Any) -> TestClient:
    """Return a client."""
    app = FastAPI()
    app.state.store = store
    app.router.routes.extend(router.routes)

    async def authenticated(scope: Any, receive: Any, send: Any) -> None:
        if user is not None:
            scope["user"] = user
        await app(scope, receive, send)

    return TestClient(authenticated)
