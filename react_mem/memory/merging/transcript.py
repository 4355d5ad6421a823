"""LangChain messages as records: text whole, images, sounds and files by reference."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import takewhile
from typing import Any, TypeVar, cast
from uuid import NAMESPACE_OID, uuid5

from cachetools import LRUCache
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore, Item, PutOp
from langgraph.types import Command, Send

from react_mem.memory.language.folding import MAX_INDEXED_CHARS
from react_mem.memory.language.secrets import kept_of, secrets_in, values_of
from react_mem.memory.language.standing import kind_of_standing
from react_mem.memory.merging.blocks import (
    CALLS,
    THOUGHTS,
    called,
    calls_of,
    has_media,
    medium_of,
    thought_before,
    thoughts_in,
)
from react_mem.memory.model.external import origin_of_result
from react_mem.memory.model.kinds import MESSAGE
from react_mem.memory.model.namespaces import meta_namespace, setting
from react_mem.memory.model.operations import Change
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Message, Role, SecretPolicy, now, record_id, with_origin, with_zone
from react_mem.memory.store.process_state import kept_with

NOTICE = "notice"
"""Mark of an answer by the runtime in place of the model, such as that it stopped: not recalled."""

PREAMBLE = "preamble"
"""Mark of the beginning of an answer in which a model introduces itself: not recalled."""

NOT_KEPT = "not_kept"
"""Mark of a message of a turn without memory: it stays in the thread, and memory never has it."""

SOURCE = "lc_source"
"""LangChain's mark of a human message that is not the user's: a middleware's summary, a tool's page."""

SAID_AT = "said_at"
"""Field with the time of an older message; without it, the time of storing counts."""

_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_AHEAD = timedelta(days=1)
"""Clock skew of a client that is accepted."""
_MAX_NAMED = 3

M = TypeVar("M", bound=BaseMessage)


def identified(messages: Iterable[M]) -> list[M]:
    """Return the messages of a whole thread, each with an id: its own, or one derived from its content and predecessor.

    Not every channel gives ids. The same thread always gets the same ids, and a repeated text gets two. Messages
    without an id are copied, since their owner may use them again.

    >>> one, two = identified([HumanMessage("yes"), HumanMessage("yes")])
    >>> one.id == two.id, identified([HumanMessage("yes")])[0].id == one.id
    (False, True)
    """
    found: list[M] = []
    before: str | None = ""
    for message in messages:
        if not message.id:
            message = message.model_copy(update={"id": derived_id(message, before)})
        before = message.id
        found.append(message)
    return found


def derived_id(message: BaseMessage, before: str | None) -> str:
    """Return an id for a message without one, by the id of its predecessor, empty at the beginning of a thread."""
    return str(uuid5(NAMESPACE_OID, f"{before}:{message.type}:{message.content}"))


def is_users(message: BaseMessage) -> bool:
    """Return true if a human message is the user's own."""
    return isinstance(message, HumanMessage) and not message.additional_kwargs.get(SOURCE)


def by_other(message: M, source: str) -> M:
    """Return a human message marked as not the user's, by its source; other messages, and marks of middleware, stay."""
    if not is_users(message):
        return message
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, SOURCE: source}})


def withheld(messages: Sequence[M], policy: SecretPolicy) -> list[M]:
    """Return the messages of whole turns that memory must not have, marked to stay out of it.

    They are what the user says off the record and its answers, the answers to a message with a private part, and where
    secrets are refused, what holds one.
    """
    found: list[M] = []
    before, unanswerable = "", False
    for message in messages:
        text, by_user = text_of(message), is_users(message)
        if by_user:
            left = kept_of(text)
            unanswerable = (unanswerable and before == "human") or left != text
        out = left is None if by_user else unanswerable and isinstance(message, AIMessage)
        if policy == "refuse" and not out and isinstance(message, HumanMessage | AIMessage) and secrets_in(text):
            out, unanswerable = True, unanswerable or by_user
        before = message.type
        if out:
            found.append(message)
    return cast("list[M]", kept_out(found))


def _without_private(message: BaseMessage) -> BaseMessage:
    content = message.content
    if isinstance(content, str):
        left: Any = kept_of(content)
    else:
        left = [
            {**block, "text": kept_of(str(block["text"])) or ""}
            if isinstance(block, dict) and block.get("text")
            else block
            for block in ({"type": "text", "text": one} if isinstance(one, str) else one for one in content)
        ]
    return message if left == content else message.model_copy(update={"content": left or ""})


_REPEATED_IN = 20
"""Latest messages of which the secrets are known again where they are repeated without a name."""


def secrets_told(messages: Sequence[BaseMessage]) -> list[str]:
    """Return the secrets that the latest of some messages tell."""
    return values_of(text_of(message) for message in messages[-_REPEATED_IN:])


def to_records(
    messages: Sequence[BaseMessage],
    *,
    first: int,
    session_id: str,
    agent_id: str,
    policy: SecretPolicy = "mask",
    known: Sequence[str] = (),
) -> list[Message]:
    """Return records of a conversation's messages, from an index on: user messages, and answers that tell something.

    Tool results belong to the steps of the turn and are left out; tool calls and thinking are kept with the answer
    that they led to. A message with media alone has an empty text and its whole content (see `referring`). Messages
    have ids; `additional_kwargs["said_at"]` (ISO 8601) dates an older one, see `misdated`. What is off the record is
    left out; secrets, and the `known` ones, are kept or masked as the policy says.
    """
    known = known or ([] if policy == "keep" else secrets_told(messages))
    out = {message.id for message in withheld(messages, policy)}
    at = now()
    records: list[Message] = []
    heard: set[Origin] = set()
    behind: list[AIMessage] = []
    for place, message in enumerate(map(as_said, messages), start=first):
        if is_users(message):
            heard, behind = set(), []
        elif isinstance(message, HumanMessage):
            # what it told the model, the answer may tell on
            heard.add(Origin.TOOL)
        if isinstance(message, AIMessage):
            heard.update(origin_of_result(call["name"]) for call in calls_of(message))
            behind.append(message)
        message = _without_private(message) if is_users(message) else message
        text = _words_of(message)
        if message.id in out or not (text or has_media(message)) or not (role := _role(message)):
            continue
        record = Message(
            id=message_record_id(session_id, message),
            text=text[:MAX_INDEXED_CHARS],
            role=role,
            speaker=message.name or "",
            content=_content(message),
            turn=place,
            created_at=at if _wrong_time(message, at) else _said_at(message) or at,
            session_id=session_id,
            agent_id=agent_id,
            tool_calls=called(behind),
            thinking=thoughts_in(behind),
            standing=kind_of_standing(text) if role == "user" else "",
        )
        behind = []
        # a tool that was given a refused secret is no part of what is said
        record = record.discreet("keep" if policy == "keep" else "mask", known)
        records.append(vouched(record, heard))
    return records


def vouched(message: Message, heard: Iterable[Origin]) -> Message:
    """Return a message with the least trusted origin of all that its author heard; the user's own stay trusted."""
    return message if message.role == "user" else with_origin(message, [message.origin, *heard])


def misdated(messages: Sequence[BaseMessage], since: str | None = None) -> str:
    """Return a warning about new messages with an impossible time, with cause and remedy; empty if there are none.

    Such a message counts as said when stored. The time itself is not quoted: it may be any text.
    """
    at = now()
    new = takewhile(lambda message: since is None or message.id != since, reversed(messages))
    wrong = [
        f"message {message.id!s:.60}: additional_kwargs[{SAID_AT!r}] is {reason}"
        for message in new
        if (reason := _wrong_time(message, at)) and is_said(message)
    ]
    if not wrong:
        return ""
    more = [f"{len(wrong) - _MAX_NAMED} more"] if len(wrong) > _MAX_NAMED else []
    return (
        f"{'; '.join([*wrong[:_MAX_NAMED], *more])}. Remembered as said now instead: send an ISO 8601 time with a "
        "zone, such as 2026-03-03T20:00:00+00:00, or leave it out"
    )


def _wrong_time(message: BaseMessage, at: datetime) -> str:
    try:
        said_at = _said_at(message)
    except ValueError:
        return "not an ISO 8601 time"
    if said_at is None:
        return ""
    if said_at < _EARLIEST:
        return "before 1970"
    return "more than a day ahead of now" if said_at > at + _AHEAD else ""


def _said_at(message: BaseMessage) -> datetime | None:
    told = message.additional_kwargs.get(SAID_AT)
    return None if told is None else with_zone(datetime.fromisoformat(str(told)))


class RecordName(str):
    """Record id in place of a message id, for callers that know a message only from memory."""

    __slots__ = ()


def message_record_id(session_id: str, message: BaseMessage) -> str:
    """Return the record id of a message; message ids are unique only within a conversation."""
    return record_named(session_id, message.id)


def record_named(session_id: str, message_id: str | None) -> str:
    """Return the record id for a message id, or for the name of its record."""
    return str(message_id) if isinstance(message_id, RecordName) else _record_id(session_id, str(message_id))


@lru_cache(4_096)
def _record_id(session_id: str, message_id: str) -> str:
    # asked of every message that a prompt shows, several times a turn
    return MESSAGE.id(session_id, message_id)


def is_said(message: BaseMessage) -> bool:
    """Return true if a message has a record: words or media of the user or the agent, not the agent's steps."""
    return _role(message) is not None and (bool(_words_of(message)) or has_media(message))


def text_of(message: BaseMessage) -> str:
    """Return the text of a message, with the names of other content such as `[image]`."""
    return _joined(message, lambda block: f"[{medium_of(block) or block.get('type', 'content')}]")


def _words_of(message: BaseMessage) -> str:
    """Return the spoken words of a message, without media names, preamble and thinking."""
    text = _joined(message, lambda _: "").removeprefix(message.additional_kwargs.get(PREAMBLE) or "").strip()
    return text.removeprefix(thought_before(text)).strip() if isinstance(message, AIMessage) else text


def _joined(message: BaseMessage, named: Callable[[Mapping[str, Any]], str]) -> str:
    """Return the texts of a message as one; `named` gives the text of a block that has none."""
    if isinstance(message.content, str):
        return message.content.strip()
    said = (b for b in message.content if isinstance(b, str) or b.get("type") not in THOUGHTS)
    parts = [b if isinstance(b, str) else str(b.get("text") or named(b)) for b in said]
    return " ".join(part.strip() for part in parts if part.strip())


def kept_out(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages of a turn without memory, marked to stay out of it; those marked already are left out."""
    return [
        message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, NOT_KEPT: True}})
        for message in messages
        if not is_kept_out(message)
    ]


def is_kept_out(message: BaseMessage) -> bool:
    """Return true if a message belongs to a turn without memory."""
    return bool(message.additional_kwargs.get(NOT_KEPT))


def _role(message: BaseMessage) -> Role | None:
    if is_kept_out(message):
        return None
    if isinstance(message, HumanMessage):
        return "user" if is_users(message) else None
    if isinstance(message, AIMessage) and not message.tool_calls and not message.invalid_tool_calls:
        return None if message.additional_kwargs.get(NOTICE) else "assistant"
    return None


def _content(message: BaseMessage) -> str | list[dict[str, Any]]:
    """Return the content without thinking, preamble and calls."""
    if isinstance(message.content, str):
        preamble = message.additional_kwargs.get(PREAMBLE) or ""
        text = message.content.removeprefix(preamble).lstrip() if preamble else message.content
        thought = thought_before(text) if isinstance(message, AIMessage) else ""
        return text.removeprefix(thought).lstrip() if thought else text
    blocks = [{"type": "text", "text": b} if isinstance(b, str) else b for b in message.content]
    return [block for block in blocks if block.get("type") not in THOUGHTS | CALLS]


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


# End of an answer that the runtime added: part of the message, and not of what the model said.

APPENDED = "appended"
"""Mark of the end of an answer that the runtime added, such as next steps: not recalled, not repeated."""


def with_appended(answer: AIMessage, line: str) -> AIMessage:
    r"""Return an answer with a line of the runtime at its end.

    >>> with_appended(AIMessage("Painted."), "Next: wash it.").text
    'Painted.\n\nNext: wash it.'
    """
    end = f"\n\n{line}"
    content = answer.content + end if isinstance(answer.content, str) else [*answer.content, _block(end)]
    return answer.model_copy(
        update={"content": content, "additional_kwargs": {**answer.additional_kwargs, APPENDED: end}}
    )


def as_said(message: M) -> M:
    """Return a message without the line that the runtime appended.

    >>> as_said(with_appended(AIMessage("Painted."), "Next: wash it.")).text
    'Painted.'
    """
    end = message.additional_kwargs.get(APPENDED) if message.additional_kwargs else None
    if not isinstance(end, str) or not end:
        return message
    marks = {name: value for name, value in message.additional_kwargs.items() if name != APPENDED}
    content = message.content
    if isinstance(content, str):
        left: str | list[str | dict[str, Any]] = content.removesuffix(end)
    else:
        left = content[:-1] if content and content[-1] == _block(end) else content
    return message.model_copy(update={"content": left, "additional_kwargs": marks})


def _block(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


# Human messages that are not the user's: a page returned by a tool, a task delegated by another agent. Only the input
# of a run is the user's. An agent that is a node of another graph gets that graph's thread, in which a named message
# is another agent's, unless the thread begins with that name; unnamed additions by its nodes look like the user's.

_TOOL_NODES = frozenset({"tools", "act"})
"""Names of the node that runs tools: LangGraph's own, and ours."""

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


def by_other_agents(thread: Sequence[M], config: RunnableConfig) -> list[M]:
    """Return the messages of other agents in the thread of a parent graph, marked as theirs."""
    if not _nodes_above(config):
        return []
    human = [message for message in thread if is_users(message)]
    return [by_other(one, "agent") for one in human if one.name and one.name != human[0].name]


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
