"""Dialog scope: messages word for word, and their summaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.store.base import GetOp, Op, SearchItem, SearchOp

from react_mem.memory.index.question import Question
from react_mem.memory.index.recall import RecallOp
from react_mem.memory.language.text import MAX_INDEXED_CHARS
from react_mem.memory.merging.speakers import speaker_changes
from react_mem.memory.merging.transcript import misdated, to_records
from react_mem.memory.model.changes import Change
from react_mem.memory.model.interface import MemoryQuery, MemoryResultItem, MemoryScope
from react_mem.memory.model.kinds import CHAIN, CONVERSATION, MESSAGE, PENDING, SUMMARY
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.origins import Origin, lowest
from react_mem.memory.model.records import Message, Record, Summary, now, said_to
from react_mem.memory.scopes.scope import SPARE, ScopeStore
from react_mem.memory.store.owned import everything

MAX_FRESH = 3
"""Turns of other conversations that wait to be indexed: what a user said a moment ago, in another window."""


@dataclass(frozen=True)
class DialogContext:
    """Position of a conversation.

    Args:
        summary: What an invocation came to, or the whole, as last written; None where nobody wrote it down. The
            summaries of its chain are not meant: each stands for a part of it.
        messages: Its latest turns, the newest last.
    """

    summary: Summary | None
    messages: list[Message]


@dataclass(frozen=True)
class HeldThread:
    """A conversation that was held.

    Args:
        id: Its thread.
        agent: The agent.
        last: When something was last said in it, as ISO 8601.
        messages: How many messages memory has of it.
        about: What the user said first.
    """

    id: str
    agent: str
    last: str
    messages: int
    about: str


class DialogMemoryStore(ScopeStore):
    """The dialog scope."""

    scope = MemoryScope.DIALOG

    async def conversations(self, user_id: str) -> list[HeldThread]:
        """Return the conversations of a user of which memory has something, the latest first.

        Args:
            user_id: The owner.
        """
        said: dict[str, list[Mapping[str, Any]]] = {}
        last: dict[str, str] = {}
        for item in await everything(self.store, user_id):
            session = str(item.value.get("session_id", ""))
            if MESSAGE.matches(item.value):
                said.setdefault(session, []).append(item.value)
            elif CONVERSATION.matches(item.value):
                last[session] = str(item.value["last_said_at"])
        held = []
        for session, messages in said.items():
            messages.sort(key=lambda value: value["turn"])
            told = next((value for value in messages if value["role"] == "user"), messages[0])
            at = last.get(session) or max(str(value["created_at"]) for value in messages)
            held.append(HeldThread(session, str(told["agent_id"]), at, len(messages), str(told["text"])))
        return sorted(held, key=lambda one: one.last, reverse=True)

    def operations(self, query: MemoryQuery, question: Question | None) -> list[Op | RecallOp]:
        """Search all conversations of the owner, take the turns that are too new to be found by a search, and look the
        chain of this conversation up.
        """
        asked: list[Op | RecallOp] = []
        if self._policy.recall.dialog:
            # one that was tried has been indexed, and is found by the search like everything else
            new = {"session_id": {"$ne": query.session_id}, "attempts": 0}
            asked.append(self._search(query, question, SPARE * self._policy.recall.max_memories, pairs=True))
            asked.append(SearchOp(PENDING.namespace(query.user_id), new, MAX_FRESH))
        if self._policy.summaries.enabled:
            namespace = scope_namespace(query.user_id, MemoryScope.STATE)
            asked.append(GetOp(namespace, CHAIN.id(query.session_id)))
        return asked

    def results(self, answers: Sequence[Any], query: MemoryQuery) -> list[MemoryResultItem]:
        """Return what the caller does not have already: what was just said elsewhere, then what was found; last the
        chain of this conversation, which counts as none of the memories.
        """
        found = self._memories(answers[0], answers[1], query) if self._policy.recall.dialog else []
        memories = [_for_agent(result, query.agent_id) for result in found]
        chain = answers[-1] if self._policy.summaries.enabled else None
        return memories if chain is None else [*memories, self.shown(chain)]

    def as_of(self, value: Mapping[str, Any], at: datetime) -> dict[str, Any] | None:
        """Return a message, summary or note as it was; a chain says where its conversation stands now, and was not."""
        return None if CHAIN.matches(value) else super().as_of(value, at)

    def _memories(self, found: Any, fresh: Sequence[SearchItem], query: MemoryQuery) -> list[MemoryResultItem]:
        known = self._unseen(found, query)
        ids = {one.key for one in known}
        # the messages of a turn may have been found by the search as well
        unread = [item for item in fresh if item.value["text"] and ids.isdisjoint(item.value["source_ids"])]
        return [self.shown(one) for one in [*unread, *known][: self._policy.recall.max_memories]]

    async def get_context(
        self, user_id: str, session_id: str, limit_turns: int = 20, *, agent_id: str = ""
    ) -> DialogContext:
        """Return the latest turns of a conversation and its summary.

        It reads the whole conversation, since no store is asked to return messages in their order.

        Args:
            user_id: The owner.
            session_id: The conversation.
            limit_turns: How many turns; a turn is what the user said and the answers to it.
            agent_id: The agent that asks: what it thought is among it, and nothing that another one did.
        """
        messages: list[Message] = []
        summaries: list[Summary] = []
        for value in await self.every(user_id, session_id=session_id):
            if MESSAGE.matches(value):
                messages.append(Message.from_value(said_to(value, agent_id)))
            elif SUMMARY.matches(value) and not value.get("chain"):
                summaries.append(Summary.from_value(value))
        messages.sort(key=lambda message: (message.turn, message.created_at))
        starts = [place for place, message in enumerate(messages) if message.role == "user"]
        if limit_turns <= 0:
            messages = []
        elif len(starts) > limit_turns:
            messages = messages[starts[-limit_turns] :]
        return DialogContext(max(summaries, key=lambda summary: summary.created_at, default=None), messages)

    async def append(
        self, user_id: str, session_id: str, messages: Sequence[BaseMessage], *, agent_id: str
    ) -> list[Message]:
        """Store messages at the end of a conversation; those that are stored already stay as they are.

        Args:
            user_id: The owner.
            session_id: The conversation.
            messages: LangChain messages with ids, in order. Tool calls and results are not dialogue and are left out.
            agent_id: The agent that talks.

        Returns:
            The messages that are new.

        Raises:
            ValueError: If a message has no id, or says that it was said at a time that cannot be.
        """
        if problem := misdated(messages):
            raise ValueError(problem)
        for place, message in enumerate(messages):
            if not message.id:
                raise ValueError(f"messages[{place}] has no id: give each an id, so that it is stored once")
        stored = await self.every(user_id, session_id=session_id, kind=MESSAGE.name)
        known = {value["id"]: value["turn"] for value in stored}
        first = max(known.values(), default=-1) + 1
        records = to_records(messages, first=first, session_id=session_id, agent_id=agent_id)
        new = [record for record in records if record.id not in known]
        await self._keep(user_id, new)
        return new

    def beside(self, user_id: str, records: Sequence[Record]) -> list[Change]:
        """Return the writes that make speakers known."""
        return speaker_changes(self.store, user_id, [record for record in records if isinstance(record, Message)])

    async def update_summary(
        self,
        user_id: str,
        session_id: str,
        text: str,
        *,
        agent_id: str,
        source_ids: Sequence[str] = (),
        episodes: Sequence[str] = (),
        task_preferences: Sequence[str] = (),
    ) -> Summary:
        """Write what a conversation came to; the summary of the same messages is replaced.

        Args:
            user_id: The owner.
            session_id: The conversation.
            text: The summary.
            agent_id: The agent that wrote it.
            source_ids: The messages it sums up; without any, the conversation as a whole.
            episodes: The episodes that come from these.
            task_preferences: The facts among them that say what the user prefers.
        """
        summary = self.summary(
            text,
            session_id=session_id,
            agent_id=agent_id,
            source_ids=source_ids,
            episodes=episodes,
            task_preferences=task_preferences,
        )
        await self._keep(user_id, [summary], dated=False)
        return summary

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
        """Return what a conversation came to, as a record; the same messages give the same one.

        Args:
            text: The summary.
            session_id: The conversation.
            agent_id: The agent that wrote it.
            source_ids: The messages it sums up; without any, the conversation as a whole.
            origins: Who vouches for them: it is trusted no more than the least trusted.
            at: When it was written; now by default.
            episodes: The episodes that come from these.
            task_preferences: The facts among them that say what the user prefers.
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


def _for_agent(result: MemoryResultItem, agent_id: str) -> MemoryResultItem:
    payload = said_to(result.payload, agent_id)
    return result if payload is result.payload else result.model_copy(update={"payload": payload})
