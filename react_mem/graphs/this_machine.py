"""Guard of a server that authenticates nobody because only its developer reaches it: requests of this machine alone.

Any page of the web that the developer visits can send requests to the server: JSON as `text/plain` needs no preflight,
and takes effect though the page may not read the answer. The browser names the page's origin (`Origin`,
`Sec-Fetch-Site`). A page can also have its own name resolve to 127.0.0.1 (DNS rebinding), and would then be of the same
origin as the server: the browser would let it read every answer. It cannot choose the `Host` that the browser sends,
which is its own name.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from react_mem.server_exposure import is_loopback

_WRONG_NAME = (
    "this server authenticates nobody, and answers only to the names of this machine: call it as localhost or "
    "127.0.0.1, or configure authentication (docs/security.md)"
)
_FOREIGN_PAGE = (
    "this server authenticates nobody, and takes nothing from pages of other machines: name the page's origin in "
    "http.cors.allow_origins of its langgraph.json, or configure authentication (docs/security.md)"
)

_STUDIO = r"https://([a-z]+\.)?smith\.langchain\.com"
"""Origins of LangGraph Studio, which `langgraph dev` opens."""


class OnlyThisMachine:
    """Refuses requests that reach a server under another name than this machine's own, or come from a foreign page.

    Pages of this machine may call it, and those that `http.cors` of langgraph.json lists: Studio where it lists none.
    """

    def __init__(self, app: ASGIApp, environ: Mapping[str, str] = os.environ) -> None:
        self._app = app
        cors = json.loads(environ.get("CORS_CONFIG") or "null") or (
            json.loads(environ.get("LANGGRAPH_HTTP") or "{}").get("cors") or {}
        )
        # `*`, which is also the server's default, lets every page read; it is nobody's wish that every page writes
        listed = [re.escape(origin) for origin in cors.get("allow_origins") or () if origin != "*"]
        listed += filter(None, [cors.get("allow_origin_regex")])
        self._welcome = re.compile("|".join(f"(?:{one})" for one in listed or [_STUDIO]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it with 403."""
        # the server's own calls to itself name no host that anybody could choose
        own = scope["type"] == "lifespan" or scope.get("root_path", "").startswith("/noauth")
        refusal = "" if own else self._refusal(scope)
        if not refusal:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(1008, "Forbidden")(scope, receive, send)
        else:
            await JSONResponse({"detail": refusal}, status_code=403)(scope, receive, send)

    def _refusal(self, scope: Scope) -> str:
        headers = Headers(scope=scope)
        if not _is_ours(f"//{headers.get('host', '')}"):
            return _WRONG_NAME
        if origin := headers.get("origin"):
            return "" if _is_ours(origin) or self._welcome.fullmatch(origin) else _FOREIGN_PAGE
        # a link that somebody follows is their own wish, and changes nothing
        followed = scope.get("method") == "GET" and headers.get("sec-fetch-dest") == "document"
        return _FOREIGN_PAGE if headers.get("sec-fetch-site") == "cross-site" and not followed else ""


def _is_ours(address: str) -> bool:
    try:
        return is_loopback(urlsplit(address).hostname or "")
    except ValueError:
        return False
