"""Requests of this machine alone: what a server takes that authenticates nobody because only its developer reaches it.

A page of the web that the developer visits can have its own name resolve to 127.0.0.1 (DNS rebinding), and would then
be of the same origin as the server: the browser would let it read every answer. It cannot choose the `Host` that the
browser sends, which is its own name.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from react_mem.memory.runtime import is_loopback

_REFUSAL = (
    "this server authenticates nobody, and answers only to the names of this machine: call it as localhost or "
    "127.0.0.1, or configure authentication (docs/security.md)"
)


class OnlyThisMachine:
    """Refuses requests that reach a server under another name than this machine's own.

    Args:
        app: The server.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it with 403."""
        # the server's own calls to itself name no host that anybody could choose
        if scope["type"] == "lifespan" or scope.get("root_path", "").startswith("/noauth") or _names_us(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(1008, "Forbidden")(scope, receive, send)
        else:
            await JSONResponse({"detail": _REFUSAL}, status_code=403)(scope, receive, send)


def _names_us(scope: Scope) -> bool:
    try:
        return is_loopback(urlsplit(f"//{Headers(scope=scope).get('host', '')}").hostname or "")
    except ValueError:
        return False
