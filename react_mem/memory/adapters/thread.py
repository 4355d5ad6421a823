"""Threads of other agents, as memory reads them: other middleware may have rewritten them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage, ToolMessage
from typing_extensions import TypedDict

from react_mem.memory.context.dialogue import current_start
from react_mem.memory.merging.transcript import SOURCE, by_other, identified, is_said, is_users


class Mark(TypedDict):
    """Position up to which a thread is stored: the id of the last stored message, and its place in the conversation."""

    id: str
    place: int


def as_said(thread: Sequence[AnyMessage], mark: Mark | None) -> list[AnyMessage]:
    """Return the thread with every message at its place in the conversation, given the mark up to which it is stored.

    Empty system messages stand in for removed ones, so that later ones get a later turn than all stored ones.
    """
    said = [message for message in thread if not message.additional_kwargs.get(SOURCE)]
    if mark is None:
        return said
    place = next((i for i, message in enumerate(said) if message.id == mark["id"]), -1)
    return [*(SystemMessage("") for _ in range(mark["place"] - place)), *said]


def mark_of(said: Sequence[AnyMessage]) -> Mark | None:
    """Return the mark of a thread after these messages, as `as_said` returned them, are stored."""
    place = next((place for place in range(len(said) - 1, -1, -1) if is_said(said[place])), None)
    return Mark(id=str(said[place].id), place=place) if place is not None else None


def thread_of(state: Mapping[str, Any]) -> list[AnyMessage]:
    """Return the thread in a state, each message with an id, and with its marks from the state."""
    notes: Mapping[str, Any] = state.get("memory_notes") or {}
    return [
        message.model_copy(update={"additional_kwargs": notes[message.id]}) if message.id in notes else message
        for message in identified(state["messages"])
    ]


def noted(state: Mapping[str, Any], marked: Sequence[BaseMessage]) -> dict[str, Any]:
    """Return the state update that keeps marks of messages.

    Those of messages without an id go into `memory_notes`: the thread would take a marked one for a new message.
    """
    given = {message.id for message in state["messages"]}
    notes = {message.id: message.additional_kwargs for message in marked if message.id not in given}
    found = [message for message in marked if message.id in given]
    update: dict[str, Any] = {"messages": found} if found else {}
    return update | {"memory_notes": {**(state.get("memory_notes") or {}), **notes}} if notes else update


def added_since(thread: Sequence[AnyMessage], asked: str | None) -> list[AnyMessage]:
    """Return the messages in the user's name after a run's input (up to `asked`), marked as not the user's."""
    start = next((i + 1 for i in range(len(thread) - 1, -1, -1) if thread[i].id == asked), len(thread))
    return [by_other(message, "run") for message in thread[start:] if is_users(message)]


def in_place(thread: Sequence[AnyMessage], marked: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return a thread with messages replaced by their marked copies."""
    known = {message.id: message for message in marked}
    return [known.get(message.id, message) for message in thread]


def turn_of(thread: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
    """Return the messages of the current turn, which begins with the user's last message."""
    return thread[current_start(thread) :]


def steps_of(thread: Sequence[AnyMessage]) -> list[dict[str, Any]]:
    """Return the agent's steps in the current turn: each tool call with its result."""
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
