"""A turn's way into memory: durable before the model answers, drawn from afterwards, picked up again after a crash.

1. `open`: what the user says is stored, with a note that it is still to be extracted, before the model is asked.
2. `close`: the whole turn is stored without a model; then one model call proposes facts, an episode, changes to the
   profile and a summary. They are written, and the note removed, in one atomic batch.

A crash in between leaves the note, and the next `close` takes the turn along. A failing model leaves the user's
statements word for word, so that nothing said is lost.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from langchain_core.messages import BaseMessage, HumanMessage

from memory.changes import Change, delete_pending, put, put_pending
from memory.extraction import ExistingMemory, Extraction, ExtractionError, Extractor, TranscriptMessage
from memory.facade import MemoryFacade
from memory.interface import MemoryQuery, MemoryScope
from memory.reconcile import reconcile, retire, touched_ids
from memory.records import (
    Episode,
    Fact,
    Message,
    PendingTurn,
    Profile,
    ProfileField,
    Summary,
    normalise,
    now,
    record_id,
)
from memory.retrieval import PROFILE_KEY
from memory.statements import statements
from memory.transcript import to_records

MAX_ATTEMPTS = 5
"""A turn that fails this often is left alone; it stays visible among the pending ones, with its last error."""

MAX_VERBATIM = 20
"""Statements of one message that are kept on their own; a pasted document beyond that stays whole in its message."""

_BATCH = 8
"""Turns drawn from in one model call, at most: what a small model's window holds."""

log = logging.getLogger(__name__)

_locks: weakref.WeakValueDictionary[tuple[int, str], asyncio.Lock] = weakref.WeakValueDictionary()


@dataclass(frozen=True)
class TurnReport:
    """What closing a turn did.

    Args:
        stored: The texts that are new in memory.
        retired: The texts that are no longer believed.
        calls: How many model calls it took.
        waiting: How many turns still wait to be extracted.
        problem: What went wrong, for the user; empty when nothing did.
    """

    stored: list[str] = field(default_factory=list)
    retired: list[str] = field(default_factory=list)
    calls: int = 0
    waiting: int = 0
    problem: str = ""


@dataclass(frozen=True)
class Turns:
    """The turns of one user in one conversation.

    Args:
        memory: The facade.
        extractor: Draws facts from turns; None keeps the user's statements word for word.
        user_id: The owner.
        session_id: The conversation.
        agent_id: The agent.
    """

    memory: MemoryFacade
    extractor: Extractor | None
    user_id: str
    session_id: str
    agent_id: str

    async def open(self, thread: Sequence[BaseMessage], since: str | None) -> None:
        """Make what the user just said durable, before anything else can fail.

        Args:
            thread: The messages of the conversation, the newest last.
            since: The id of the last message that memory has already, as `last_id` gave it; None at the start.
        """
        await self._store(thread, since)

    async def close(self, thread: Sequence[BaseMessage], since: str | None, steps: Sequence[str]) -> TurnReport:
        """Store the finished turn, then draw from it and from what an earlier crash or failure left.

        Args:
            thread: The messages of the conversation, the answer last.
            since: The id of the last message that memory has already.
            steps: What the agent did, in words.

        Returns:
            What changed.
        """
        # two runs of one user in this process must not read, propose and write past each other
        lock = _locks.setdefault((id(asyncio.get_running_loop()), self.user_id), asyncio.Lock())
        async with lock:
            await self._store(thread, since)
            due = await self._due() if self._draws else []
            if not due:
                return TurnReport()
            messages = await self._messages_of(due)
            if self.extractor is None:
                return await self._keep_verbatim(due, messages, done=True)
            try:
                extraction = await self._extract(messages, steps)
            except ExtractionError as error:
                log.warning("extraction failed, the user's statements are kept word for word: %s", error)
                return await self._keep_verbatim(due, messages, done=False, error=str(error))
            return await self._commit(due, messages, extraction)

    async def _store(self, thread: Sequence[BaseMessage], since: str | None) -> None:
        """Store the messages that are new, with a note that they are still to be drawn from, in one batch."""
        first = next((i + 1 for i in range(len(thread) - 1, -1, -1) if thread[i].id == since), 0)
        asked = next((i for i in range(len(thread) - 1, -1, -1) if isinstance(thread[i], HumanMessage)), first)
        start = min(first, asked)
        records = to_records(thread[start:], first=start, session_id=self.session_id, agent_id=self.agent_id)
        known = await self.memory.records(self.user_id, MemoryScope.DIALOG, [record.id for record in records])
        new = [record for record in records if record.id not in known]
        if not new:
            return
        # one note a turn: the answer joins the question that waits already
        pending = PendingTurn(
            id=record_id("pending", records[0].id),
            text="",
            session_id=self.session_id,
            agent_id=self.agent_id,
            source_ids=tuple(record.id for record in records),
        )
        changes = [put(self.user_id, MemoryScope.DIALOG, record) for record in new]
        await self.memory.apply([*changes, put_pending(self.user_id, pending)] if self._draws else changes)

    @property
    def _draws(self) -> bool:
        return self.memory.policy.extraction != "off"

    async def _due(self) -> list[PendingTurn]:
        """Return what is to be drawn from now: this conversation's turns, and what others left behind."""
        waiting = [PendingTurn.from_value(value) for value in await self.memory.pending(self.user_id)]
        stale = now() - timedelta(seconds=self.memory.policy.recover_after)
        mine = [turn for turn in waiting if turn.session_id == self.session_id]
        left = [turn for turn in waiting if turn.session_id != self.session_id and turn.created_at < stale]
        return [turn for turn in [*mine, *left] if turn.attempts < MAX_ATTEMPTS][:_BATCH]

    async def _messages_of(self, turns: Sequence[PendingTurn]) -> list[Message]:
        ids = [source for turn in turns for source in turn.source_ids]
        values = await self.memory.records(self.user_id, MemoryScope.DIALOG, ids)
        messages = [Message.from_value(value) for value in values.values()]
        return sorted(messages, key=lambda message: (message.session_id != self.session_id, message.turn))

    async def _extract(self, messages: Sequence[Message], steps: Sequence[str]) -> Extraction:
        transcript = [TranscriptMessage(id=m.id, role=m.role, text=_whole_text(m)) for m in messages]
        if steps:
            last = messages[-1]
            did = TranscriptMessage(id=f"{last.id}:steps", role="tool", text="\n".join(steps))
            transcript.insert(len(transcript) - (last.role == "assistant"), did)
        said = " ".join(message.text for message in messages if message.role == "user")
        related = await self.memory.read(
            MemoryQuery(
                user_id=self.user_id,
                session_id=self.session_id,
                agent_id=self.agent_id,
                scopes=[MemoryScope.SEMANTIC],
                query=said,
            )
        )
        existing = [
            ExistingMemory(
                id=item.id, kind="fact", text=str(item.payload["text"]), version=str(item.payload["created_at"])
            )
            for item in related
        ]
        assert self.extractor is not None  # noqa: S101 - narrows for the type checker
        return await self.extractor.extract(transcript, existing, deadline=self.memory.policy.extraction_timeout)

    async def _commit(
        self, due: Sequence[PendingTurn], messages: Sequence[Message], extraction: Extraction
    ) -> TurnReport:
        at = now()
        ids = touched_ids(extraction.ops)
        verbatim = self._verbatim_facts(messages, at)
        values = await self.memory.records(self.user_id, MemoryScope.SEMANTIC, [*ids, *(f.id for f in verbatim)])
        stored = {id_: Fact.from_value(value) for id_, value in values.items()}
        facts = reconcile(extraction.ops, stored, at=at, session_id=self.session_id, agent_id=self.agent_id)
        # What the model left unread is kept word for word; what it has now read is no longer needed that way.
        for fact in verbatim:
            if not _is_read(fact, extraction):
                if fact.id not in stored:
                    facts.append(fact)
            elif fact.id in stored and stored[fact.id].current:
                facts.append(retire(stored[fact.id], at))
        changes = [put(self.user_id, MemoryScope.SEMANTIC, fact) for fact in facts]
        changes += self._episode(extraction, messages, at) + await self._profile(extraction, at)
        changes += self._summary(extraction, messages, at)
        changes += [delete_pending(self.user_id, turn.id) for turn in due]
        await self.memory.apply(changes)
        return TurnReport(
            stored=[fact.text for fact in facts if fact.current],
            retired=[fact.text for fact in facts if not fact.current and not fact.verbatim],
            calls=extraction.calls,
            problem=_rejections(extraction),
        )

    async def _keep_verbatim(
        self, due: Sequence[PendingTurn], messages: Sequence[Message], *, done: bool, error: str = ""
    ) -> TurnReport:
        """Keep the user's statements word for word; `done` when no model is to read them later."""
        facts = self._verbatim_facts(messages, now())
        values = await self.memory.records(self.user_id, MemoryScope.SEMANTIC, [fact.id for fact in facts])
        known = {id_: Fact.from_value(value) for id_, value in values.items()}
        merged: dict[str, Fact] = {}
        for fact in facts:
            before = merged.get(fact.id) or known.get(fact.id)
            sources = tuple(dict.fromkeys([*(before.source_ids if before else ()), *fact.source_ids]))
            merged[fact.id] = (before or fact).model_copy(update={"source_ids": sources, "support": len(sources)})
        changes = [put(self.user_id, MemoryScope.SEMANTIC, f) for f in merged.values() if f != known.get(f.id)]
        for turn in due:
            again = turn.model_copy(update={"attempts": turn.attempts + 1, "last_error": error})
            changes.append(delete_pending(self.user_id, turn.id) if done else put_pending(self.user_id, again))
        await self.memory.apply(changes)
        new = [fact.text for id_, fact in merged.items() if id_ not in known]
        return TurnReport(stored=new, waiting=0 if done else len(due), problem=error)

    def _verbatim_facts(self, messages: Sequence[Message], at: datetime) -> list[Fact]:
        return [
            Fact(
                id=Fact.identity("user", "said", sentence),
                text=sentence,
                subject="user",
                predicate="said",
                object=sentence,
                verbatim=True,
                created_at=at,
                session_id=message.session_id,
                agent_id=self.agent_id,
                source_ids=(message.id,),
            )
            for message in messages
            if message.role == "user"
            for sentence in statements(_whole_text(message))[:MAX_VERBATIM]
        ]

    def _episode(self, extraction: Extraction, messages: Sequence[Message], at: datetime) -> list[Change]:
        draft = extraction.episode
        if draft is None or not self.memory.policy.use_episodic:
            return []
        sources = tuple(message.id for message in messages)
        episode = Episode(
            id=record_id("episode", *sources),
            text=" ".join(filter(None, [draft.goal, draft.outcome, *draft.lessons])),
            goal=draft.goal,
            situation=draft.situation,
            steps=tuple(draft.steps),
            outcome=draft.outcome,
            lessons=tuple(draft.lessons),
            importance=draft.importance,
            created_at=at,
            session_id=self.session_id,
            agent_id=self.agent_id,
            source_ids=sources,
        )
        return [put(self.user_id, MemoryScope.EPISODIC, episode)]

    def _summary(self, extraction: Extraction, messages: Sequence[Message], at: datetime) -> list[Change]:
        if not extraction.summary:
            return []
        sources = tuple(message.id for message in messages)
        summary = Summary(
            id=record_id("summary", *sources),
            text=extraction.summary,
            created_at=at,
            session_id=self.session_id,
            agent_id=self.agent_id,
            source_ids=sources,
        )
        return [put(self.user_id, MemoryScope.DIALOG, summary)]

    async def _profile(self, extraction: Extraction, at: datetime) -> list[Change]:
        if not extraction.profile_changes:
            return []
        values = await self.memory.records(self.user_id, MemoryScope.PROFILE, [PROFILE_KEY])
        fields = Profile.from_value(values[PROFILE_KEY]).fields if values else {}
        learnt = {
            change.field: ProfileField(value=change.value, source_ids=tuple(change.source_ids), updated_at=at)
            for change in extraction.profile_changes
        }
        merged = {**fields, **learnt}
        profile = Profile(
            id=PROFILE_KEY,
            text="; ".join(f"{name}: {entry.value}" for name, entry in merged.items()),
            fields=merged,
            created_at=at,
            session_id=self.session_id,
            agent_id=self.agent_id,
        )
        return [put(self.user_id, MemoryScope.PROFILE, profile)]


def last_id(thread: Sequence[BaseMessage]) -> str | None:
    """Return the mark up to which memory has a conversation once it has stored these messages."""
    return str(thread[-1].id) if thread else None


def _whole_text(message: Message) -> str:
    return message.content if isinstance(message.content, str) else message.text


def _is_read(statement: Fact, extraction: Extraction) -> bool:
    """Return whether the model has dealt with a statement: with everything, or with what this one says."""
    if extraction.complete and not extraction.rejected:
        return True
    message = statement.source_ids[0]
    accepted = [operation for operation in extraction.ops if message in operation.source_ids]
    if accepted and not any(message in rejected.source_ids for rejected in extraction.rejected):
        return True
    said = normalise(statement.text)
    return any(normalise(operation.object) in said for operation in accepted if operation.object)


def _rejections(extraction: Extraction) -> str:
    reasons = list(dict.fromkeys(rejected.reason for rejected in extraction.rejected))
    if reasons:
        return f"{len(extraction.rejected)} proposals were refused ({'; '.join(reasons)}); the words are kept as said"
    return "" if extraction.complete else "not everything could be read; the words are kept as said"
