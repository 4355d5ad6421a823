"""Author of a message: the user, a named speaker, a tool, another agent, a middleware; decided by where it came from.

The human messages of a run's input are the user's, or a speaker's who is named with them or before their words. What is
added while it runs is marked as `tool`, `agent:NAME` or `middleware`: a page that a tool returns, a task, a summary.
Only the user teaches facts about the user; a speaker's facts are about and by that speaker.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar

from cachetools import LRUCache
from langchain_core.messages import (
    AnyMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    convert_to_messages,
)
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore, Item, PutOp
from langgraph.types import Command, Send

from react_mem.memory.language.folding import normalise
from react_mem.memory.language.own_words import GENERIC_NAMES, NamedLead, named_in
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.merging.blocks import texts_of, with_text, words_in
from react_mem.memory.model.namespaces import meta_namespace, setting
from react_mem.memory.model.operations import Change
from react_mem.memory.model.records import Message, one_name, record_id
from react_mem.memory.store.process_state import kept_with

SOURCE = "lc_source"
"""LangChain's mark of a human message that is not the user's: a middleware's summary, a tool's page."""

log = logging.getLogger(__name__)

M = TypeVar("M", bound=BaseMessage)


def is_users(message: BaseMessage) -> bool:
    """Return true for a human message of an input, which begins a turn: the user's own, or a named speaker's."""
    return isinstance(message, HumanMessage) and not message.additional_kwargs.get(SOURCE)


def by_other(message: M, author: str) -> M:
    """Return a human message marked with an author who is not the user; other messages and marked ones stay."""
    if not is_users(message):
        return message
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, SOURCE: author}})


# Named speakers of a conversation with several people: "Bob" by the name of the message, or before its words.

_READ = 40
"""Human messages of a thread, the latest, from which it is seen whether several people speak in it."""

_DIGITS = 3
"""Digits from which on an id is none that somebody is called by."""


@dataclass(frozen=True)
class Owner:
    """Owner of a memory: who is spoken of as the user, by id and, if it is known, by the name in the profile.

    The `thread` tells whether several people speak. A word before a colon is a topic ("Paris: I loved it") and no
    speaker, unless it is a given name or the messages of the thread have such words in turns. The only name in a thread
    is the owner's where neither the profile nor the id tells a name: applications send it with every message.
    """

    user_id: str
    name: str = ""
    thread: Sequence[BaseMessage] = ()

    def speaker(self, message: BaseMessage) -> str:
        """Return the name of the speaker of a human message; empty if it is the owner's.

        >>> ann = Owner("ann.lee@example.com")
        >>> [ann.speaker(HumanMessage(text)) for text in ("Bob: I love steak", "[Ann] Hi", "Note: I love tea", "Hi")]
        ['Bob', '', '', '']
        """
        return self.spoken(message)[0]

    def spoken(self, message: M) -> tuple[str, M]:
        """Return the speaker of a human message, empty for the owner, and the message without the name before it.

        >>> Owner("ann").spoken(HumanMessage("[Carol] I live in Paris"))[1].content
        'I live in Paris'
        """
        if not is_users(message):
            return "", message
        given = one_name(message.name or "")
        given = "" if self.is_called(given) else given
        before = named_in("\n".join(texts_of(message)))
        if not (normalise(before.name) == normalise(given) if given else self._is_person(before)):
            return given, message
        said = with_text(message, lambda text: text[before.begin :])
        return given or ("" if self.is_called(before.name) else before.name), said

    def is_called(self, name: str) -> bool:
        """Return true for a name of the owner: a generic one, the id, or a part of either the name or the id."""
        if not name or normalise(name) in GENERIC_NAMES:
            return True
        asked = _parts(name)
        known = [_parts(one) for one in (self.user_id.partition("@")[0], self.name) if one]
        if any(asked[: len(one)] == one[: len(asked)] for one in known if one and asked):
            return True
        is_opaque = not self.name and sum(map(str.isdigit, self.user_id)) >= _DIGITS
        return is_opaque and {one_name(one.name or "") for one in self._said} == {name}

    def _is_person(self, before: NamedLead) -> bool:
        if not before.name or before.is_person or normalise(before.name) in GENERIC_NAMES:
            return before.is_person
        return self.is_called(before.name) or self._take_turns

    @cached_property
    def _take_turns(self) -> bool:
        names = [one_name(one.name or "") or named_in("\n".join(texts_of(one))).name for one in self._said]
        return "" not in names and 1 < len(set(names)) < len(names)

    @cached_property
    def _said(self) -> list[BaseMessage]:
        return list(islice(filter(is_users, reversed(self.thread)), _READ))


def _parts(name: str) -> list[str]:
    return re.split(r"[\W_]+", normalise(name))


# Human messages that are not the user's: a page returned by a tool, a task delegated by another agent, what a node or a
# middleware adds. Only the input of a run is the user's, as the checkpointer has it; where it is not known, a named
# message in the thread of a graph around the agent is another agent's, unless the thread begins with that name.

_TOOL_NODES = frozenset({"tools", "act"})
"""Names of the node that runs tools: LangGraph's own, and ours."""

_RUNS = 10
_MOST_RUNS = 100
"""Runs of which the inputs are looked up: where a graph around the agent hands on its whole thread in each, and where a
thread has lost the last message in memory, so that all in it may be new.
"""

_in_tool: ContextVar[bool] = ContextVar("in_tool", default=False)

R = TypeVar("R")


def running_tool() -> AbstractContextManager[None]:
    """Mark the run of a tool: agents run within it are delegated to, on any thread."""
    return setting(_in_tool, True)


def is_delegated(config: RunnableConfig, thread: Sequence[BaseMessage] = ()) -> bool:
    """Return true if another agent wrote the input of a run: within a tool, or as a subagent of Deep Agents.

    Human messages in its `thread` of which none is the user's mean delegation as well.
    """
    human = [message for message in thread if isinstance(message, HumanMessage)]
    return (
        _in_tool.get()
        or (config.get("configurable") or {}).get("ls_agent_type") == "subagent"
        or not _TOOL_NODES.isdisjoint(_nodes_above(config))
        or bool(human and not any(map(is_users, human)))
    )


async def added_in_run(thread: Sequence[M], since: str | None, config: RunnableConfig) -> list[M]:
    """Return the human messages of a thread that are not from the input of a run, marked with their authors.

    The checkpointer is asked only where there are several since the message `since`, the last one in memory, or where a
    graph around the agent names one. What stands before the first of the input, the application may have added.
    """
    last = next((i for i in range(len(thread) - 1, -1, -1) if thread[i].id == since), -1)
    human, nested = [message for message in thread[last + 1 :] if is_users(message)], bool(_nodes_above(config))
    if len(human) < 2 and not (nested and any(message.name for message in human)):
        return []
    # a thread that was rewritten begins with what stands for the messages that are gone
    is_rewritten = since is not None and last < 0 and len(human) <= _MOST_RUNS
    step = None if nested else (config.get("metadata") or {}).get("langgraph_step")
    said = await _inputs(config, _MOST_RUNS if is_rewritten else _RUNS if nested else 1, step=step)
    own = [message for message in human if _is_in(message, said)]
    if not own:
        first = next((message.name for message in thread if is_users(message)), None) if nested else None
        return [_added(one) for one in human if nested and one.name and one.name != first]
    begin = 0 if is_rewritten else human.index(own[0])
    return [_added(one) for one in human[begin:] if one not in own]


_LOOKS = 5
_MOMENT = 0.03
"""Looks for the input of a run, and seconds between them: it is stored while the run goes on."""

_FIRST = 3
"""Most steps from the input of a run to a node that begins it."""


def _is_in(message: BaseMessage, said: Collection[str]) -> bool:
    return message.id in said or (bool(message.text.strip()) and message.text.strip() in said)


def _added(message: M) -> M:
    return by_other(message, f"agent:{message.name}" if message.name else "middleware")


async def without_authority(thread: Sequence[AnyMessage], config: RunnableConfig) -> list[AnyMessage]:
    """Return a thread with the system and developer messages of callers as plain words, which begin no turn.

    In a graph around the agent its own nodes may write some: only those are a caller's that came with one of the latest
    runs, or stood in the thread before these.
    """
    orders = (SystemMessage, ChatMessage)
    if not any(isinstance(message, orders) for message in thread):
        return list(thread)
    said = await _inputs(config, _RUNS, and_before=True) if _nodes_above(config) else None
    return [
        HumanMessage(message.content, id=message.id, name=message.name, additional_kwargs={SOURCE: "system"})
        if isinstance(message, orders) and (said is None or message.id in said or message.text.strip() in said)
        else message
        for message in thread
    ]


async def _inputs(config: RunnableConfig, runs: int, *, and_before: bool = False, step: int | None = None) -> set[str]:
    """Return the texts in the inputs of a thread's latest runs, and the ids of their messages; none where not known.

    With those of the thread as it was before the first of as many runs, if it is stored with each checkpoint. Of a run
    at a `step`, the input must be among them.
    """
    place = config.get("configurable") or {}
    saver, thread_id = place.get("__pregel_checkpointer"), place.get("thread_id")
    found: set[str] = set()
    if not isinstance(saver, BaseCheckpointSaver) or not thread_id:
        return found
    root: RunnableConfig = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
    try:
        for _ in range(_LOOKS):
            saved = [one async for one in saver.alist(root, filter={"source": "input"}, limit=runs)]
            if step is None or (saved and step - saved[0].metadata.get("step", step) <= _FIRST):
                break
            await asyncio.sleep(_MOMENT)
        else:
            return found
        latest = [one.checkpoint for one in saved]
        for checkpoint in latest:
            found.update(_strings(checkpoint["channel_values"].get("__start__")))
        if and_before and len(latest) == runs:
            found.update(_strings(latest[-1]["channel_values"].get("messages")))
    except Exception as error:  # of any checkpointer; some read without async only
        log.warning("the input of a run is not known, human messages count as the user's: %s", cause_of(error))
    return found


def _strings(value: Any) -> Iterator[str]:
    """Yield the texts in a run's input of any form, and the texts and ids of its messages."""
    if isinstance(value, str):
        yield value.strip()
    elif isinstance(value, BaseMessage):
        yield from (value.text.strip(), *filter(None, [value.id]))
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list | tuple):
        yield "".join(one if isinstance(one, str) else words_in(one) for one in value if isinstance(one, str | Mapping))
        for part in value:
            yield from _strings(part)


def _nodes_above(config: RunnableConfig) -> list[str]:
    path = str((config.get("configurable") or {}).get("checkpoint_ns") or "").split("|")
    return [part.split(":")[0] for part in path[:-1]]


def from_tool(result: R, state: Any) -> R:
    """Return the result of a tool with its human messages marked as the tool's.

    Messages of the agent's thread, in its `state`, that a tool passes on stay as they are.
    """
    if isinstance(result, list):
        return [from_tool(part, state) for part in result]  # type: ignore[return-value]
    if not isinstance(result, Command):
        return result
    thread = state.get("messages", ()) if isinstance(state, Mapping) else getattr(state, "messages", ())
    goto = [_sent(one, thread) for one in result.goto] if isinstance(result.goto, list | tuple) else result.goto
    return replace(result, update=_update(result.update, thread), goto=_sent(goto, thread))


def _sent(goto: Any, thread: Sequence[BaseMessage]) -> Any:
    return Send(goto.node, _update(goto.arg, thread)) if isinstance(goto, Send) else goto


def _update(update: Any, thread: Sequence[BaseMessage]) -> Any:
    if isinstance(update, Mapping):
        return {name: _said(value, thread) if name == "messages" else value for name, value in update.items()}
    if isinstance(update, list | tuple):
        return [(name, _said(value, thread) if name == "messages" else value) for name, value in update]
    return update


def _said(said: Any, thread: Sequence[BaseMessage]) -> Any:
    if not isinstance(said, list | tuple | str | dict | BaseMessage):
        # it replaces the thread, or is no message
        return said
    messages = convert_to_messages(said if isinstance(said, list) else [said])
    return [message if message in thread else by_other(message, "tool") for message in messages]


# Speakers in a user's conversations, by name.

_KIND = "speaker"
_MAX_SPEAKERS = 100
_MAX_OWNERS = 1_000
_NEVER = float("-inf")
_FRESH_SECONDS = 300.0
"""A name learnt meanwhile by another process costs only the ranking of questions that use it."""


class Known(LRUCache[str, tuple[float, tuple[str, ...], int]]):
    """LRU cache of owners' speakers: time of reading, names, and number of names including those written since."""

    def __init__(self) -> None:
        super().__init__(_MAX_OWNERS)


async def speakers_of(store: BaseStore, user_id: str) -> tuple[str, ...]:
    """Return the names of the speakers in a user's conversations."""
    owners = kept_with(store, Known)
    learnt, names, _ = owners.get(user_id, (_NEVER, (), 0))
    if time.monotonic() - learnt < _FRESH_SECONDS:
        return names
    found = await store.asearch(meta_namespace(user_id), filter={"kind": _KIND}, limit=_MAX_SPEAKERS, refresh_ttl=False)
    names = tuple(sorted(str(item.value["name"]) for item in found))
    owners[user_id] = (time.monotonic(), names, len(names))
    return names


def speaker_changes(store: BaseStore, user_id: str, messages: Sequence[Message]) -> list[Change]:
    """Return the writes of speakers that are new with some messages."""
    owners = kept_with(store, Known)
    _, known, written = owners.get(user_id, (_NEVER, (), 0))
    new = sorted({message.speaker for message in messages if message.speaker} - set(known))
    new = new[: max(0, _MAX_SPEAKERS - written)]
    if new:
        # read again: what is written now may fail; until then it counts, so that they cannot become more and more
        owners[user_id] = (_NEVER, known, written + len(new))
    namespace = meta_namespace(user_id)
    return [PutOp(namespace, record_id(_KIND, name), {"kind": _KIND, "name": name}, index=False) for name in new]


async def silenced(store: BaseStore, user_id: str, left: Sequence[Item]) -> list[Change]:
    """Return the deletes of speakers without a message among all remaining records of the owner."""
    speaking = {item.value.get("speaker") for item in left}
    found = await store.asearch(meta_namespace(user_id), filter={"kind": _KIND}, limit=_MAX_SPEAKERS, refresh_ttl=False)
    return [PutOp(item.namespace, item.key, None) for item in found if item.value["name"] not in speaking]


def forget_speakers(store: BaseStore, user_id: str) -> None:
    """Drop an owner's speakers from the cache of this process."""
    kept_with(store, Known).pop(user_id, None)
