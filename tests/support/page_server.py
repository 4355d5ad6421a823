"""Our whole app on a port for a browser, with a store that a test fills: who sends `Bearer ann` is ann."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import uvicorn
from langgraph.store.base import BaseStore
from starlette.authentication import AuthCredentials, SimpleUser, UnauthenticatedUser
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from react_mem.graphs.auth.permissions import ADMINISTRATOR
from react_mem.graphs.http import app
from tests.support.people import ADMIN
from tests.support.stores import open_any_store

Result = TypeVar("Result")


class PageServer:
    """A server in a thread of its own, whose event loop the store belongs to."""

    def __init__(self, url: str, store: BaseStore, loop: asyncio.AbstractEventLoop) -> None:
        self.url = url
        self.store = store
        self._loop = loop

    def run(self, act: Callable[[BaseStore], Awaitable[Result]]) -> Result:
        """Return what comes of an act on the store."""

        async def acting() -> Result:
            return await act(self.store)

        return asyncio.run_coroutine_threadsafe(acting(), self._loop).result(120)


@contextmanager
def page_server(database_server: str, *, authenticates: bool = True) -> Iterator[PageServer]:
    """Serve the app for the length of a context, on a database of its own."""
    started: list[PageServer] = []
    ready, stop = threading.Event(), threading.Event()

    async def serve() -> None:
        with socket.socket() as port:
            port.bind(("127.0.0.1", 0))
            async with open_any_store("memory store", database_server) as store:
                before = getattr(app.state, "store", None)
                app.state.store = store
                config = uvicorn.Config(
                    _guarded if authenticates else _open, lifespan="off", log_level="error", timeout_graceful_shutdown=1
                )
                server = uvicorn.Server(config)
                serving = asyncio.create_task(server.serve(sockets=[port]))
                started.append(
                    PageServer(f"http://127.0.0.1:{port.getsockname()[1]}", store, asyncio.get_running_loop())
                )
                ready.set()
                await asyncio.to_thread(stop.wait)
                server.should_exit = True
                await serving
                app.state.store = before

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    try:
        assert ready.wait(60)
        yield started[0]
    finally:
        stop.set()
        thread.join(30)


async def _guarded(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve who sends a token, as a server does that authenticates its users; the page is for anybody."""
    token = Headers(scope=scope).get("authorization", "").removeprefix("Bearer ")
    if token:
        scope["user"] = SimpleUser(token)
        scope["auth"] = AuthCredentials([ADMINISTRATOR] if token == ADMIN else [])
    elif scope["path"].startswith("/memory/v1"):
        await JSONResponse({"detail": "send `Authorization: Bearer` with a token"}, 401)(scope, receive, send)
        return
    await app(scope, receive, send)


async def _open(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve anybody, as a development server does."""
    await app({**scope, "user": UnauthenticatedUser()}, receive, send)
