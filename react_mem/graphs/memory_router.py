"""`memory_router`: the memory of an application's users, mounted in it: REST, page, MCP and the stream of changes.

Whose memory a request is about is said by the application's `current_user(request)`, else by the session of the page,
which begins with a signed link; a `user_id` of the request never counts.
"""

from __future__ import annotations

import hmac
import inspect
import json
import logging
import math
import secrets
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from react_mem.errors import (
    ChoiceRefused,
    InvalidArgument,
    InvalidInputError,
    LegalHoldError,
    MemoryChanged,
    MemoryFull,
    NotThere,
    QuotaExceeded,
    ReactMemError,
    WriteConflict,
)
from react_mem.installation import of_extra

with of_extra("server"):
    from fastapi import FastAPI, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse

from starlette.authentication import AuthCredentials, SimpleUser
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

from react_mem.graphs.callers import identity_of
from react_mem.graphs.mcp_route import route as mcp_route
from react_mem.graphs.memory_api.callers_memory import rest_router
from react_mem.graphs.memory_api.context_api import router as context
from react_mem.graphs.memory_api.conversations_api import router as conversations
from react_mem.graphs.memory_api.forget_api import router as forget
from react_mem.graphs.memory_api.holdings_api import router as holdings
from react_mem.graphs.memory_api.memories_api import router as memories
from react_mem.integrations.memory_page.document import route as memory_page
from react_mem.memory import MemoryFacade
from react_mem.memory.runtime import unfit
from react_mem.memory.turns import cause_of, for_clients, scrub
from react_mem.server_exposure import is_loopback

log = logging.getLogger(__name__)

CurrentUser: TypeAlias = Callable[[Request], Awaitable[str | None] | str | None]
"""Returns the id of the user who makes a request, None for nobody; it may raise an `HTTPException`."""

# The application of the routes, and its errors.

_REFUSED = {MemoryChanged: 412, MemoryFull: 413, LegalHoldError: 423, NotThere: 404}


async def say_what_failed(request: Request, error: Any) -> JSONResponse:
    """Answer with an error of ours: 4xx where the request or its user is the cause, else 503."""
    if isinstance(error, QuotaExceeded):
        seconds = max(1, math.ceil((error.free_at - datetime.now(UTC)).total_seconds()))
        return JSONResponse({"detail": str(error)}, 429, {"retry-after": str(seconds)})
    if isinstance(error, WriteConflict):
        return JSONResponse({"detail": f"{error}; ask again"}, 503, {"retry-after": "1"})
    if status := _REFUSED.get(type(error)):
        return JSONResponse({"detail": str(error)}, status)
    told = for_clients(error)
    if told is not error:
        log.error("a request could not be answered: %s", cause_of(error))
    wrong = isinstance(error, InvalidInputError | ChoiceRefused | InvalidArgument)
    return JSONResponse({"detail": scrub(told)}, 422 if wrong else 503)


async def say_what_is_wrong(request: Request, error: Any) -> JSONResponse:
    """Answer 422 with the wrong fields, without their content: it may be long, and answers are logged."""
    detail = [{"type": part["type"], "loc": part["loc"], "msg": part["msg"]} for part in error.errors()]
    return JSONResponse({"detail": detail}, status_code=422)


def memory_application(lifespan: Lifespan[Any] | None = None) -> FastAPI:
    """Return the application of the routes that memory has wherever it is served."""
    # a server serves the documentation of all routes itself, at /docs and /openapi.json
    app = FastAPI(title="react-mem", lifespan=lifespan, openapi_url=None, docs_url=None, redoc_url=None)
    app.add_exception_handler(ReactMemError, say_what_failed)
    app.add_exception_handler(RequestValidationError, say_what_is_wrong)
    # Not `include_router`: its route has no `app`, to which a LangGraph server adds the authentication.
    for mounted in (forget, memories, context, conversations, holdings):
        app.router.routes.extend(mounted.routes)
    app.router.routes.extend([mcp_route, memory_page])
    return app


# The session of the page: a link that lives a minute is exchanged for a cookie of the same site.

LINK_SECONDS = 60
SESSION_SECONDS = 3600
MIN_SECRET_BYTES = 32
COOKIE = "react_mem_session"
_FOREIGN = "this changes memory, and comes from a page of another site: only the memory page may send it so"
_OVER = "This link is over: it lives for a minute. Open your memory once more from where you came."


class PageSessions:
    """Signed names of users, for links and for cookies: one is not taken for the other."""

    def __init__(self, secret: str | None) -> None:
        if secret is not None and len(secret.encode()) < MIN_SECRET_BYTES:
            raise InvalidArgument(
                f"secret has fewer than {MIN_SECRET_BYTES} bytes, so it can be guessed; make one with: "
                "openssl rand -base64 48"
            )
        self._key = secret.encode() if secret is not None else secrets.token_bytes(32)

    def signed(self, purpose: str, user_id: str, seconds: int) -> str:
        """Return a signed name that is good for some seconds."""
        if why := unfit(user_id):
            raise InvalidArgument(f"user_id cannot own memories: {why}")
        said = json.dumps([user_id, int(time.time()) + seconds], ensure_ascii=False).encode().hex()
        return f"{said}.{self._signature(purpose, said)}"

    def user(self, purpose: str, token: str) -> str | None:
        """Return the user that a signed name is of; None for one that is over, or that was not signed here."""
        said, _, signature = token.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(purpose, said).encode()):
            return None
        user_id, ends = json.loads(bytes.fromhex(said))
        return str(user_id) if time.time() < ends else None

    def _signature(self, purpose: str, said: str) -> str:
        return hmac.digest(self._key, f"react-mem {purpose}\n{said}".encode(), "sha256").hex()


def _bears(request: Request) -> bool:
    """Return true for a request with a credential that no browser adds by itself: a foreign page has to ask (CORS)."""
    return request.headers.get("authorization", "").lower().startswith("bearer ") or "x-api-key" in request.headers


def _is_foreign(request: Request) -> bool:
    """Return true for a change that a page of another site may have a browser send, in the name of its user."""
    headers = request.headers
    if request.method in ("GET", "HEAD", "OPTIONS") or _bears(request):
        return False
    if site := headers.get("sec-fetch-site"):
        return site not in ("same-origin", "none")
    if origin := headers.get("origin"):
        return urlsplit(origin).netloc.lower() != headers.get("host", "").lower()
    # no browser of this decade says neither; without a cookie it is none
    return "cookie" in headers


links = rest_router("Page")


@links.post("/link", summary="Make a link to the page")
async def make_link(request: Request) -> dict[str, str]:
    """Return the `path` of a link that opens the page as the caller, for a minute and a session of an hour."""
    return {"path": request.app.state.link(identity_of(request), f"{request.scope['root_path']}/memory")}


# What an application mounts.


class MemoryRouter:
    """The memory of an application's users as an ASGI application; see `memory_router`."""

    def __init__(self, memory: MemoryFacade, current_user: CurrentUser, secret: str | None = None) -> None:
        self._current_user = current_user
        self._sessions = PageSessions(secret)
        app = memory_application()
        app.router.routes.extend(links.routes)
        app.state.memory, app.state.link = memory, self.link
        self._app: ASGIApp = app

    def link(self, user_id: str, mounted_at: str = "/memory") -> str:
        """Return a link to the page for an authenticated user's browser; `mounted_at` is the router's path."""
        return f"{mounted_at}/enter?token={self._sessions.signed('link', user_id, LINK_SECONDS)}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request as the application's user, or as the one of the page's session."""
        if scope["type"] != "http":
            raise RuntimeError("the router of memory takes requests of HTTP alone: mount it with app.mount()")
        above, named, rest = scope.get("root_path", "").rpartition("/memory")
        if not named or rest:
            raise RuntimeError('mount the router of memory at a path that ends in /memory: app.mount("/memory", ...)')
        if not scope["path"].startswith(scope["root_path"]):
            # behind a proxy that keeps its prefix from the path, of which the server was told
            scope = {**scope, "path": scope.get("app_root_path", "") + scope["path"]}
        request = Request(scope)
        path = scope["path"].removeprefix(scope["root_path"])
        answer: ASGIApp = self._app
        if path == "/enter" and request.method == "GET":
            answer = self._entered(request)
        elif path != "/ui":
            scope = {**scope, "user": SimpleUser(await self._user(request)), "auth": AuthCredentials()}
            if _is_foreign(request):
                answer = JSONResponse({"detail": _FOREIGN}, 403)
        # its routes say /memory themselves
        await answer({**scope, "root_path": above}, receive, send)

    async def _user(self, request: Request) -> str:
        refusal = HTTPException(401, "nobody is signed in")
        found: Any = None
        try:
            # one that blocks, blocks nobody else
            said: Any = await run_in_threadpool(self._current_user, request)
            found = await said if inspect.isawaitable(said) else said
        except HTTPException as error:
            if error.status_code != 401:
                raise
            refusal = error
        # whoever sends a credential is known by it, or nobody: the browser may keep the session of another
        if found is None and not _bears(request):
            found = self._sessions.user("session", request.cookies.get(COOKIE, ""))
        if found is None:
            raise refusal
        if not isinstance(found, str):
            raise TypeError(f"current_user returned a {type(found).__name__}: return the user's id as text, or None")
        return found

    def _entered(self, request: Request) -> Response:
        user_id = self._sessions.user("link", request.query_params.get("token", ""))
        headers = {"referrer-policy": "no-referrer", "cache-control": "no-store"}
        if user_id is None:
            return PlainTextResponse(_OVER, 401, headers)
        # relative to the link, as the cookie's path is: a proxy may have a prefix that nobody here knows
        answer = RedirectResponse("ui", 303, headers)
        answer.set_cookie(
            COOKIE,
            self._sessions.signed("session", user_id, SESSION_SECONDS),
            max_age=SESSION_SECONDS,
            path=None,
            secure=not is_loopback(request.url.hostname or ""),
            httponly=True,
            # the page asks for everything itself, so that no link of another site needs the cookie
            samesite="strict",
        )
        return answer


def memory_router(memory: MemoryFacade, current_user: CurrentUser, *, secret: str | None = None) -> MemoryRouter:
    """Return the memory of an application's users, for a Starlette or FastAPI application to mount at `/memory`.

    It serves `/memory/v1` (REST, with the stream of changes), `/memory/ui` (the page) and `/memory/mcp`, all of them
    under the policy and with the checkpointer of `memory`.

        async with open_memory() as memory:
            app.mount("/memory", memory_router(memory, current_user))

    Args:
        memory: The memory, as `open_memory` opens it.
        current_user: Returns the id of the user who makes a request, None for nobody; it may be async, and may raise
            an `HTTPException`. Of the request it gets all but the body.
        secret: Signs the links and sessions of the page, 32 bytes or more: the same in all processes, another for
            other users. By default each process makes one, and a restart ends the sessions.

    Raises:
        InvalidArgument: If an argument cannot be used; the message names it and the cure.
    """
    if not isinstance(memory, MemoryFacade):
        raise InvalidArgument(f"memory is a {type(memory).__name__}; give what `async with open_memory()` yields")
    try:
        inspect.signature(current_user).bind(object())
    except (TypeError, ValueError):
        raise InvalidArgument(
            "current_user cannot be called with a request alone; give a function such as `def current_user(request)`, "
            "which returns the user's id or None"
        ) from None
    return MemoryRouter(memory, current_user, secret)
