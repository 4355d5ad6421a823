"""Checks of a user's thread states for forgotten words, by channel.

A thread keeps its messages: those that memory knows as forgotten are blank in its prompts. Any other channel, and any
other message, such as a tool's result, may go to the model again: middleware reads files, notes and lists from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from react_mem.memory.merging.transcript import message_record_id
from react_mem.memory.model.operations import UNREAD, Check
from react_mem.memory.rights.saying import Sayings
from react_mem.memory.rights.unsaid import read_forgotten
from react_mem.memory.store.checkpointer import OWNER_KEYS, thread_marks

_MESSAGES = "messages"
_REMOVE_ALL = "__remove_all__"  # LangGraph's, whose module takes half a second to import
_ADDED = "counters_since_delta_snapshot"  # LangGraph's note of the channels that are stored as what was added
_OF_A_TURN = frozenset({"layout", "working_memory", "task", "suggestions", "ui", "memory_prompt"})
"""Channels that a manager of ours writes anew before the model is asked again."""

_SECONDS = 2.0  # for all threads, since the user waits for the answer
_LATEST = 20  # checkpoints of a thread that are read: those of graphs within its graph are among them
_MOST_CHARS = 200_000  # characters of a channel that are read
_NAMED = 10


async def look_through_threads(
    store: BaseStore,
    checkpointer: BaseCheckpointSaver[Any] | None,
    user_id: str,
    texts: Sequence[str],
    sessions: Iterable[str],
) -> AsyncIterator[Check]:
    """Yield a check of each channel of a user's threads, with the threads that still say forgotten words.

    These are the threads in which memory was at work, and the given sessions of its records. Those for which there is
    no time are counted.
    """
    if checkpointer is None:
        yield Check(name=f"{UNREAD} thread states", problem="no checkpointer was given")
        return
    marks = sorted(await thread_marks(store, user_id), key=lambda item: item.updated_at, reverse=True)
    noted = [str(item.value["thread_id"]) for item in marks]
    threads = [*dict.fromkeys([*noted, *sessions])]
    sayings, until = Sayings(texts), asyncio.get_running_loop().time() + _SECONDS
    found: dict[str, list[str]] = {}
    unread = 0
    for number, thread_id in enumerate(threads):
        if asyncio.get_running_loop().time() > until:
            unread += len(threads) - number
            break
        channels = await _channels_of(checkpointer, thread_id, user_id, user_id if thread_id in noted else "")
        if _MESSAGES in channels:
            forgotten = await read_forgotten(store, user_id, thread_id)
            present = _present(_flat(channels[_MESSAGES]))
            channels[_MESSAGES] = [one for one in present if message_record_id(thread_id, one) not in forgotten]
        for name, value in channels.items():
            says = await asyncio.to_thread(_says, value, sayings)
            found.setdefault(name, []).extend([thread_id] if says else [])
            unread += says is None
    for name, saying in sorted(found.items()):
        if name not in _OF_A_TURN:
            yield Check(name=f"state {name}", hits=len(saying), ids=tuple(saying[:_NAMED]))
        elif saying:
            yield Check(name=f"{UNREAD} state {name}", problem=f"{len(saying)} keep it until their next turn")
    if unread:
        yield Check(name=f"{UNREAD} thread states", problem=f"{unread} were too long or too many to be read")


async def _channels_of(
    checkpointer: BaseCheckpointSaver[Any], thread_id: str, user_id: str, unnamed: str
) -> dict[str, list[Any]]:
    """Return the present values of a thread's channels, also of the graphs within its graph.

    What names another owner is not read, as a record may name any thread as its session; what names none is of the
    `unnamed`.
    """
    root: RunnableConfig = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
    every: RunnableConfig = {"configurable": {"thread_id": thread_id}}
    held = [one async for one in checkpointer.alist(every, limit=_LATEST)]
    latest = {str(one.config["configurable"].get("checkpoint_ns") or ""): one for one in reversed(held)}
    if "" not in latest and (one := await checkpointer.aget_tuple(root)) is not None:
        latest[""] = one
    channels: dict[str, list[Any]] = {}
    for one in latest.values():
        metadata: Mapping[str, Any] = one.metadata
        if next((str(metadata[key]) for key in OWNER_KEYS if key in metadata), unnamed) != user_id:
            continue
        values = dict(one.checkpoint["channel_values"])
        added = [name for name in metadata.get(_ADDED) or () if name not in values]
        history = await checkpointer.aget_delta_channel_history(config=one.config, channels=added)
        values |= {name: past["seed"] for name, past in history.items() if "seed" in past}
        writes = [write for past in history.values() for write in past["writes"]]
        for name, value in [*values.items(), *(write[1:] for write in (*writes, *(one.pending_writes or ())))]:
            if not name.startswith(("__", "branch:")):
                channels.setdefault(name, []).append(value)
    return channels


def _present(messages: Iterable[Any]) -> list[BaseMessage]:
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


def _flat(value: Any) -> Iterator[Any]:
    # a pair of texts is a message too: its author and its words
    if isinstance(value, list | tuple) and not (len(value) == 2 and all(isinstance(part, str) for part in value)):
        for part in value:
            yield from _flat(part)
    else:
        yield value


def _says(channel: Any, sayings: Sayings) -> bool | None:
    """Return true if a channel's value says the forgotten; None if it is too long to be read."""
    left = _MOST_CHARS
    for text in _texts_in(channel):
        if left < len(text):
            return None
        left -= len(text)
        if sayings.may_be_in(text) and sayings.without(text, by_user=True) != text:
            return True
    return False


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a state's value, however deep."""
    waiting, seen = [value], set[int]()
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif id(one) not in seen:
            seen.add(id(one))
            if isinstance(one, Mapping):
                waiting += [*one.keys(), *one.values()]
            elif isinstance(one, list | tuple | set | frozenset):
                waiting += one
            elif hasattr(one, "__dict__"):
                waiting.append(vars(one))
