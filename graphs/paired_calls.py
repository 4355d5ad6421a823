"""Calls of tools that stay paired with their results: each with an id of its own, each answered in the prompt."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from react_mem.prompts import load_prompt

_STOPPED = load_prompt("stopped_call")
_NO_ID = ("", "None")
"""Placeholder for the id of a call that had none."""


def with_call_ids(answer: AIMessage) -> AIMessage:
    """Return an answer whose tool calls, the unreadable ones too, each have an id of their own.

    An id that is made is derived from the message, so that the prompts of a turn stay the same, byte for byte.

    Args:
        answer: What a model said.

    >>> call = {"name": "look", "args": {}, "id": None, "type": "tool_call"}
    >>> named = with_call_ids(AIMessage("", tool_calls=[call, {**call, "id": "a"}, {**call, "id": "a"}], id="m"))
    >>> [call["id"] for call in named.tool_calls].index("a"), len({call["id"] for call in named.tool_calls})
    (1, 3)
    """
    taken: set[str] = set()
    fields: dict[str, list[Any]] = {"tool_calls": [], "invalid_tool_calls": []}
    for field, named in fields.items():
        for call in getattr(answer, field):
            id_ = call["id"]
            if not id_ or id_ in taken:
                id_ = f"call_{uuid.uuid5(uuid.NAMESPACE_OID, f'{answer.id}:{field}:{len(named)}').hex}"
            taken.add(id_)
            named.append({**call, "id": id_})
    changed = {field: named for field, named in fields.items() if named != getattr(answer, field)}
    return answer.model_copy(update=changed) if changed else answer


def close_open_calls(prompt: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Answer the calls that have no result: a run was cancelled or killed while a tool ran, and the user went on.

    Providers refuse a prompt with such calls, so that without this the conversation could never be continued. They
    refuse calls without an id too: each gets one, and so does its result.

    Args:
        prompt: The messages for the model.

    Returns:
        The messages, each tool call followed by a result.

    >>> from langchain_core.messages import HumanMessage
    >>> call = {"name": "fetch", "args": {}, "id": "1", "type": "tool_call"}
    >>> [m.type for m in close_open_calls([AIMessage("", tool_calls=[call]), HumanMessage("hello?")])]
    ['ai', 'tool', 'human']
    """
    closed: list[BaseMessage] = []
    waiting: dict[str, str] = {}
    for message in prompt:
        if isinstance(message, ToolMessage):
            if message.tool_call_id in _NO_ID and waiting:
                message = message.model_copy(update={"tool_call_id": next(iter(waiting))})
            waiting.pop(message.tool_call_id, None)
        else:
            closed += _stopped(waiting)
            waiting = {}
        if isinstance(message, AIMessage):
            if not all(call["id"] for call in [*message.tool_calls, *message.invalid_tool_calls]):
                message = with_call_ids(message)
            waiting = {
                str(call["id"]): str(call["name"]) for call in [*message.tool_calls, *message.invalid_tool_calls]
            }
        closed.append(message)
    return closed + _stopped(waiting)


def _stopped(waiting: dict[str, str]) -> list[ToolMessage]:
    return [ToolMessage(_STOPPED, tool_call_id=id_, name=name, status="error") for id_, name in waiting.items()]
