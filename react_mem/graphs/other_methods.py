"""Requests by a method that a path does not take: 405, with those that it takes.

The server puts its own routes behind ours, and one of them takes whatever comes: without this it would say that there
is nothing at the path.
"""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import HTTPException, Request
from starlette.routing import BaseRoute, Route


def refusing_other_methods(routes: Iterable[BaseRoute]) -> list[Route]:
    """Return a route for each path of some, which refuses the methods that they leave: it belongs behind all of them.

    Args:
        routes: The routes; those that take every method are left out.
    """
    taken: dict[str, set[str]] = {}
    for route in routes:
        if isinstance(route, Route) and route.methods:
            taken.setdefault(route.path, set()).update(route.methods)
    return [_refusing(path, methods) for path, methods in taken.items()]


def _refusing(path: str, methods: Iterable[str]) -> Route:
    allowed = ", ".join(sorted(methods))

    async def refuse(request: Request) -> None:
        raise HTTPException(405, f"{path} takes {allowed}, and not {request.method}", {"allow": allowed})

    every = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"]
    return Route(path, refuse, methods=every, include_in_schema=False)
