"""Tool calls that a stopped run left without a result."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from prompts import load_prompt


def close_open_calls(prompt: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Answer the calls that have no result: a run was cancelled or killed while a tool ran, and the user went on.

    Providers refuse a prompt with such calls, so that without this the conversation could never be continued.

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
            waiting.pop(message.tool_call_id, None)
        else:
            closed += _stopped(waiting)
            waiting = {}
        if isinstance(message, AIMessage):
            waiting = {
                str(call["id"]): str(call["name"]) for call in [*message.tool_calls, *message.invalid_tool_calls]
            }
        closed.append(message)
    return closed + _stopped(waiting)


def _stopped(waiting: dict[str, str]) -> list[ToolMessage]:
    text = load_prompt("stopped_call") if waiting else ""
    return [ToolMessage(text, tool_call_id=id_, name=name, status="error") for id_, name in waiting.items()]
