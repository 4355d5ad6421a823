"""Requests to `/memory/v1` made at random, by a user who wants another's memory."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import httpx

from react_mem.memory.merging.transcript import record_named
from tests.attacks.random_values import CANARY, VICTIM, changed, text, torn

PREFIX = "/memory/v1"

_LISTED = {"scope": "semantic", "kind": "fact", "state": "all", "session_id": "monday", "origin": "user", "limit": "3"}
_SAID = {"text": "I live in Hue. My cat is called Mimi.", "about": "", "agent": "assistant", "user_id": VICTIM}
_SEARCHED = {"query": CANARY, "scopes": ["semantic"], "limit": 5, "as_of": "2026-01-01", "agent": "assistant"}
_PREVIEWED = {"message": f"What about {CANARY[:4]}?", "thread_id": "monday", "agent": "assistant", "user_id": VICTIM}

_TOLD = {"messages": [{"role": "user", "content": "I like tea.", "id": "a"}, {"role": "assistant", "content": "Tea!"}]}


@dataclass
class KnownIds:
    """Ids that a request may name.

    Args:
        victims: Those of another owner's records.
        own: Those of the caller's, as far as they have been told.
    """

    victims: Sequence[str]
    own: list[str]

    def one(self, r: random.Random) -> str:
        """Return an id: another owner's, one's own, or none, as a part of a path."""
        known = (*self.victims, *self.own[-20:])
        named = r.choice(known) if known and r.random() < 0.7 else text(r)[:600] or "x"
        return quote(named, safe="", errors="replace")


@dataclass(frozen=True)
class RestRequest:
    """A request.

    Args:
        method: Its method.
        path: The path behind the prefix, the query included.
        headers: Its headers, in bytes: not all of them are text.
        content: Its body.
    """

    method: str
    path: str
    headers: dict[bytes, bytes]
    content: bytes

    @property
    def said(self) -> str:
        """Return all that its answer may repeat."""
        return f"{self.path} {self.content.decode('utf-8', 'replace')}"


def rest_request(r: random.Random, known: KnownIds) -> RestRequest:
    """Return a request at random.

    Args:
        r: What it is made of.
        known: Ids that it may name.
    """
    method, path, query, body = r.choice(_requests(r, known))
    if r.random() < 0.03:
        method = r.choice(("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
    asked = changed(r, query) if r.random() < 0.6 else dict(query)
    # a body names one already
    if r.random() < (0.5 if body is None else 0.02):
        asked["user_id"] = r.choice((VICTIM, f"{VICTIM}.", text(r)))
    pairs = [(name, value) for name, value in asked.items() if value is not None]
    encoded = urlencode([(str(name), str(value)) for name, value in pairs], errors="replace")
    content = b""
    if body is not None:
        written = json.dumps(changed(r, body) if r.random() < 0.7 else body)
        written = torn(r, written) if r.random() < 0.1 else written
        content = written.encode("utf-8", "replace")
    return RestRequest(method, f"{path}?{encoded}"[:20_000] if encoded else path, _headers(r), content)


async def sent(http: httpx.AsyncClient, asked: RestRequest, known: KnownIds) -> httpx.Response:
    """Send a request, and check its answer: no failure of the server, and nothing of another owner.

    Args:
        http: The caller.
        asked: The request.
        known: Ids, which the caller's own are added to.

    Raises:
        AssertionError: If it is answered otherwise.
    """
    answer = await http.request(
        asked.method, f"{PREFIX}{asked.path}", headers=list(asked.headers.items()), content=asked.content
    )
    where = f"{asked.method} {asked.path[:100]}"
    if answer.status_code >= 500:
        raise AssertionError(f"{where} answers {answer.status_code}: {answer.text[:200]}")
    if CANARY in answer.text and CANARY not in asked.said:
        raise AssertionError(f"{where} shows another owner's memory")
    # the id of a message follows from its conversation and the client's id: who sends both of them knows it
    named = (("monday", f"said-{VICTIM}"), ("wednesday", "said-again"))
    guessed = {record_named(*one) for one in named if all(part in asked.said for part in one)}
    shown = [one for one in known.victims if one in answer.text and one not in asked.said and one not in guessed]
    if answer.status_code < 400 and shown:
        raise AssertionError(f"{where} shows the id of another owner's memory")
    if answer.status_code == 201:
        known.own.append(answer.json()["memory"]["id"])
    return answer


def _requests(r: random.Random, known: KnownIds) -> list[tuple[str, str, dict[str, Any], Any]]:
    one, other = known.one(r), known.one(r)
    return [
        ("GET", "/memories", _LISTED, None),
        ("GET", "/memories", {"cursor": text(r), "limit": r.choice(("1", "100", "101", "-1", "x"))}, None),
        ("POST", "/memories", {}, _SAID),
        ("POST", "/memories", {}, {**_SAID, "text": f"{text(r)} I like {text(r)[:40]}."}),
        ("GET", f"/memories/{one}", {}, None),
        ("PATCH", f"/memories/{one}", {}, {"text": f"I live in {text(r)[:20]} Hanoi.", "user_id": VICTIM}),
        ("DELETE", f"/memories/{one}", {}, None),
        ("POST", "/search", {}, _SEARCHED),
        ("POST", "/search", {}, {"query": text(r) or "tea", "scopes": ["dialog", "semantic", "graph"]}),
        ("POST", "/context", {}, _PREVIEWED),
        ("GET", f"/context/{one}/{other}", {}, None),
        ("GET", "/context/monday/said-ann", {}, None),
        ("GET", "/conversations", {"limit": "2", "cursor": text(r)}, None),
        ("GET", f"/conversations/{r.choice(('monday', 'wednesday', one))}", {"limit": "2", "first_turn": "1"}, None),
        ("POST", f"/conversations/{r.choice(('monday', 'wednesday', one))}/messages", {}, _told(r)),
        # its own would ask the server for the thread, which is not there
        ("DELETE", "/conversations/wednesday", {}, None),
        ("GET", "/profile", {}, None),
        ("GET", "/pending", {}, None),
        ("GET", "/hidden", {}, None),
        ("POST", f"/hidden/{one}/undo", {}, None),
        ("DELETE", f"/hidden/{one}", {}, None),
        ("GET", "/skills", {}, None),
        ("GET", "/graph", {"kind": "fact", "limit": "20"}, None),
        ("GET", "/usage", {}, None),
        ("GET", "/export", {"format": r.choice(("jsonl", "html", "markdown"))}, None),
        ("POST", "/forget", {}, {"ids": [*known.victims[:3], text(r)], "user_id": VICTIM}),
        ("POST", "/forget", {}, {"text": f"I like {CANARY}", "user_id": VICTIM}),
        ("POST", "/feedback", {}, {"thread_id": "wednesday", "message_id": "said-ann", "score": -1, "user_id": VICTIM}),
        ("POST", "/erase", {}, {"confirm": "erase nothing", "user_id": VICTIM}),
        (r.choice(("GET", "POST")), f"/{one}", {}, None),
    ]


def _told(r: random.Random) -> dict[str, Any]:
    said = {
        "role": r.choice(("user", "assistant", "tool")),
        "content": text(r),
        "id": r.choice(("", "said-ann", text(r))),
    }
    return {"messages": [*_TOLD["messages"], said] if r.random() < 0.5 else [said], "user_id": VICTIM}


def _headers(r: random.Random) -> dict[bytes, bytes]:
    headers = {b"content-type": r.choice((b"application/json", b"application/json", b"text/plain", b"x" * 50))}
    for name in (b"if-match", b"if-none-match", b"x-user-id", b"cookie", b"accept", b"content-length"):
        if r.random() < 0.1:
            value = r.choice((b'"x"', b"*", b"W/*", b",,", VICTIM.encode(), text(r).encode("utf-8", "replace")[:500]))
            # what a server's own parser of HTTP lets through
            headers[name] = bytes(byte for byte in value if byte >= 32 and byte != 127)
    return headers
