"""The bodies of the OpenAI wire protocol, and what the real service refuses."""

from __future__ import annotations

import base64
import hashlib
import math
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.support.anthropic_wire import MESSAGES, claude_problem
from tests.support.openai_script import Reply, Request

_PIECE = 7  # characters a streamed chunk: short, so that words, escapes and JSON keys are cut in the middle


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
    if request.path == MESSAGES:
        return claude_problem(request)
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


def error_body(message: str, kind: str = "server_error") -> dict[str, Any]:
    """Build the body of an error."""
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def _pieces(text: str) -> Iterator[str]:
    return (text[i : i + _PIECE] for i in range(0, len(text), _PIECE))
