"""An answer whose tool calls its client cannot make a message of."""

from __future__ import annotations

import json
import uuid

from langchain_core.messages import AIMessage
from langchain_core.messages.tool import invalid_tool_call
from pydantic import ValidationError

_UNKNOWN = "unknown_tool"
"""Stands for the name, which the error does not tell: providers refuse a call without one when it is sent back."""


def unreadable_answer(error: Exception) -> AIMessage | None:
    """Return what a model said whose client failed on arguments that are valid JSON, but no object.

    Where an answer comes in pieces, the client itself marks such a call as invalid; where it comes whole, or as events,
    the message cannot be built. All that is left of the answer are the arguments: the model has to say it again.

    Args:
        error: What the call of the model raised.

    Returns:
        The answer, its calls marked as invalid; None where something else is wrong.
    """
    if not isinstance(error, ValidationError):
        return None
    wrong = error.errors(include_url=False, include_context=False)
    if not all(found["loc"][:1] == ("tool_calls",) and found["loc"][-1] == "args" for found in wrong):
        return None
    calls = [
        invalid_tool_call(
            name=_UNKNOWN, args=json.dumps(found["input"], ensure_ascii=False, default=str), id=None, error=None
        )
        for found in wrong
    ]
    return AIMessage("", id=str(uuid.uuid4()), invalid_tool_calls=calls)
