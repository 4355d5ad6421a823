"""The thread of an agent that is not ours, as memory takes it: other middleware may have rewritten it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from typing_extensions import TypedDict

from react_mem.memory.merging.transcript import is_said

_MADE_BY_MIDDLEWARE = "lc_source"
"""LangChain marks what its middleware puts into a thread, such as a summary in the user's name: nobody said that."""


def is_delegated(config: RunnableConfig) -> bool:
    """Return whether a run is a subagent's of Deep Agents, whose messages another agent wrote.

    Args:
        config: The config of the run.
    """
    return (config.get("configurable") or {}).get("ls_agent_type") == "subagent"


class Mark(TypedDict):
    """Up to where memory has a thread.

    Args:
        id: The id of the last message that it has a record of.
        place: Its place in the conversation.
    """

    id: str
    place: int


def as_said(thread: Sequence[AnyMessage], mark: Mark | None) -> list[AnyMessage]:
    """Return the thread with every message at its place in the conversation.

    Where messages have been removed from the thread, empty ones that nobody said stand in, so that what comes next is
    remembered as later than what memory has already.

    Args:
        thread: The messages of the thread.
        mark: Up to where memory has it.
    """
    said = [message for message in thread if not message.additional_kwargs.get(_MADE_BY_MIDDLEWARE)]
    if mark is None:
        return said
    place = next((i for i, message in enumerate(said) if message.id == mark["id"]), -1)
    return [*(SystemMessage("") for _ in range(mark["place"] - place)), *said]


def mark_of(said: Sequence[AnyMessage]) -> Mark | None:
    """Return the mark up to which memory has a thread once it has these messages, as `as_said` returned them."""
    place = next((place for place in range(len(said) - 1, -1, -1) if is_said(said[place])), None)
    return Mark(id=str(said[place].id), place=place) if place is not None else None


def turn_of(thread: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
    """Return the messages of the current turn: from the last of the user's on."""
    start = next((i for i in range(len(thread) - 1, -1, -1) if isinstance(thread[i], HumanMessage)), 0)
    return thread[start:]


def steps_of(thread: Sequence[AnyMessage]) -> list[dict[str, Any]]:
    """Return what the agent did in the current turn: each call of a tool with its result."""
    steps: list[dict[str, Any]] = []
    # some servers begin again with `call_0` in every answer: only what is called and not yet answered is meant
    waiting: dict[str, dict[str, Any]] = {}
    for message in turn_of(thread):
        if isinstance(message, AIMessage):
            waiting = {}
            for call in message.tool_calls:
                step = {"action": call["name"], "arguments": call["args"], "observation": "", "error": ""}
                steps.append(step)
                waiting[call["id"] or ""] = step
        elif isinstance(message, ToolMessage) and message.tool_call_id in waiting:
            result = waiting.pop(message.tool_call_id)
            result["error" if message.status == "error" else "observation"] = message.text
    return steps
