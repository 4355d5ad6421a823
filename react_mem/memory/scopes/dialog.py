"""Dialog scope: messages word for word, and their summaries."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from operator import itemgetter
from typing import Any, get_args

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.base import GetOp, Op, SearchOp

from react_mem.memory.index.recall import Question, RecallOp
from react_mem.memory.language.folding import MAX_INDEXED_CHARS
from react_mem.memory.llm.causes import checked
from react_mem.memory.merging.authors import Owner, speaker_changes
from react_mem.memory.merging.blocks import kept_apart, led_apart
from react_mem.memory.merging.transcript import message_record_id, misdated, to_records
from react_mem.memory.model.interface import MemoryQuery, MemoryResultItem, MemoryScope, MemoryWriteEvent, named_session
from react_mem.memory.model.kinds import CHAIN, MESSAGE, SUMMARY
from react_mem.memory.model.namespaces import READING, characters_of, off_loop, scope_namespace
from react_mem.memory.model.operations import Change
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.records import (
    Message,
    Record,
    Role,
    Summary,
    now,
    origin_of_role,
    record_id,
    said_to,
    with_zone,
    written_in,
)
from react_mem.memory.model.views import HeldConversation
from react_mem.memory.scopes.scope import ScopeStore, created_at, with_spare
from react_mem.memory.store.capabilities import WHOLE, capabilities
from react_mem.memory.store.searches import ConversationPlace, PlacedConversation

MAX_STANDING = 50
"""Standing instructions that are read: of more, the latest."""


@dataclass(frozen=True)
class DialogContext:
    """Position of a conversation: its latest turns, the newest last, and the latest summary of an invocation or of the
    whole conversation, if any. The summaries of its chain do not count: each stands for a part.
    """

    summary: Summary | None
    messages: list[Message]


class DialogMemoryStore(ScopeStore):
    """The dialog scope."""

    scope = MemoryScope.DIALOG

    async def page(
        self, user_id: str, behind: ConversationPlace | None, limit: int
    ) -> tuple[list[tuple[ConversationPlace, HeldConversation]], int, bool]:
        """Return a page of a user's conversations, the latest first, with their total and whether more follow."""
        found = await capabilities(self.store).aconversations(self.namespace(user_id), behind, limit)
        if found is not None:

            def told(listed: PlacedConversation) -> HeldConversation:
                # only some messages and summaries have been read
                [held] = held_in([item.value for item in listed.items])
                times = {"first": _dated(listed.first), "last": _dated(listed.place.last)}
                return held.model_copy(update={"messages": listed.messages, **times})

            page = await asyncio.to_thread(lambda: [(one.place, told(one)) for one in found.conversations])
            return page, found.total, found.more
        every = await asyncio.to_thread(held_in, await self.every(user_id))
        held = [(ConversationPlace(one.last.astimezone(UTC).isoformat(), one.id), one) for one in every]
        left = [one for one in held if behind is None or one[0] < behind]
        return left[:limit], len(held), len(left) > limit

    def operations(self, query: MemoryQuery, question: Question | None) -> list[Op | RecallOp]:
        """Read the last turns, the summary and the chain of this conversation; for a question, search all others."""
        asked: list[Op | RecallOp] = []
        if self._turns(query):
            # in no store's order, so all of it is looked at
            said = {"session_id": query.session_id}
            asked.append(SearchOp(self.namespace(query.user_id), said, WHOLE, refresh_ttl=False))
        if self._searches(query):
            asked.append(self._search(query, question, with_spare(self._policy.recall.max_memories), pairs=True))
        if self._policy.summaries.enabled:
            namespace = scope_namespace(query.user_id, MemoryScope.STATE)
            asked.append(GetOp(namespace, CHAIN.id(query.session_id)))
        return asked

    def results(self, answers: Sequence[Any], query: MemoryQuery) -> list[MemoryResultItem]:
        """Return the new results: this conversation's summary and last turns, the hits of the search, the chain.

        The turns are the oldest first. Only results from other conversations and the search count as memories.
        """
        left = list(answers)
        here: list[MemoryResultItem] = []
        if self._turns(query):
            there = {item.key: item for item in left.pop(0)}
            summary, messages = _position([item.value for item in there.values()], self._turns(query))
            seen = set(query.seen)
            ids = [value["id"] for value in (*filter(None, [summary]), *messages)]
            here = [self.shown(there[id_]) for id_ in ids if id_ not in seen]
        found = self._unseen(left.pop(0), query)[: self._policy.recall.max_memories] if self._searches(query) else []
        hits = {one.key: self.shown(one) for one in found}
        # what was found says how near it is
        memories = [*(hits.pop(result.id, result) for result in here), *hits.values()]
        chain = left.pop() if self._policy.summaries.enabled else None
        parts = [one.model_copy(update={"payload": said_to(one.payload, query.agent_id)}) for one in memories]
        return parts if chain is None else [*parts, self.shown(chain)]

    def _turns(self, query: MemoryQuery) -> int:
        """Return the number of this conversation's last turns to read: the policy's, or fewer by the query."""
        if not self._policy.recall.dialog:
            return 0
        most = self._policy.context.dialog_turns
        wanted = query.extra.get("turns", most)
        if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 0:
            raise ValueError(f"extra['turns'] must be a number of turns, 0 or more, got {wanted!r:.80}")
        return min(wanted, most)

    def _searches(self, query: MemoryQuery) -> bool:
        """Return true if other conversations are searched: without a question, none is nearer than another."""
        return self._policy.recall.dialog and bool(query.query and query.query.strip())

    def as_of(self, value: Mapping[str, Any], at: datetime) -> dict[str, Any] | None:
        """Return a message, summary or note as of a time; None for a chain, which describes the present only."""
        return None if CHAIN.matches(value) else super().as_of(value, at)

    async def get_context(
        self, user_id: str, session_id: str, limit_turns: int = 20, *, agent_id: str = ""
    ) -> DialogContext:
        """Return the latest turns of a conversation, each a message of the user with its answers, and its summary.

        It reads the whole conversation, since no store is asked to return messages in their order. The agent's own
        thinking is included, and no other's.
        """
        said = await self.every(user_id, session_id=named_session(session_id))
        summary, messages = _position(said, limit_turns)
        return DialogContext(
            None if summary is None else Summary.from_value(summary),
            [Message.from_value(said_to(value, agent_id)) for value in messages],
        )

    async def standing(self, user_id: str, limit: int = MAX_STANDING) -> list[Message]:
        """Return a user's standing instructions to the assistant, word for word, the latest first: only the user's own
        messages count, not imported ones. `memory.language.standing` finds the sentence in each, and its subject.
        """
        every = await self.every(user_id, kind=MESSAGE.name, standing="instruction", origin=Origin.USER.value)
        told = sorted(map(Message.from_value, every), key=lambda message: message.created_at, reverse=True)
        return told[:limit]

    @checked(role="", content="")
    async def append(
        self,
        user_id: str,
        session_id: str,
        role: Role | Sequence[BaseMessage | Mapping[str, Any]],
        content: str | list[Any] | None = None,
        *,
        agent_id: str = "",
    ) -> list[Message]:
        """Store messages at the end of a conversation, and return the new ones; messages stored already stay as they
        are.

        Args:
            role: The role of one new message with the content (a text, or blocks); or messages, in order: LangChain's
                with ids, of which tool calls and results are not dialogue and are left out, or {"role", "content"},
                perhaps with an `id` and a `name`, without which each is new.

        Raises:
            ValueError: If no conversation is named, there is no such role, or a message has no id or an impossible
                time.
        """
        named_session(session_id)
        messages: list[BaseMessage] = []
        roles: dict[str, Mapping[str, Any]] = {}
        told: Any = [{"role": role, "content": content}] if isinstance(role, str) else role
        for number, given in enumerate(told if isinstance(told, Iterable) else [told]):
            place = "" if isinstance(role, str) else f"messages[{number}]"
            message = given
            if isinstance(given, Mapping):
                message, vouched = _said(given, place and f"{place}: ")
                roles[message_record_id(session_id, message)] = vouched
            if not isinstance(message, BaseMessage):
                raise ValueError(
                    f"{place} is a {type(message).__name__}; give a LangChain message, or a role and content"
                )
            if not message.id:
                raise ValueError(f"{place} has no id: give each an id, so that it is stored once")
            messages.append(message)
        if problem := misdated(messages):
            raise ValueError(problem)
        return await self._append(user_id, session_id, messages, agent_id, roles)

    async def write(self, event: MemoryWriteEvent) -> None:
        """Store a record, or append {"role", "content"} to the conversation; a ValueError names a wrong field and the
        fix.

        Repeated with the same id, time (`created_at`) or trace (`meta`), it is one message.
        """
        data = {"session_id": event.session_id, "agent_id": event.agent_id, **event.data}
        if not MESSAGE.may_be(data) or "turn" in data or "content" not in data:
            await super().write(event)
            return
        named_session(data["session_id"])
        content = data["content"] if isinstance(data["content"], str) else str(data["content"])
        once = str(data.get("created_at", "")), str(event.meta.get("trace_id", ""))
        parts = (data["session_id"], str(data.get("role")), content, event.node_id or "", *once)
        id_ = data.get("id") or (record_id(MESSAGE.name, *parts) if any(once) else str(uuid.uuid4()))
        said, vouched = _said({**data, "id": id_}, "memory scope dialog: ")
        more = {name: value for name, value in data.items() if name not in ("id", "role", "content", "name")}
        given = {**written_in(event), **vouched, **more}
        session = data["session_id"]
        await self._append(event.user_id, session, [said], data["agent_id"], {message_record_id(session, said): given})

    async def _append(
        self,
        user_id: str,
        session_id: str,
        messages: Sequence[BaseMessage],
        agent_id: str,
        vouched: Mapping[str, Mapping[str, Any]],
    ) -> list[Message]:
        stored = await self.every(user_id, session_id=session_id, kind=MESSAGE.name)
        known = {value["id"]: value["turn"] for value in stored}
        first = max(known.values(), default=-1) + 1
        of = {"session_id": session_id, "agent_id": agent_id}
        owner, policy = Owner(user_id, thread=messages), self._policy.secrets
        made = partial(to_records, messages, first=first, owner=owner, policy=policy, **of)
        records = await off_loop(READING * characters_of(messages), made)
        said = [
            self.made(Message, {**record.to_value(), **vouched[record.id]}) if record.id in vouched else record
            for record in records
            if record.id not in known
        ]
        new = await kept_apart(self.store, user_id, said)
        await self._keep(user_id, new)
        return new

    def complete(self, data: dict[str, Any]) -> dict[str, Any]:
        """Move tool calls and thinking out of a message's blocks into their own fields; derive a summary's id."""
        if SUMMARY.matches(data):
            return {"id": SUMMARY.id(*(data.get("source_ids") or (str(data["session_id"]),))), **data}
        return led_apart(data) if MESSAGE.may_be(data) else data

    async def _keep(self, user_id: str, records: Sequence[Record], *, dated: bool = True) -> None:
        messages = await kept_apart(self.store, user_id, [one for one in records if isinstance(one, Message)])
        others = [one for one in records if not isinstance(one, Message)]
        await super()._keep(user_id, [*messages, *others], dated=dated)

    def beside(self, user_id: str, records: Sequence[Record]) -> list[Change]:
        """Return the writes that add speakers to the owner's list."""
        return speaker_changes(self.store, user_id, [record for record in records if isinstance(record, Message)])

    async def update_summary(
        self,
        user_id: str,
        session_id: str,
        summary: str,
        *,
        agent_id: str = "",
        source_ids: Sequence[str] = (),
        episodes: Sequence[str] = (),
        task_preferences: Sequence[str] = (),
    ) -> Summary:
        """Write the summary of a conversation, in place of one of the same messages; see `summary`."""
        record = self.summary(
            summary,
            session_id=named_session(session_id),
            agent_id=agent_id,
            source_ids=source_ids,
            episodes=episodes,
            task_preferences=task_preferences,
        )
        await self._keep(user_id, [record], dated=False)
        return record

    def summary(
        self,
        text: str,
        *,
        session_id: str,
        agent_id: str,
        source_ids: Sequence[str] = (),
        origins: Iterable[Origin] = (),
        at: datetime | None = None,
        episodes: Sequence[str] = (),
        task_preferences: Sequence[str] = (),
    ) -> Summary:
        """Return the summary of a conversation as a record; the same messages give the same one.

        Args:
            source_ids: The summarised messages; empty for the conversation as a whole.
            origins: The provenance of the messages: the summary gets the least trusted.
            episodes: The episodes drawn from these; `task_preferences` are facts that state a preference of the user.
        """
        return Summary(
            id=SUMMARY.id(*(source_ids or (session_id,))),
            text=text[:MAX_INDEXED_CHARS],
            origin=lowest([Origin.ASSISTANT, *origins]),
            created_at=at or now(),
            session_id=session_id,
            agent_id=agent_id,
            source_ids=tuple(source_ids),
            episodes=tuple(episodes),
            task_preferences=tuple(task_preferences),
        )


def held_in(values: Iterable[Mapping[str, Any]]) -> list[HeldConversation]:
    """Return conversations from their records, the latest first."""
    said: dict[str, list[Mapping[str, Any]]] = {}
    summed: dict[str, tuple[tuple[int, str], Mapping[str, Any]]] = {}
    for value in values:
        session = str(value.get("session_id", ""))
        if MESSAGE.matches(value):
            said.setdefault(session, []).append(value)
        elif SUMMARY.matches(value):
            # the one that covers most, and of several the latest
            key = int(value.get("covers") or 0), str(value.get("created_at") or "")
            summed[session] = max(summed.get(session, (key, value)), (key, value), key=itemgetter(0))
    held = []
    for session, messages in said.items():
        messages.sort(key=lambda value: value["turn"])
        told = next((value for value in messages if value["role"] == "user" and value["text"]), messages[0])
        times = [str(value["created_at"]) for value in messages]
        held.append(
            HeldConversation(
                id=session,
                agent=str(told["agent_id"]),
                messages=len(messages),
                first=_dated(min(times)),
                last=_dated(max(times)),
                about=str(told["text"]),
                summary=str(summed[session][1]["text"]) if session in summed else "",
            )
        )
    return sorted(held, key=lambda one: (one.last, one.id), reverse=True)


def _dated(at: str) -> datetime:
    return with_zone(datetime.fromisoformat(at))


def _said(given: Mapping[str, Any], place: str) -> tuple[BaseMessage, dict[str, Any]]:
    """Return a message from a mapping, with its role and provenance; a `ValueError` names the fault of either."""
    role, content = given.get("role"), given.get("content")
    if role not in get_args(Role):
        raise ValueError(f"{place}role: {str(role)[:80]!r} is none of {', '.join(get_args(Role))}")
    if not isinstance(content, str | list | None):
        raise ValueError(f"{place}content: must be a text, or a list of blocks, got {content!r:.80}")
    kind = AIMessage if role == "assistant" else HumanMessage
    message = kind(
        content=content or "", id=str(given.get("id") or uuid.uuid4()), name=given.get("speaker") or given.get("name")
    )
    # whether it is the user's or a named speaker's, its record tells
    return message, {"role": role} if role == "user" else {"role": role, "origin": origin_of_role(role)}


def _position(values: Iterable[dict[str, Any]], limit_turns: int) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """Return the latest summary of a conversation outside of its chain, and its latest turns, the newest last."""
    messages: list[dict[str, Any]] = []
    summary: dict[str, Any] | None = None
    for value in values:
        if MESSAGE.matches(value):
            messages.append(value)
        elif SUMMARY.matches(value) and not value.get("chain"):
            summary = value if summary is None else max(summary, value, key=created_at)
    if limit_turns <= 0:
        return summary, []
    messages.sort(key=itemgetter("turn"))
    starts = [value["turn"] for value in messages if value["role"] == "user"]
    first = starts[-limit_turns] if len(starts) > limit_turns else 0
    # of thousands of messages few are shown, and a date takes longer to read than a number
    latest = [value for value in messages if value["turn"] >= first]
    return summary, sorted(latest, key=lambda value: (value["turn"], created_at(value)))
