"""What a scripted model answers, and to which requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

CHAT = "/chat/completions"
EMBEDDINGS = "/embeddings"


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


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def _offers(wanted: str | bool | None, offered: Sequence[str]) -> bool:
    if wanted is None:
        return True
    return bool(offered) is wanted if isinstance(wanted, bool) else wanted in offered
