"""Callers of our routes, as the server has authenticated them."""

from __future__ import annotations

from fastapi import Request
from starlette.authentication import UnauthenticatedUser

from react_mem.memory.runtime import development_user, named


def identity_of(request: Request) -> str | None:
    """Return the identity of the authenticated user, as graphs see it: guests included, if they have one.

    Args:
        request: The request.

    Returns:
        None for an authenticated user without an identity, and where nobody is authenticated.
    """
    user = request.scope.get("user")
    return named(user.identity) or None if user is not None else None


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
        said: The user that it names, which counts only where the server authenticates nobody.
    """
    if may_name_user(request):
        return named(said) or development_user() or None
    return identity_of(request)
