"""The scripted model as Anthropic's API has it: the body of an answer, and the messages that it refuses."""

from __future__ import annotations

from typing import Any

from tests.support.openai_script import Reply, Request

MESSAGES = "/messages"


def claude_message(request: Request, reply: Reply) -> dict[str, Any]:
    """Build the body of an answer."""
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if (text := reply.content()) else []
    content += [
        {"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": dict(given.args)}  # type: ignore[arg-type]
        for call, given in zip(reply.calls(), reply.tool_calls, strict=True)
    ]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": request.body.get("model", ""),
        "content": content,
        "stop_reason": "tool_use" if reply.tool_calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def claude_problem(request: Request) -> str | None:
    """Return what the real service would refuse: calls and results that are not in two messages in a row, each once."""
    called: list[str] = []
    for i, message in enumerate([*request.messages, {"role": "end", "content": ""}]):
        blocks = [block for block in message["content"] if isinstance(block, dict)]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if missing := [id_ for id_ in called if id_ not in results]:
            return f"messages.{i - 1}: `tool_use` ids without `tool_result` blocks immediately after: {missing}"
        if extra := [id_ for id_ in results if id_ not in called]:
            return f"messages.{i}: unexpected `tool_use_id` found in `tool_result` blocks: {extra}"
        if len(results) > len(called):
            return f"messages.{i}: each tool_use must have a single result"
        called = [block["id"] for block in blocks if block["type"] == "tool_use"]
    return None
