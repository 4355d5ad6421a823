"""A model that follows a script and speaks the OpenAI wire protocol over real HTTP.

Everything between a test and the model stays real: the client library, streaming, retries, structured output. What
the model says, when it fails and how is written down in the test:

    with OpenAIServer() as server:
        server.add(Reply(text="hello"))                                   # the next request, whatever it is
        server.add(Reply(json={"ops": []}), when=Match(schema=True), repeat=True)
        model = ChatOpenAI(base_url=server.base_url, api_key="none", model="scripted")

The rule that was added first among those that match and still have a reply answers. A request that no rule matches gets
a 500 that says so, and leaving the `with` block (or the `openai_server` fixture) fails the test. As the real service
does, it refuses with 400 a strict schema that is not strict and tool messages that answer no tool call. Embeddings are
answered without a script; a rule with `Match(path="/embeddings")` overrides them.

Beside another process: `python -m tests.support.openai_server --script script.json --port 0`, where the script is
`{"rules": [{"when": {"contains": "tea"}, "replies": [{"text": "green?"}], "repeat": true}]}`. The base URL is the
first line of its output; `GET /requests` tells what it was asked and what nothing matched.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import math
import sys
import threading
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

CHAT = "/chat/completions"
EMBEDDINGS = "/embeddings"
_PIECE = 7  # characters a streamed chunk: short, so that words, escapes and JSON keys are cut in the middle


@dataclass(frozen=True)
class ToolCall:
    """One tool call of a reply; `args` as text is sent as it is, well-formed or not."""

    name: str
    args: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = ""

    @property
    def arguments(self) -> str:
        """The arguments as they go over the wire."""
        return self.args if isinstance(self.args, str) else json.dumps(self.args, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the server answers one request.

    Args:
        text: The assistant's text.
        json: The assistant's text as a JSON value (instead of `text`).
        tool_calls: Tool calls; several are parallel calls.
        refusal: The refusal of a model that declines a schema.
        status: The HTTP status; from 400 on the body is an error.
        error: The error's message, or its whole body.
        headers: More response headers, such as `retry-after`.
        delay: Seconds to wait first.
        hold: An event to wait for first: the test decides when the answer comes.
        truncate: Cut the text (or the last call's arguments) after so many characters, `finish_reason: length`.
        raw: The body, verbatim, instead of a well-formed one.
        empty_choices: Answer with no choice at all.
        disconnect_after: Drop the connection after so many streamed chunks; without streaming, before any answer.
    """

    text: str | None = None
    json: Any = None
    tool_calls: Sequence[ToolCall] = ()
    refusal: str | None = None
    status: int = 200
    error: str | Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0
    hold: threading.Event | None = None
    truncate: int | None = None
    raw: bytes | None = None
    empty_choices: bool = False
    disconnect_after: int | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a reply from a script file; `tool_calls` are objects with name, args and id."""
        calls = [ToolCall(**call) for call in data.get("tool_calls", ())]
        return cls(**{**data, "tool_calls": calls})

    def content(self) -> str | None:
        """The text that is sent."""
        text = json.dumps(self.json, ensure_ascii=False) if self.json is not None else self.text
        return text[: self.truncate] if text is not None and self.truncate is not None else text

    def calls(self) -> list[dict[str, Any]]:
        """The tool calls that are sent."""
        wire: list[dict[str, Any]] = [
            {
                "id": call.id or f"call_{i}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for i, call in enumerate(self.tool_calls, 1)
        ]
        if wire and self.truncate is not None:
            wire[-1]["function"]["arguments"] = wire[-1]["function"]["arguments"][: self.truncate]
        return wire

    def finish_reason(self) -> str:
        """Why the model stopped."""
        return "length" if self.truncate is not None else "tool_calls" if self.tool_calls else "stop"


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    path: str
    body: dict[str, Any]
    headers: Mapping[str, str]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of a chat request."""
        return list(self.body.get("messages") or ())

    @property
    def text(self) -> str:
        """The text of all messages, one a line."""
        return "\n".join(_text(message) for message in self.messages)

    @property
    def last(self) -> str:
        """The text of the last message."""
        return _text(self.messages[-1]) if self.messages else ""

    @property
    def last_role(self) -> str:
        """The role of the last message."""
        return str(self.messages[-1].get("role")) if self.messages else ""

    @property
    def tools(self) -> list[str]:
        """The names of the tools on offer."""
        return [tool.get("function", {}).get("name", "") for tool in self.body.get("tools") or ()]

    @property
    def schema(self) -> str | None:
        """The name of the JSON schema that was asked for."""
        return ((self.body.get("response_format") or {}).get("json_schema") or {}).get("name")


@dataclass(frozen=True, kw_only=True)
class Match:
    """Which requests a rule answers: everything that is given must hold.

    Args:
        path: The endpoint.
        contains: A substring of any message.
        last: A substring of the last message.
        last_role: The role of the last message.
        tool: A tool on offer by name; True for any, False for none.
        schema: The JSON schema asked for by name; True for any, False for none.
    """

    path: str = CHAT
    contains: str | None = None
    last: str | None = None
    last_role: str | None = None
    tool: str | bool | None = None
    schema: str | bool | None = None

    def __call__(self, request: Request) -> bool:
        """Tell whether the request is one of these."""
        return (
            request.path == self.path
            and (self.contains is None or self.contains in request.text)
            and (self.last is None or self.last in request.last)
            and (self.last_role is None or self.last_role == request.last_role)
            and _offers(self.tool, request.tools)
            and _offers(self.schema, [request.schema] if request.schema else [])
        )


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
    """The scripted server: a context manager on 127.0.0.1.

    Args:
        port: The port; 0 takes a free one.
        dimensions: The length of an embedding when the request names none.
    """

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
        """Add a rule.

        Args:
            replies: The answers, in order; a function is given the request.
            when: Which requests it answers; any chat request by default.
            repeat: Give the last reply for ever, rather than once.
        """
        with self._changed:
            self._rules.append(_Rule(when or Match(), deque(replies), repeat))

    def load(self, script: Mapping[str, Any]) -> None:
        """Add the rules of a script file."""
        for rule in script["rules"]:
            self.add(
                *(Reply.from_dict(reply) for reply in rule["replies"]),
                when=Match(**rule.get("when", {})),
                repeat=rule.get("repeat", False),
            )

    def chats(self) -> list[Request]:
        """Return the chat requests so far."""
        with self._changed:
            return [request for request in self.requests if request.path == CHAT]

    def wait_for(self, count: int, timeout: float = 10) -> None:
        """Wait until so many requests have arrived.

        Raises:
            TimeoutError: If they do not arrive in time.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= count, timeout):
                raise TimeoutError(f"{len(self.requests)} of {count} requests arrived in {timeout} s")

    def check(self) -> None:
        """Fail if a request matched no rule.

        Raises:
            AssertionError: That names the first such request.
        """
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
    with OpenAIServer() as server:
        yield server


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    owner: OpenAIServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: a test prints what it needs."""

    def do_GET(self) -> None:
        owner = self.server.owner
        if self.path == "/v1/models":
            self._json(200, {"object": "list", "data": [{"id": "scripted", "object": "model", "owned_by": "tests"}]})
        elif self.path == "/requests":
            unmatched = [{"path": r.path, "body": r.body} for r in owner.unmatched]
            self._json(
                200, {"requests": [{"path": r.path, "body": r.body} for r in owner.requests], "unmatched": unmatched}
            )
        else:
            self._json(404, _error(f"no such endpoint: GET {self.path}"))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        request = Request(self.path.removeprefix("/v1"), body, {k.lower(): v for k, v in self.headers.items()})
        if problem := request_problem(request):
            self.server.owner.requests.append(request)
            return self._json(400, _error(problem, "invalid_request_error"))
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
                reply.error if isinstance(reply.error, Mapping) else _error(reply.error or f"scripted {reply.status}")
            )
            return self._json(reply.status, error, reply.headers)
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


def completion(request: Request, reply: Reply) -> dict[str, Any]:
    """Build the body of an answer that is not streamed."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.content(), "refusal": reply.refusal}
    if reply.tool_calls:
        message["tool_calls"] = reply.calls()
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason(), "logprobs": None}
    choices = [] if reply.empty_choices else [choice]
    return {**_head(request, "chat.completion"), "choices": choices, "usage": _usage(request, reply)}


def chunks(request: Request, reply: Reply) -> Iterator[dict[str, Any]]:
    """Build the chunks of a streamed answer: role, text and calls in pieces, the finish reason, usage if asked for."""
    head = _head(request, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return {**head, "choices": [] if reply.empty_choices else [choice]}

    yield chunk({"role": "assistant", "content": "" if reply.content() is not None else None})
    for piece in _pieces(reply.content() or ""):
        yield chunk({"content": piece})
    if reply.refusal:
        yield chunk({"refusal": reply.refusal})
    for i, call in enumerate(reply.calls()):
        yield chunk({"tool_calls": [{"index": i, **call, "function": {**call["function"], "arguments": ""}}]})
        for piece in _pieces(call["function"]["arguments"]):
            yield chunk({"tool_calls": [{"index": i, "function": {"arguments": piece}}]})
    yield chunk({}, reply.finish_reason())
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": _usage(request, reply)}


def embed(body: Mapping[str, Any], default_dimensions: int) -> dict[str, Any]:
    """Build the answer to an embeddings request: hashed bags of words, so texts that share words are near."""
    given = body.get("input")
    single = isinstance(given, str) or (isinstance(given, list) and bool(given) and isinstance(given[0], int))
    inputs: list[Any] = [given] if single else list(given or ())
    size = int(body.get("dimensions") or default_dimensions)
    data = []
    for i, item in enumerate(inputs):
        values = embedding(item, size)
        packed = (
            base64.b64encode(values.tobytes()).decode() if body.get("encoding_format") == "base64" else list(values)
        )
        data.append({"object": "embedding", "index": i, "embedding": packed})
    usage = {"prompt_tokens": len(inputs), "total_tokens": len(inputs)}
    return {"object": "list", "model": body.get("model", "scripted"), "data": data, "usage": usage}


def embedding(text: str | Sequence[int], size: int) -> array[float]:
    """Return the unit vector of a text (or of token ids); the same on every machine.

    >>> embedding("green tea", 8) == embedding("Green  tea", 8)
    True
    """
    words = text.casefold().split() if isinstance(text, str) else [str(token) for token in text]
    vector = [0.0] * size
    for word in words or [""]:
        digest = hashlib.blake2b(word.encode(), digest_size=32).digest()
        for a, b in zip(digest[::2], digest[1::2], strict=True):
            vector[(a * 256 + b) % size] += 1.0 if a % 2 else -1.0
    norm = math.sqrt(sum(value * value for value in vector)) or 1.0
    return array("f", (value / norm for value in vector))


def request_problem(request: Request) -> str | None:
    """Return what the real service would refuse in this request with a 400, if anything."""
    schema = (request.body.get("response_format") or {}).get("json_schema") or {}
    if schema.get("strict") and (problem := _strict_problem(schema.get("schema") or {}, "schema")):
        return f"Invalid schema for response_format '{schema.get('name')}': {problem}"
    for tool in request.body.get("tools") or ():
        function = tool.get("function") or {}
        if function.get("strict") and (problem := _strict_problem(function.get("parameters") or {}, "parameters")):
            return f"Invalid schema for function '{function.get('name')}': {problem}"
    open_calls: set[str] = set()
    for i, message in enumerate(request.messages):
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in open_calls:
                return f"messages[{i}]: role 'tool' must be a response to a preceding message with 'tool_calls'"
            open_calls.discard(message["tool_call_id"])
        elif open_calls:
            break
        open_calls |= {call["id"] for call in message.get("tool_calls") or ()}
    if open_calls:
        return f"an assistant message with 'tool_calls' must be followed by tool messages for {sorted(open_calls)}"
    return None


def _strict_problem(schema: Any, path: str) -> str | None:
    if isinstance(schema, list):
        return next((p for i, s in enumerate(schema) if (p := _strict_problem(s, f"{path}[{i}]"))), None)
    if not isinstance(schema, dict):
        return None
    if banned := {"allOf", "not", "oneOf", "if", "then", "else", "patternProperties", "default"} & schema.keys():
        return f"in {path}, {sorted(banned)} is not permitted"
    if schema.get("type") == "object" or "properties" in schema:
        if schema.get("additionalProperties") is not False:
            return f"in {path}, 'additionalProperties' is required to be supplied and to be false"
        if missing := set(schema.get("properties", ())) - set(schema.get("required", ())):
            return f"in {path}, 'required' must include every key in properties; missing {sorted(missing)}"
    for keyword in ("properties", "$defs"):
        for name, sub in schema.get(keyword, {}).items():
            if problem := _strict_problem(sub, f"{path}.{name}"):
                return problem
    return _strict_problem(schema.get("items"), f"{path}.items") or _strict_problem(
        schema.get("anyOf"), f"{path}.anyOf"
    )


def _head(request: Request, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": int(time.time()), "model": request.body.get("model", "")}


def _usage(request: Request, reply: Reply) -> dict[str, int]:
    # About four characters a token; a client only needs it to be there and to add up.
    sent = len(request.text) // 4
    got = (len(reply.content() or "") + sum(len(call.arguments) for call in reply.tool_calls)) // 4
    return {"prompt_tokens": sent, "completion_tokens": got, "total_tokens": sent + got}


def _error(message: str, kind: str = "server_error") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def _pieces(text: str) -> Iterator[str]:
    return (text[i : i + _PIECE] for i in range(0, len(text), _PIECE))


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def _offers(wanted: str | bool | None, offered: Sequence[str]) -> bool:
    if wanted is None:
        return True
    return bool(offered) is wanted if isinstance(wanted, bool) else wanted in offered


def _describe(request: Request) -> str:
    asked = f"{request.path}: schema={request.schema} tools={request.tools}"
    return f"{asked} last={request.last_role}: {request.last[:300]!r}"


def main() -> None:
    """Serve a script file until the process is ended."""
    parser = argparse.ArgumentParser(description="A scripted model that speaks the OpenAI wire protocol.")
    parser.add_argument("--script", type=Path, required=True, help="a JSON file with rules")
    parser.add_argument("--port", type=int, default=0, help="the port; 0 takes a free one")
    parser.add_argument("--dimensions", type=int, default=256, help="the length of an embedding")
    options = parser.parse_args()
    server = OpenAIServer(port=options.port, dimensions=options.dimensions)
    server.load(json.loads(options.script.read_text(encoding="utf-8")))
    server.start()
    sys.stdout.write(f"{server.base_url}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main()
