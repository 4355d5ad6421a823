"""The page at `/memory/ui`, where users see, correct and forget their memories.

One document that loads nothing: style and scripts are inlined at the first request, so that each is a file of its own
here without a build. It holds no memory and asks `/memory/v1` for the user's. So anybody may load it, also on a server
with authentication: a browser sends no token with a page that it opens.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

PATH = "/memory/ui"

# The page's scripts, in the order of their dependencies
SCRIPTS = (
    *("words", "base", "identity", "server", "notices", "forgetting", "lists"),
    *("cards", "correcting", "details", "search", "memories", "conversations", "why", "holdings"),
    *("drawing", "graph", "live", "start"),
)

_HEADERS = {
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
}


class OpenRoute(Route):
    """A public route, which bypasses the authentication that a server wraps around its routes."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by the endpoint itself."""
        request = Request(scope, receive)
        answer = self.endpoint(request) if request.method in (self.methods or ()) else Response(status_code=405)
        await answer(scope, receive, send)


def page(request: Request) -> Response:
    """Return the page, or 304 if the browser has it already."""
    document, policy, tag = _joined()
    headers = {**_HEADERS, "content-security-policy": policy, "etag": tag, "cache-control": "no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(document, media_type="text/html", headers=headers)


@cache
def _joined() -> tuple[bytes, str, str]:
    """Return the document, its content security policy, which allows its own scripts alone, and its tag."""
    style = _part("style.css")
    scripts = [_part(f"{name}.js") for name in SCRIPTS]
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(map(_hash, scripts))}",
            f"style-src {_hash(style)}",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            # nothing on the page is ever made of text as markup, and a browser holds it to that
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )
    text = _part("page.html").replace("<!--STYLE-->", f"<style>{style}</style>")
    text = text.replace("<!--SCRIPTS-->", "\n".join(f"<script>{script}</script>" for script in scripts))
    document = text.encode()
    return document, policy, f'"{hashlib.sha256(document).hexdigest()[:32]}"'


def _part(name: str) -> str:
    return files("react_mem.integrations.memory_page").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


route = OpenRoute(PATH, page, methods=["GET"], name="memory_page", include_in_schema=False)
