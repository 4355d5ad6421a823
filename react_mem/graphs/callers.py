"""Callers of our routes, as the server has authenticated them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import HTTPException, Query, Request
from langgraph_sdk import Auth
from starlette.authentication import UnauthenticatedUser

from react_mem.memory.runtime import OwnerId, development_user, named, unfit

_OWNER = "user_id"


async def names_user(
    user_id: Annotated[
        OwnerId | None,
        Query(
            max_length=512,
            description="Whose memory it is. Ignored where the server authenticates users: then it is theirs.",
        ),
    ] = None,
) -> None:
    """Take the user's name in a request's query, where `owner_of` reads it: a dependency of a route."""


def identity_of(request: Request) -> str | None:
    """Return the identity of the authenticated user, as graphs see it: guests included, if they have one.

    Args:
        request: The request.

    Returns:
        None where nobody is authenticated.

    Raises:
        HTTPException: If the server has let somebody in who has no identity, or one that cannot own memories: 401.
            Nothing that the request says stands in for it.
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
    """Return whether a request may say itself whose memory it means: only where the server authenticates nobody.

    Args:
        request: The request. Without a user, nobody has looked who calls, though the server may authenticate its
            users: `enable_custom_route_auth` is off.
    """
    return isinstance(request.scope.get("user"), UnauthenticatedUser)


def owner_of(request: Request, said: str | None) -> str | None:
    """Return whose memory a request is about; None for nobody's.

    Args:
        request: The request.
        said: The user that its body names, which as the query's counts only where the server authenticates nobody.

    Raises:
        HTTPException: If the user cannot own memories: 401 for one who is authenticated, 422 for one who is named.
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
