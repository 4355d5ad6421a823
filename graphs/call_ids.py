"""Ids of tool calls: some models leave them out or give one twice, and a result could not be told whose it is."""

from __future__ import annotations

import uuid
from typing import Any

from langchain_core.messages import AIMessage


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
