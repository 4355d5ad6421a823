"""Turn in memory: durable before the model answers, extracted afterwards, recovered after a crash.

1. `open`: the user's message is stored, with a note for its extraction, before the model is asked.
2. `close`: the whole turn is stored, without a model.
3. `extract`: the messages are embedded and join the conversation's chain, and one model call proposes facts, an
   episode, changes to the profile and a summary, of every waiting turn. They are written, and the notes removed, in one
   atomic batch. Then due parts of the chain are summarised.

A crash in between leaves the note, and the next `extract` includes the turn. A failing model leaves the user's
statements verbatim, so that nothing said is lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.store.base import SearchItem

from react_mem.memory import telemetry
from react_mem.memory.language.secrets import masked_in
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.merging.authors import is_users, speaker_changes
from react_mem.memory.merging.blocks import kept_apart, omitted
from react_mem.memory.merging.transcript import is_said, message_record_id, secrets_told, to_records, vouched
from react_mem.memory.model.concepts import ContextChain
from react_mem.memory.model.external import origin_of_result
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import PENDING
from react_mem.memory.model.namespaces import READING, characters_of, off_loop, scope_namespace
from react_mem.memory.model.operations import Change, delete, put, put_unembedded
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Message, now
from react_mem.memory.model.states import PendingTurn
from react_mem.memory.rights.unsaid import TurnUnsaid, read_forgotten
from react_mem.memory.store.attachments import MAX_ATTACHMENT, limit_of
from react_mem.memory.store.capabilities import capabilities
from react_mem.memory.store.room import make_room
from react_mem.memory.store.transactions import Guard
from react_mem.memory.work.items import Kind, Work, announce, put_work, worker_name
from react_mem.memory.write.chain import fold
from react_mem.memory.write.drawing import draw, draw_at_once
from react_mem.memory.write.session import (
    ClaimedTurns,
    Session,
    TurnReport,
    claim,
    grant_wishes,
    offer_unread,
    owner_of,
)

# Durable storage of a turn: its messages, a note for its extraction, and the work, in one batch.

_CONTEXT = 2
"""Messages of context before a turn: "yes, exactly" says nothing without the question."""

_MAX_STEP = 500
_MAX_STEPS = 20
"""Limits of the agent's steps in a note: characters of each, and the number of the latest; the thread has all."""

_MAX_NOTE = 600  # characters of the user's words in a note
END_CONVERSATION = "end_conversation"  # tool with which an agent ends a conversation
AgentStep = Mapping[str, Any]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TurnToStore:
    """Turn to be stored; `first` is the index of the first message not in memory, `asked` the index of the question."""

    session: Session
    thread: Sequence[BaseMessage]
    since: str | None
    first: int
    asked: int
    records: Sequence[Message]
    new: Sequence[Message]
    steps: Sequence[AgentStep]
    task_steps: tuple[str, ...] = ()
    task_type: str = ""
    snapshot: bool = False
    ends: bool = False

    @classmethod
    async def of(
        cls,
        session: Session,
        thread: Sequence[BaseMessage],
        since: str | None,
        steps: Sequence[AgentStep] = (),
        heard: Sequence[Origin] = (),
        noted: Mapping[str, Any] | None = None,
        **about: Any,
    ) -> TurnToStore:
        """Return the new part of a thread, its answer with the fields of `noted`."""
        first = next((i + 1 for i in range(len(thread) - 1, -1, -1) if thread[i].id == since), 0)
        asked = next((i for i in range(len(thread) - 1, -1, -1) if is_users(thread[i])), first)
        start = min(first, asked)
        policy, said = session.memory.policy.secrets, thread[start:]
        owner = await owner_of(session.memory, session.user_id, thread, start)

        def read() -> tuple[list[Message], Sequence[AgentStep]]:
            known = [] if policy == "keep" else secrets_told(thread)
            made = to_records(said, first=start, owner=owner, policy=policy, known=known, **session.where)
            return made, steps if policy == "keep" else [masked_in(dict(step), known) for step in steps]

        records, steps = await off_loop(READING * characters_of(said), read)
        if session.elsewhere:
            records = [record.model_copy(update={"elsewhere": True}) for record in records]
        # no answer is trusted more than what it was made of
        records = [vouched(record, heard) if record.turn > asked else record for record in records]
        # what the agent was told to forget in it does not come back with the turn
        unsaid = TurnUnsaid(thread[asked:])
        records, steps = unsaid.messages(records), unsaid.steps(steps)
        if noted and records and records[-1].role == "assistant":
            records = [*records[:-1], records[-1].model_copy(update=dict(noted))]
        new = [record for record in records if record.turn >= first and record.content]
        return cls(session, thread, since, first, asked, records, new, steps, **about)

    async def store(self) -> str:
        """Store new messages with a note and the work of their extraction, in one batch; return a notice to the user.

        Nothing here waits for a worker, which may be reading or writing notes at this moment. So a note is never
        extended: its id says which messages it names, and the note of a continued turn replaces the one before. Raises
        `MemoryFull` if there is no room; the thread keeps the messages, and a later turn stores them once there is.
        """
        session, store = self.session, self.session.memory.store
        # what is asked is there already: its answer goes with it
        answers = self.ends and self.first > self.asked
        if self.new and not answers:
            await make_room(store, session.user_id, session.memory.policy.quotas, self.new)
        works, guarded = self.works, len(self.new) == 1 and capabilities(store).guards
        # as after a crash, it may be there
        turn = self if guarded or not self.new else await self._unknown()
        if turn.new:
            new = await kept_apart(store, session.user_id, turn.new)
            after = {record.id: record for record in new}
            turn = replace(turn, records=[after.get(record.id, record) for record in turn.records], new=new)
            await turn._write(works, guarded=guarded)
        elif self.ends:
            # without an answer to keep, as where the runtime spoke in the model's place, what was asked is read
            await session.memory.apply([put_work(session.user_id, work) for work in works])
        else:
            return ""
        announce(session.user_id, works)
        return turn.not_kept

    @property
    def not_kept(self) -> str:
        """Notice to the user about attachments that are not stored."""
        left = omitted(self.new)
        limit = limit_of(self.session.memory.store) if left else 0
        if not limit:
            return ""
        problem = (
            f"{left} of the attachments are not kept, only named: one may have {MAX_ATTACHMENT:,} bytes, and those of "
            f"a user {limit:,} together (MEMORY_ATTACHMENT_BYTES)"
        )
        log.warning("%s", problem)
        return problem

    @property
    def works(self) -> list[Work]:
        """Work of this conversation with its due times; repeated messages add no work."""
        session, extraction = self.session, self.session.memory.policy.extraction
        # a turn that a crash leaves open; what is drawn from inline is due only if that fails
        waits: dict[Kind, float] = {"maintain": extraction.recover_after}
        if self.ends:
            inline = extraction.mode == "inline"
            waits = {"extract": extraction.recover_after if inline else extraction.debounce}
            if any(step["action"] == END_CONVERSATION for step in self.steps):
                waits["conclude"] = extraction.debounce
            waits["maintain"] = extraction.quiet_after
        at = now().timestamp()
        return [
            Work(kind=kind, agent=session.agent_id, session=session.session_id, due_at=int((at + seconds) * 1000))
            for kind, seconds in waits.items()
        ]

    async def _write(self, works: Sequence[Work], *, guarded: bool) -> None:
        session, user_id, records = self.session, self.session.user_id, self.records
        forked, marks = False, list[Change]()
        if self.ends:
            earlier = self.thread[: min(self.first, self.asked)]
            forked, marks = await session.branches.reached(earlier, records[-1].id, self.since)
        new = session.branches.linked(records, self.new, self.since, found=self.since is None or self.first > 0)
        said = (message for message in reversed(self.thread[: min(self.first, self.asked)]) if is_said(message))
        before = [message_record_id(session.session_id, message) for message in islice(said, _CONTEXT)]
        ids = [record.id for record in records]
        note = PendingTurn(
            id=PENDING.id(*ids),
            text=" ".join(record.text for record in records if record.role == "user")[:_MAX_NOTE],
            steps=tuple(map(_in_words, self.steps[-_MAX_STEPS:])),
            **session.where,
            source_ids=tuple(ids),
            task_steps=self.task_steps,
            context_ids=tuple(reversed(before)),
            forked=forked,
            snapshot=self.snapshot,
        )
        # one note a turn: that of the question, or of what was answered so far, is part of this one
        asking = sum(record.turn <= self.asked for record in records)
        turn = {"turn_id": message_record_id(session.session_id, self.thread[self.asked]), "task_type": self.task_type}
        changes = [
            *(put_work(user_id, work) for work in works),
            # found by their words from now on: to embed a long answer takes up to a second, which nobody is to wait for
            *(put_unembedded(user_id, record) for record in new),
            put(user_id, note),
            *marks,
            *(delete(user_id, PENDING, PENDING.id(*ids[:end])) for end in range(asking, len(ids))),
            *session.memory.experience.logged(user_id, self.steps, **session.where, **turn),
            put(user_id, session.conversation(ended=False)),
            *speaker_changes(session.memory.store, user_id, new),
        ]
        if not guarded:
            await session.memory.apply(changes)
            return
        unknown = Guard(scope_namespace(user_id, MemoryScope.DIALOG), self.new[0].id, None)
        with telemetry.span("write") as measured:
            measured.set(changes=len(changes))
            await capabilities(session.memory.store).abatch_if(changes, unknown)

    async def _unknown(self) -> TurnToStore:
        session, ids = self.session, [record.id for record in self.new]
        known, forgotten = await asyncio.gather(
            session.memory.records(session.user_id, MemoryScope.DIALOG, ids),
            read_forgotten(session.memory.store, session.user_id, session.session_id),
        )
        return replace(self, new=[one for one in self.new if one.id not in known and one.id not in forgotten])


def last_id(thread: Sequence[BaseMessage]) -> str | None:
    """Return the id of the last message of a thread that memory stores: its mark in the conversation."""
    return next((str(message.id) for message in reversed(thread) if is_said(message)), None)


def _in_words(step: AgentStep) -> str:
    result = f"error: {step['error']}" if step["error"] else step["observation"]
    return f"{step['action']}({step['arguments']}) -> {result}"[:_MAX_STEP]


_MAX_CALLS = 3
"""Conversations extracted in one go, this one first: recovery from a long outage must not keep one turn busy."""


@dataclass(frozen=True)
class Turns(Session):
    """Turns of one user in one conversation with an agent; see `Session`."""

    async def open(self, thread: Sequence[BaseMessage], since: str | None) -> str:
        """Store the user's message before anything else can fail; return a notice about parts that are not stored.

        `since` is the id of the last message in memory, from `last_id`; None at the start.
        """
        return await (await TurnToStore.of(self, thread, since)).store()

    async def close(
        self,
        thread: Sequence[BaseMessage],
        since: str | None,
        steps: Sequence[AgentStep] = (),
        task_steps: Sequence[str] = (),
        *,
        heard: Sequence[Origin] = (),
        searched: bool = False,
        snapshot: bool = False,
        task_type: str = "",
        used: Sequence[str] = (),
        run_id: str = "",
    ) -> None:
        """Store the finished turn; no model is asked.

        Args:
            steps: The agent's steps: `action`, `arguments`, `observation` and `error` each, and `latency` and `cost` if
                known.
            task_steps: The records of the task's steps taken in it.
            heard: Further origins of the answer, without steps.
            searched: True if the agent was shown web pages.
            snapshot: True to ask for a snapshot, made at the extraction.
            used: The memories in its prompt.
        """
        told = [*map(origin_of_result, (step["action"] for step in steps)), *([Origin.WEB] if searched else []), *heard]
        about = {"task_steps": tuple(task_steps), "task_type": task_type, "snapshot": snapshot, "ends": True}
        noted = {"used": tuple(used), "run_id": run_id} if used or run_id else None
        turn = await TurnToStore.of(self, thread, since, steps, told, noted, **about)
        await turn.store()

    async def extract(self) -> TurnReport:
        """Extract from the waiting turns of this conversation and from turns of crashed workers; then summarise.

        Concurrent workers never extract the same turn. Requests to forget left by a crash are granted first:
        later statements stay.
        """
        worker, total = worker_name(), TurnReport()
        ungranted: Exception | None = None
        if self.extractor is not None and self.memory.policy.extracts:
            await offer_unread(self)
        conversations = {self.session_id: self}
        chains: dict[str, ContextChain | None] = {}
        at_once = self.extractor is None and self.memory.policy.extracts
        if at_once and (kept := await draw_at_once(self)) is not None:
            self._count(kept)
            return kept + await self._sum_up(kept.chain)
        for _ in range(_MAX_CALLS):
            claimed = await claim(self, worker)
            due = claimed.due
            if claimed.wishes and ungranted is None:
                granted, ungranted = await self._grant(claimed.wishes, ClaimedTurns(self, due, worker))
                total += granted
            if not due:
                total += TurnReport(emptied=claimed.alone)
                break
            turns = conversations.setdefault(due[0].session_id, replace(self, session_id=due[0].session_id))
            with telemetry.span("extraction") as measured:
                report = await draw(ClaimedTurns(turns, due, worker))
                measured.set(calls=report.calls, stored=len(report.stored), waiting=report.waiting)
            self._count(report)
            chains[turns.session_id] = report.chain
            total += replace(report, emptied=claimed.alone and not report.waiting)
            # where the model fails now, it would with the next ones
            if report.waiting or not claimed.more:
                break
        for turns in conversations.values():
            total += await turns._sum_up(chains.get(turns.session_id))
        if ungranted is not None:
            raise ungranted
        return total

    async def _grant(self, wishes: Sequence[SearchItem], mine: ClaimedTurns) -> tuple[TurnReport, Exception | None]:
        """Grant requests to forget left by a crash; return the failure, if any."""
        try:
            return TurnReport(problem=await grant_wishes(self.memory.store, self.user_id, wishes)), None
        except asyncio.CancelledError:
            # the turns that were claimed with it must not wait until the claim runs out
            await asyncio.shield(mine.release())
            raise
        except Exception as error:
            # it is tried again; what was said is read meanwhile
            log.warning("what the user asked to forget is still to be erased: %s", cause_of(error))
            telemetry.count("degradations", part="forgetting")
            return TurnReport(), error

    @staticmethod
    def _count(report: TurnReport) -> None:
        telemetry.count("extraction.changes", len(report.stored), change="stored")
        telemetry.count("extraction.changes", len(report.retired), change="retired")

    async def _sum_up(self, known: ContextChain | None) -> TurnReport:
        """Summarise the due parts of this conversation, by its chain if given; a failed one stays due."""
        if not self.memory.policy.summaries.enabled:
            return TurnReport()
        try:
            return await fold(self, known)
        except Exception as error:
            log.warning("the conversation could not be summed up: %s", cause_of(error))
            telemetry.count("degradations", part="summary")
            return TurnReport(problem=f"the conversation could not be summed up: {cause_of(error)}")
