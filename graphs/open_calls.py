"""Tool calls that a stopped run left without a result."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from react_mem.graphs.call_ids import with_call_ids
from react_mem.prompts import load_prompt

_STOPPED = load_prompt("stopped_call")
_NO_ID = ("", "None")
"""Placeholder for the id of a call that had none."""


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
