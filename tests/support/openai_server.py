"""A model that follows a script and speaks the OpenAI wire protocol over real HTTP.

Everything between a test and the model stays real: the client library, streaming, retries, structured output. What
the model says, when it fails and how is written down in the test:

    with OpenAIServer() as server:
        server.add(Reply(text="hello"))                                   # the next request, whatever it is
        server.add(Reply(json=labels.NOTHING), when=Match(schema=True), repeat=True)
        model = ChatOpenAI(base_url=server.base_url, api_key="none", model="scripted")

What a model answers an extraction is built with `tests.support.labels`.

The rule that was added first among those that match and still have a reply answers. A request that no rule matches gets
a 500 that says so, and leaving the `with` block (or the `openai_server` fixture) fails the test. As the real service
does, it refuses with 400 a strict schema that is not strict and tool messages that answer no tool call. Embeddings are
answered without a script; a rule with `Match(path="/embeddings")` overrides them. `/messages` is the same model as
Anthropic's API has it, not streamed, with what that refuses.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import pytest
from langchain_openai.chat_models import _client_utils

from tests.support.anthropic_wire import MESSAGES, claude_message
from tests.support.openai_script import CHAT, EMBEDDINGS, Match, Reply, Request, ToolCall
from tests.support.openai_wire import chunks, completion, embed, error_body, request_problem

__all__ = ["CHAT", "EMBEDDINGS", "Match", "OpenAIServer", "Reply", "Request", "ToolCall", "openai_server"]


Matcher = Callable[[Request], bool]
ReplySource = Reply | Callable[[Request], Reply]


@dataclass
class _Rule:
    when: Matcher
    replies: deque[ReplySource]
    repeat: bool

    def take(self) -> ReplySource:
        return self.replies[0] if self.repeat and len(self.replies) == 1 else self.replies.popleft()


class OpenAIServer:
    """The scripted server: a context manager on 127.0.0.1."""

    def __init__(self, *, port: int = 0, dimensions: int = 256) -> None:
        self.dimensions = dimensions
        self.requests: list[Request] = []
        self.unmatched: list[Request] = []
        self._rules: list[_Rule] = []
        self._changed = threading.Condition()
        self.closing = threading.Event()
        self._http = _Server(("127.0.0.1", port), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def base_url(self) -> str:
        """What a client takes as its base URL."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def add(self, *replies: ReplySource, when: Matcher | None = None, repeat: bool = False) -> None:
        """Add a rule."""
        with self._changed:
            self._rules.append(_Rule(when or Match(), deque(replies), repeat))

    def chats(self) -> list[Request]:
        """Return the chat requests so far."""
        with self._changed:
            return [request for request in self.requests if request.path == CHAT]

    def wait_for(self, count: int, timeout: float = 10) -> None:
        """Wait until so many requests have arrived."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= count, timeout):
                raise TimeoutError(f"{len(self.requests)} of {count} requests arrived in {timeout} s")

    def check(self) -> None:
        """Fail if a request matched no rule."""
        if self.unmatched:
            first = self.unmatched[0]
            raise AssertionError(f"{len(self.unmatched)} request(s) matched no rule of the script; {_describe(first)}")

    def start(self) -> Self:
        """Start answering."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop answering; replies that are still waiting are let go."""
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()

    def __enter__(self) -> Self:
        """Start answering."""
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop, and fail if a request matched no rule, unless the test has failed already."""
        self.close()
        if kind is None:
            self.check()

    def answer(self, request: Request) -> Reply | None:
        """Record the request and return the reply of the script; None where the server answers by itself."""
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            rule = next((rule for rule in self._rules if rule.replies and rule.when(request)), None)
            source = rule.take() if rule else None
            if source is None and request.path == EMBEDDINGS:
                return None
            if source is None:
                self.unmatched.append(request)
                return Reply(status=500, error=f"the script has no reply for this request; {_describe(request)}")
        return source if isinstance(source, Reply) else source(request)


@pytest.fixture
def openai_server() -> Iterator[OpenAIServer]:
    """A scripted server for one test; a request that no rule matched fails the test at its end."""
    # at the address of an earlier one, a cached client would write to a connection of an event loop that has ended
    _client_utils._cached_async_httpx_client.cache_clear()
    with OpenAIServer() as server:
        yield server


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    owner: OpenAIServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that has left: tests stop turns half way."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: a test prints what it needs."""

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            self._json(200, {"object": "list", "data": [{"id": "scripted", "object": "model", "owned_by": "tests"}]})
        else:
            self._json(404, error_body(f"no such endpoint: GET {self.path}"))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        request = Request(self.path.removeprefix("/v1"), body, {k.lower(): v for k, v in self.headers.items()})
        if problem := request_problem(request):
            self.server.owner.requests.append(request)
            return self._json(400, error_body(problem, "invalid_request_error"))
        reply = self.server.owner.answer(request)
        if reply is None:
            return self._json(200, embed(body, self.server.owner.dimensions))
        self._wait(reply)
        streams = bool(body.get("stream")) and request.path == CHAT
        if reply.disconnect_after is not None and not (streams and reply.status < 400):
            return self._drop()
        if reply.raw is not None:
            return self._send(
                reply.status, reply.raw, reply.headers, "text/event-stream" if streams else "application/json"
            )
        if reply.status >= 400:
            error = (
                reply.error
                if isinstance(reply.error, Mapping)
                else error_body(reply.error or f"scripted {reply.status}")
            )
            return self._json(reply.status, error, reply.headers)
        if request.path == MESSAGES:
            return self._json(200, claude_message(request, reply), reply.headers)
        if streams:
            return self._stream(request, reply)
        return self._json(200, completion(request, reply), reply.headers)

    def _wait(self, reply: Reply) -> None:
        closing = self.server.owner.closing
        if reply.delay:
            closing.wait(reply.delay)
        while reply.hold is not None and not closing.is_set() and not reply.hold.wait(0.02):
            pass

    def _stream(self, request: Request, reply: Reply) -> None:
        self.send_response(200)
        for name, value in {
            **reply.headers,
            "content-type": "text/event-stream",
            "transfer-encoding": "chunked",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        for i, chunk in enumerate(chunks(request, reply)):
            if i == reply.disconnect_after:
                return self._drop()
            self._chunk(b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n")
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _drop(self) -> None:
        self.close_connection = True

    def _json(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        self._send(status, json.dumps(body, ensure_ascii=False).encode(), headers or {}, "application/json")

    def _send(self, status: int, body: bytes, headers: Mapping[str, str], content_type: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": content_type, "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _describe(request: Request) -> str:
    asked = f"{request.path}: schema={request.schema} tools={request.tools}"
    return f"{asked} last={request.last_role}: {request.last[:300]!r}"
