"""Checks of what the states of a user's threads still say after a forgetting, by channel.

A thread keeps its messages: those that memory knows as forgotten are blank in its prompts. Any other channel, and any
other message, such as a tool's result, may go to the model again: middleware reads files, notes and lists from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage, convert_to_messages
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.store.base import BaseStore

from react_mem.memory.merging.transcript import message_record_id
from react_mem.memory.model.operations import UNREAD, Check
from react_mem.memory.rights.saying import Sayings
from react_mem.memory.rights.unsaid import read_forgotten
from react_mem.memory.store.checkpointer import thread_marks, threads_of

_MESSAGES = "messages"
_REMOVE_ALL = "__remove_all__"  # LangGraph's, whose module takes half a second to import
_OF_A_TURN = frozenset({"layout", "working_memory", "task", "suggestions", "ui", "memory_prompt"})
"""Channels that a manager of ours writes anew before the model is asked again."""

_MOST_CHARS = 200_000  # characters of a channel that are read
_NAMED = 10


async def look_through_threads(
    store: BaseStore, checkpointer: BaseCheckpointSaver[Any] | None, user_id: str, texts: Sequence[str]
) -> AsyncIterator[Check]:
    """Yield a check of each channel that the threads of a user have: the threads whose state says the forgotten."""
    if checkpointer is None:
        yield Check(name=f"{UNREAD} thread states", problem="no checkpointer was given")
        return
    marks = [str(item.value["thread_id"]) for item in await thread_marks(store, user_id)]
    named = await threads_of(checkpointer, user_id)
    sayings = Sayings(texts)
    found: dict[str, list[str]] = {}
    for thread_id in dict.fromkeys([*marks, *(named or ())]):
        forgotten = await read_forgotten(store, user_id, thread_id)
        held = [one async for one in checkpointer.alist({"configurable": {"thread_id": thread_id}})]
        channels = await asyncio.to_thread(_channels_of, held)
        if _MESSAGES in channels:
            shown = [m for m in channels[_MESSAGES] if message_record_id(thread_id, m) not in forgotten]
            channels[_MESSAGES] = shown
        for name, value in channels.items():
            says = await asyncio.to_thread(_says, value, sayings)
            found.setdefault(name, []).extend([thread_id] if says else [])
    for name, threads in sorted(found.items()):
        if name not in _OF_A_TURN:
            yield Check(name=f"state {name}", hits=len(threads), ids=tuple(threads[:_NAMED]))
        elif threads:
            yield Check(name=f"{UNREAD} state {name}", problem=f"{len(threads)} keep it until their next turn")
    if named is None:
        problem = "the checkpointer lists none: the states of other graphs were not looked at"
        yield Check(name=f"{UNREAD} thread states", problem=problem)


def _channels_of(held: Sequence[CheckpointTuple]) -> dict[str, Any]:
    """Return the present values of a thread's channels, given its checkpoints, the latest first."""
    channels: dict[str, Any] = {}
    messages: list[Any] = []
    seen: set[str] = set()
    for one in held:
        namespace = str(one.config["configurable"].get("checkpoint_ns") or "")
        latest = namespace not in seen
        seen.add(namespace)
        for name, value in one.checkpoint["channel_values"].items():
            if latest and not name.startswith(("__", "branch:")):
                channels.setdefault(name, []).append(value)
        # a channel of additions has no value of its own: what was written to it is beside each checkpoint
        for _, name, value in reversed(one.pending_writes or ()):
            if name == _MESSAGES:
                messages[:0] = _flat(value)
    snapshot = [message for value in channels.pop(_MESSAGES, ()) for message in _flat(value)]
    if snapshot or messages:
        channels[_MESSAGES] = _last_of_each([*snapshot, *messages])
    return channels


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple) and not (len(value) == 2 and all(isinstance(part, str) for part in value)):
        return [message for part in value for message in _flat(part)]
    return [value]


def _last_of_each(messages: Sequence[Any]) -> list[BaseMessage]:
    """Return messages as they are after all writes: the last of each id, without the removed ones."""
    there: dict[str, BaseMessage] = {}
    for message in messages:
        try:
            [read] = convert_to_messages([message])
        except (NotImplementedError, TypeError, ValueError):
            # no message, but what holds some
            read = HumanMessage("", additional_kwargs={"held": message})
        if not isinstance(read, RemoveMessage):
            there[read.id or f"{len(there)}"] = read
        elif read.id == _REMOVE_ALL:
            there.clear()
        else:
            there.pop(str(read.id), None)
    return list(there.values())


def _says(value: Any, sayings: Sayings) -> bool:
    left = _MOST_CHARS
    for text in _texts_in(value):
        if left <= 0:
            break
        part, left = text[:left], left - len(text)
        if sayings.may_be_in(part) and sayings.without(part, by_user=True) != part:
            return True
    return False


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a state's value, however deep."""
    waiting, seen = [value], set[int]()
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
            continue
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, BaseMessage):
            waiting += [one.content, one.additional_kwargs, getattr(one, "tool_calls", ()), getattr(one, "artifact", 0)]
        elif isinstance(one, Mapping):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            waiting += one
        elif hasattr(one, "__dict__"):
            waiting.append(vars(one))
