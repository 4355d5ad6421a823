"""Calls of tools paired with their results in the prompt, whatever has become of the thread."""

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


def paired_calls(prompt: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return messages as every provider takes them: behind each answer one result for each of its calls, and no other.

    A run that was cancelled while a tool ran leaves calls without results; a thread that was trimmed has one without
    the other, or elsewhere. Providers refuse any of it, so that without this the conversation could never be continued.
    A result goes to its call; in the place of a missing one it says that the call was stopped; one without its call is
    left out. Calls without an id get one, and so do their results. What else an answer holds, such as its thinking,
    stays with it.

    Args:
        prompt: The messages for the model.

    >>> from langchain_core.messages import HumanMessage
    >>> call = {"name": "fetch", "args": {}, "id": "1", "type": "tool_call"}
    >>> [m.type for m in paired_calls([ToolMessage("", tool_call_id="0"), AIMessage("", tool_calls=[call])])]
    ['ai', 'tool']
    """
    paired: list[BaseMessage] = []
    waiting: dict[str, int] = {}
    latest = 0
    for message in prompt:
        if isinstance(message, ToolMessage):
            id_ = message.tool_call_id
            if id_ in _NO_ID:
                id_ = next((call for call, place in waiting.items() if place > latest), id_)
            if (place := waiting.pop(id_, None)) is not None:
                paired[place] = message if id_ == message.tool_call_id else _answering(message, id_)
            continue
        if isinstance(message, AIMessage):
            message = with_call_ids(message)
            latest = len(paired)
        paired.append(message)
        if isinstance(message, AIMessage):
            for call in [*message.tool_calls, *message.invalid_tool_calls]:
                waiting[str(call["id"])] = len(paired)
                paired.append(ToolMessage(_STOPPED, tool_call_id=call["id"], name=call["name"], status="error"))
    return paired


def _answering(message: ToolMessage, id_: str) -> ToolMessage:
    return message.model_copy(update={"tool_call_id": id_})
