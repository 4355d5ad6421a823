"""Callers of our routes, as the server has authenticated them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import HTTPException, Query, Request
from langgraph_sdk import Auth
from starlette.authentication import UnauthenticatedUser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from react_mem.memory.runtime import OwnerId, development_user, named, unfit

_OWNER = "user_id"
_CREDENTIALS = (b"authorization", b"x-api-key")


class OneCredential:
    """Middleware that refuses a credential that is sent twice: a proxy may read another one than the server."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it with 400."""
        sent = [name for name, _ in scope.get("headers") or ()]
        if scope["type"] == "http" and (twice := [name.decode() for name in _CREDENTIALS if sent.count(name) > 1]):
            refused = {"detail": f"the header {', '.join(twice)} was sent twice: send one"}
            await JSONResponse(refused, 400)(scope, receive, send)
            return
        await self._app(scope, receive, send)


async def names_user(
    user_id: Annotated[
        OwnerId | None,
        Query(description="Whose memory it is. Ignored where the server authenticates users: then it is theirs."),
    ] = None,
) -> None:
    """Dependency of a route: declare the query parameter `user_id`, which `owner_of` reads."""


def identity_of(request: Request) -> str | None:
    """Return the identity of the authenticated user, guests with an identity included; None if nobody is authenticated.

    401 for an admitted caller without an identity, or with one that cannot own memories: nothing replaces it.
    """
    user: Any = request.scope.get("user")
    if user is None:
        return None
    if isinstance(user, Auth.types.StudioUser) or getattr(user, "kind", None) == "StudioUser":
        raise HTTPException(401, "who comes in as LangSmith's Studio owns no memories: authenticate as a user")
    identity = str(user.identity or "")
    if why := unfit(identity):
        raise HTTPException(401, f"the authenticated identity cannot own memories: {why}")
    return identity


def may_name_user(request: Request) -> bool:
    """Return true if a request may name the owner itself: only where the server authenticates nobody.

    A request without a user was not checked at all, even if the server authenticates its users: it does not with
    `enable_custom_route_auth` off.
    """
    return isinstance(request.scope.get("user"), UnauthenticatedUser)


def owner_of(request: Request, said: str | None) -> str | None:
    """Return the owner of the memory that a request is about; None for nobody.

    `said` is the user that its body names; like the query's, it counts only where the server authenticates nobody. A
    user that cannot own memories is refused: 401 if authenticated, 422 if named.
    """
    if may_name_user(request):
        names = {name for one in (*request.query_params.getlist(_OWNER), said) if (name := named(one))}
        if len(names) > 1:
            raise HTTPException(422, "`user_id` names several users: name one, in the query")
        name = next(iter(names), "")
        if name and (why := unfit(name)):
            raise HTTPException(422, f"`user_id` cannot own memories: {why}")
        return name or development_user() or None
    return identity_of(request)
