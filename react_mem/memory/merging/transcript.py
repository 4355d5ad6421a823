"""LangChain messages as records: text whole, images, sounds and files by reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import takewhile
from typing import Any, TypeVar, cast
from uuid import NAMESPACE_OID, uuid5

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from react_mem.memory.language.folding import MAX_INDEXED_CHARS
from react_mem.memory.language.secrets import kept_of, secrets_in, values_of
from react_mem.memory.language.standing import kind_of_standing
from react_mem.memory.merging.authors import Owner, is_users
from react_mem.memory.merging.blocks import (
    CALLS,
    THOUGHTS,
    blocks_of,
    called,
    calls_of,
    has_media,
    medium_of,
    thought_before,
    thoughts_in,
    words_in,
)
from react_mem.memory.model.external import origin_of_result
from react_mem.memory.model.kinds import MESSAGE
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Message, Role, SecretPolicy, now, origin_of_role, with_origin, with_zone

NOTICE = "notice"
"""Mark of an answer by the runtime in place of the model, such as that it stopped: not recalled."""

PREAMBLE = "preamble"
"""Mark of the beginning of an answer in which a model introduces itself: not recalled."""

NOT_KEPT = "not_kept"
"""Mark of a message of a turn without memory: it stays in the thread, and memory never has it."""

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
    owner: Owner | None = None,
    policy: SecretPolicy = "mask",
    known: Sequence[str] = (),
) -> list[Message]:
    """Return records of a conversation's messages, from an index on: user messages, and answers that tell something.

    With an `owner`, a human message of another name is that speaker's; without one, each is the user's.

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
        if not (role := _role(message)):
            continue
        speaker, origin = message.name or "", origin_of_role(role)
        if role == "user" and owner is not None:
            named, message = owner.spoken(message)
            # the owner's own name stays theirs
            speaker, origin = named or speaker, Origin.SPEAKER if named else origin
        text = _words_of(message)
        if message.id in out or not (text or has_media(message)):
            continue
        record = Message(
            id=message_record_id(session_id, message),
            text=text[:MAX_INDEXED_CHARS],
            role=role,
            speaker=speaker,
            origin=origin,
            content=_content(message),
            turn=place,
            created_at=at if _wrong_time(message, at) else _said_at(message) or at,
            session_id=session_id,
            agent_id=agent_id,
            tool_calls=called(behind),
            thinking=thoughts_in(behind),
            standing=kind_of_standing(text) if origin is Origin.USER else "",
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
    said = (block for block in blocks_of(message) if block.get("type") not in THOUGHTS)
    parts = (words_in(block) or named(block) for block in said)
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
    return [block for block in blocks_of(message) if block.get("type") not in THOUGHTS | CALLS]


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
