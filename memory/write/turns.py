"""A turn's way into memory: durable before the model answers, drawn from afterwards, picked up again after a crash.

1. `open`: what the user says is stored, with a note that it is still to be extracted, before the model is asked.
2. `close`: the whole turn is stored, without a model.
3. `extract`: the messages are indexed and join the conversation's chain, and one model call proposes facts, an
   episode, changes to the profile and a summary, of every turn that waits. They are written, and the notes removed, in
   one atomic batch. Then what is due of the chain is summed up.

A crash in between leaves the note, and the next `extract` takes the turn along. A failing model leaves the user's
statements word for word, so that nothing said is lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Literal

from langchain_core.messages import BaseMessage, HumanMessage

from react_mem.errors import ExtractionError
from react_mem.memory import telemetry
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.index.entries import whole_text
from react_mem.memory.language.text import normalise
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.merging.facts import fact_changes, load_facts
from react_mem.memory.merging.reconcile import reconcile, said_again, ways
from react_mem.memory.merging.speakers import speaker_changes
from react_mem.memory.merging.transcript import is_said, message_record_id, to_records, vouched
from react_mem.memory.model.changes import Change, delete, delete_pending, put
from react_mem.memory.model.external import origin_of_result
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import CONVERSATION, PENDING
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import ExistingMemory, Extraction, Extractor, TranscriptMessage
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.profile import ProfileValue
from react_mem.memory.model.records import Fact, Message, now
from react_mem.memory.model.states import MAX_FAILURES, Conversation, PendingTurn
from react_mem.memory.rights.forgotten import TurnUnsaid, read_forgotten
from react_mem.memory.store.transactions import Guard, GuardedStore, transact
from react_mem.memory.summaries.summarise import EXTRACTIVE, Summariser
from react_mem.memory.work.items import Work, announce, put_work
from react_mem.memory.work.workers import worker_name
from react_mem.memory.write import drafts
from react_mem.memory.write.claims import freed, in_short, is_due
from react_mem.memory.write.drafts import Stamp, settle_verbatim
from react_mem.memory.write.folding import fold
from react_mem.memory.write.following import follow
from react_mem.memory.write.joining import join
from react_mem.memory.write.noticing import BranchesOf
from react_mem.memory.write.related import related_facts
from react_mem.memory.write.unread import offer_unread
from react_mem.memory.write.when import zone_of
from react_mem.memory.write.wishes import grant_wishes, wish_changes

_BATCH = 8
"""Turns drawn from in one model call, at most: what a small model's window holds."""

_MAX_CALLS = 3
"""Conversations drawn from in one go, this one first: recovering from a long outage must not keep one turn busy."""

_CONTEXT = 2
"""Messages before a turn that the model is shown with it: "yes, exactly" says nothing without the question."""

_MAX_STEP = 500
_MAX_STEPS = 20
"""What a note keeps of the agent's steps, for the episode: the latest, each cut; the whole is in the thread."""

_MAX_NOTE = 600
"""Characters of what the user said that a note carries: enough to be recalled by before it is indexed."""

_CLAIM_MARGIN = 30.0
"""Seconds a claim outlives the model call's deadline: reading and writing around it take far less."""

END_CONVERSATION = "end_conversation"
"""The tool with which an agent says that a conversation ends with this turn."""

AgentStep = Mapping[str, Any]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TurnReport:
    """What an extraction did.

    Args:
        stored: The texts that are new in memory.
        retired: The texts that are no longer believed.
        calls: How many model calls it took.
        waiting: How many turns still wait to be extracted.
        problem: What went wrong, for the user; empty when nothing did.
        summarised: How many summaries of the conversation were written.
        extractive: How many of them no model made.
    """

    stored: list[str] = field(default_factory=list)
    retired: list[str] = field(default_factory=list)
    calls: int = 0
    waiting: int = 0
    problem: str = ""
    summarised: int = 0
    extractive: int = 0

    def __add__(self, other: TurnReport) -> TurnReport:
        """Add up."""
        return TurnReport(
            [*self.stored, *other.stored],
            [*self.retired, *other.retired],
            self.calls + other.calls,
            self.waiting + other.waiting,
            "; ".join(filter(None, dict.fromkeys([self.problem, other.problem]))),
            self.summarised + other.summarised,
            self.extractive + other.extractive,
        )


@dataclass(frozen=True)
class Turns:
    """The turns of one user in one conversation.

    Args:
        memory: The facade.
        extractor: Draws facts from turns; None keeps the user's statements word for word.
        user_id: The owner.
        session_id: The conversation.
        agent_id: The agent.
        summariser: Sums the conversation up; by default without a model.
    """

    memory: MemoryFacade
    extractor: Extractor | None
    user_id: str
    session_id: str
    agent_id: str
    summariser: Summariser = EXTRACTIVE

    async def open(self, thread: Sequence[BaseMessage], since: str | None) -> None:
        """Make what the user just said durable, before anything else can fail.

        Args:
            thread: The messages of the conversation, the newest last.
            since: The id of the last message that memory has already, as `last_id` gave it; None at the start.
        """
        await self._store(thread, since, ())

    async def close(
        self,
        thread: Sequence[BaseMessage],
        since: str | None,
        steps: Sequence[AgentStep] = (),
        task_steps: Sequence[str] = (),
        *,
        searched: bool = False,
    ) -> None:
        """Store the finished turn; no model is asked.

        Args:
            thread: The messages of the conversation, the answer last.
            since: The id of the last message that memory has already.
            steps: What the agent did: `action`, `arguments`, `observation` and `error` each.
            task_steps: The records of the task's steps that were taken in it.
            searched: Whether the agent was shown pages of the web.
        """
        heard = [*map(origin_of_result, (step["action"] for step in steps)), *([Origin.WEB] if searched else [])]
        await self._store(thread, since, steps, task_steps, heard=heard, ends=True)

    @property
    def branches(self) -> BranchesOf:
        """The branches of the conversation."""
        return BranchesOf(self.memory.store, self.user_id, self.session_id)

    async def extract(self) -> TurnReport:
        """Draw from the turns of this conversation that wait, and from what a crash left in others; then sum them up.

        Two workers may do so at once: each turn is drawn from by one of them. What a crash left of the user's wishes
        to forget comes first: what is said since stays.

        Returns:
            What changed.
        """
        worker = worker_name()
        total, ungranted = TurnReport(), None
        try:
            total = await self.grant_wishes()
        except Exception as error:
            # it is tried again; what was said is read meanwhile
            log.warning("what the user asked to forget is still to be erased: %s", cause_of(error))
            telemetry.count("degradations", part="forgetting")
            ungranted = error
        if self.extractor is not None and self.memory.policy.extracts:
            await offer_unread(self.memory, self.user_id, self.agent_id)
        conversations = {self.session_id: self}
        for _ in range(_MAX_CALLS):
            due, more = await self._claim(worker)
            if not due:
                break
            turns = conversations.setdefault(due[0].session_id, replace(self, session_id=due[0].session_id))
            with telemetry.span("extraction") as measured:
                report = await self._draw(turns, due, worker)
                measured.set(calls=report.calls, stored=len(report.stored), waiting=report.waiting)
            telemetry.count("extraction.changes", len(report.stored), change="stored")
            telemetry.count("extraction.changes", len(report.retired), change="retired")
            total = total + report
            # where the model fails now, it would with the next ones
            if report.waiting or not more:
                break
        for turns in conversations.values():
            total = total + await turns._sum_up()
        if ungranted is not None:
            raise ungranted
        return total

    async def _sum_up(self) -> TurnReport:
        """Sum up what is due of this conversation; what fails is due again with its next turn."""
        if not self.memory.policy.summaries.enabled:
            return TurnReport()
        try:
            done = await fold(
                self.memory,
                self.summariser,
                user_id=self.user_id,
                session_id=self.session_id,
                agent_id=self.agent_id,
            )
        except Exception as error:
            log.warning("the conversation could not be summed up: %s", cause_of(error))
            telemetry.count("degradations", part="summary")
            return TurnReport(problem=f"the conversation could not be summed up: {cause_of(error)}")
        return TurnReport(
            calls=done.calls, problem=done.problem, summarised=done.summarised, extractive=done.extractive
        )

    @staticmethod
    async def _draw(turns: Turns, due: Sequence[PendingTurn], worker: str) -> TurnReport:
        """Draw from turns of one conversation, claimed by this worker."""
        try:
            due = await turns._on_path(due, worker)
            due, messages = await turns._index(due, worker)
            if not due:
                # forgotten meanwhile, taken over, or part of a turn that has its answer by now
                return TurnReport()
            if not turns.memory.policy.extracts:
                await turns._finish(due, worker)
                return TurnReport()
            if turns.extractor is None:
                return await turns._keep_verbatim(due, messages, worker)
            try:
                said = " ".join(message.text for message in messages if message.role == "user")
                related = await related_facts(turns.memory.store, turns.user_id, said)
                shown = await turns._shown(due, messages)
                extraction = await turns._ask(due, messages, shown, related)
            except ExtractionError as error:
                log.warning("extraction failed, the user's statements are kept word for word: %s", error)
                telemetry.count("degradations", part="extraction")
                return await turns._keep_verbatim(due, messages, worker, failure=error)
            return await turns._commit(due, messages, shown, extraction, related, worker)
        except asyncio.CancelledError:
            # a newer turn takes over: it must not wait until the claim runs out
            await asyncio.shield(turns._release(due, worker))
            raise
        except Exception as error:
            # what cannot be written is parked in the end, like what cannot be read: it must not block what waits behind
            try:
                await turns._release(due, worker, failure=error)
            except Exception as again:
                log.warning("the turns stay claimed until the claim runs out: %s", cause_of(again))
            raise

    async def _on_path(self, due: Sequence[PendingTurn], worker: str) -> Sequence[PendingTurn]:
        """Return the turns that the conversation has not left behind; what it has is no longer believed."""
        if not any(turn.forked for turn in due):
            return due
        await follow(self.memory.store, self.user_id, self.session_id)
        return await self._still_mine(due, worker)

    async def _release(self, due: Sequence[PendingTurn], worker: str, *, failure: Exception | None = None) -> None:
        async def step() -> tuple[None, list[Change]]:
            mine = await self._still_mine(due, worker)
            return None, [put(self.user_id, freed(turn, failure)) for turn in mine]

        await transact(self.memory.store, self.user_id, step)
        _count_parked(due, failure)

    async def _finish(self, due: Sequence[PendingTurn], worker: str) -> None:
        """Take the notes of turns away from which nothing is to be drawn."""

        async def step() -> tuple[None, list[Change]]:
            mine = await self._still_mine(due, worker)
            return None, [delete_pending(self.user_id, turn.id) for turn in mine]

        await transact(self.memory.store, self.user_id, step)

    async def _index(self, due: Sequence[PendingTurn], worker: str) -> tuple[Sequence[PendingTurn], Sequence[Message]]:
        """Let messages be found by meaning and join the chain.

        Returns:
            The turns that are still this worker's, which know that they have joined, and their messages.
        """
        joins = self.memory.policy.summaries.enabled

        async def step() -> tuple[tuple[Sequence[PendingTurn], Sequence[Message]], list[Change]]:
            mine = await self._still_mine(due, worker)
            messages = await self._messages_of(_sources(mine))
            changes = [put(self.user_id, message) for message in messages]
            if not joins or not mine:
                return (mine, messages), changes
            changes += await join(self.memory, self.user_id, mine, messages)
            joined = [turn.model_copy(update={"chained": True}) for turn in mine]
            return (joined, messages), [*changes, *(put(self.user_id, turn) for turn in joined)]

        return await transact(self.memory.store, self.user_id, step)

    async def _store(
        self,
        thread: Sequence[BaseMessage],
        since: str | None,
        steps: Sequence[AgentStep],
        task_steps: Sequence[str] = (),
        *,
        heard: Sequence[Origin] = (),
        ends: bool = False,
    ) -> None:
        """Store the messages that are new, with a note and the work of drawing from them, in one batch.

        Nothing here waits for a worker, which may be reading or writing notes at this moment. So a note is never
        extended: its id says which messages it names, and the note of a turn that has gone on replaces the one before.
        """
        first = next((i + 1 for i in range(len(thread) - 1, -1, -1) if thread[i].id == since), 0)
        asked = next((i for i in range(len(thread) - 1, -1, -1) if isinstance(thread[i], HumanMessage)), first)
        start = min(first, asked)
        records = to_records(thread[start:], first=start, session_id=self.session_id, agent_id=self.agent_id)
        # no answer is trusted more than what it was made of
        records = [vouched(record, heard) if record.turn > asked else record for record in records]
        # what the agent was told to forget in it does not come back with the turn
        unsaid = TurnUnsaid(thread[asked:])
        records, steps = unsaid.messages(records), unsaid.steps(steps)
        new = [record for record in records if record.turn >= first and record.text]
        store = self.memory.store
        # where the write itself finds out whether a message is there already, as after a crash, nobody looks first
        guarded = store if len(new) == 1 and isinstance(store, GuardedStore) else None
        if guarded is None:
            known, forgotten = await asyncio.gather(
                self.memory.records(self.user_id, MemoryScope.DIALOG, [record.id for record in new]),
                read_forgotten(store, self.user_id, self.session_id),
            )
            new = [record for record in new if record.id not in known and record.id not in forgotten]
        works = self._work(closed=ends, last=any(step["action"] == END_CONVERSATION for step in steps))
        if not new:
            if ends:
                # no answer to keep, as where the runtime spoke in the model's place: what was asked is read
                await self.memory.apply([put_work(self.user_id, work) for work in works])
                announce(self.user_id, works)
            return
        new = self.branches.linked(records, new, since, found=since is None or first > 0)
        forked, marks = await self.branches.reached(thread[:start], records[-1].id, since) if ends else (False, [])
        # not indexed yet: to embed a long answer takes up to a second, which nobody is to wait for
        changes = [put(self.user_id, record, indexed=False) for record in new]
        said = " ".join(record.text for record in records if record.role == "user")
        ids = tuple(record.id for record in records)
        pending = PendingTurn(
            id=_note_id(ids),
            text=said[:_MAX_NOTE],
            steps=tuple(map(_in_words, steps[-_MAX_STEPS:])),
            task_steps=tuple(task_steps),
            context_ids=self._said_before(thread, start),
            session_id=self.session_id,
            agent_id=self.agent_id,
            source_ids=ids,
            forked=forked,
        )
        changes += [put(self.user_id, pending), *marks]
        # one note a turn: that of the question, or of what was answered so far, is part of this one
        asking = sum(record.turn <= asked for record in records)
        changes += [delete_pending(self.user_id, _note_id(ids[:end])) for end in range(asking, len(ids))]
        changes += self.memory.experience.logged(
            self.user_id,
            steps,
            session_id=self.session_id,
            agent_id=self.agent_id,
            turn_id=message_record_id(self.session_id, thread[asked]),
        )
        changes.append(put(self.user_id, self.conversation(ended=False)))
        changes += speaker_changes(store, self.user_id, new)
        changes += [put_work(self.user_id, work) for work in works]
        if guarded is None:
            await self.memory.apply(changes)
        else:
            unknown = Guard(scope_namespace(self.user_id, MemoryScope.DIALOG), new[0].id, None)
            with telemetry.span("write") as measured:
                measured.set(changes=len(changes))
                await guarded.abatch_if(changes, unknown)
        announce(self.user_id, works)

    def _work(self, *, closed: bool, last: bool) -> list[Work]:
        """Return what is to be done for this conversation, and when: nothing new if it is said again meanwhile."""
        policy = self.memory.policy

        def work(kind: Literal["extract", "conclude", "maintain"], seconds: float) -> Work:
            due_at = int((now().timestamp() + seconds) * 1000)
            return Work(kind=kind, agent=self.agent_id, session=self.session_id, due_at=due_at)

        if not closed:
            # for a turn that a crash leaves open
            return [work("maintain", policy.extraction.recover_after)]
        # what is drawn from inline is due only if that fails
        soon = policy.extraction.recover_after if policy.extraction.mode == "inline" else policy.extraction.debounce
        ending = [work("conclude", policy.extraction.debounce)] if last else []
        return [work("extract", soon), *ending, work("maintain", policy.extraction.quiet_after)]

    def _said_before(self, thread: Sequence[BaseMessage], start: int) -> tuple[str, ...]:
        """Return the ids of the last records before a place, without going through the whole thread."""
        found: list[str] = []
        for place in range(start - 1, -1, -1):
            said = to_records([thread[place]], first=place, session_id=self.session_id, agent_id=self.agent_id)
            found += [record.id for record in said]
            if len(found) == _CONTEXT:
                break
        return tuple(reversed(found))

    def conversation(self, *, ended: bool) -> Conversation:
        """Return the record of this conversation as it is now."""
        at = now()
        return Conversation(
            id=CONVERSATION.id(self.session_id),
            text="",
            created_at=at,
            last_said_at=at,
            ended=ended,
            session_id=self.session_id,
            agent_id=self.agent_id,
        )

    async def _claim(self, worker: str) -> tuple[list[PendingTurn], bool]:
        """Return what is to be drawn from now, claimed, and whether there is more.

        This conversation's turns come first, then what others left behind.
        """

        async def step() -> tuple[tuple[list[PendingTurn], bool], list[Change]]:
            at = now()
            waiting = [PendingTurn.from_value(value) for value in await self.memory.pending(self.user_id)]
            # another agent's turns are read by its own model, under its own policy
            ours = [turn for turn in waiting if turn.agent_id == self.agent_id]
            free = [turn for turn in ours if is_due(turn, at)]
            stale = at - timedelta(seconds=self.memory.policy.extraction.recover_after)
            mine = [turn for turn in free if turn.session_id == self.session_id]
            left = [turn for turn in free if turn.session_id != self.session_id and turn.created_at < stale]
            # one conversation at a time: what is drawn belongs to it
            group = mine or [turn for turn in left if turn.session_id == left[0].session_id]
            until = at + timedelta(seconds=self.memory.policy.extraction.timeout + _CLAIM_MARGIN)
            claim = {"claimed_by": worker, "claimed_until": until}
            due = [turn.model_copy(update=claim) for turn in group[:_BATCH]]
            more = len(mine) + len(left) > len(due)
            return (due, more), [put(self.user_id, turn) for turn in due]

        return await transact(self.memory.store, self.user_id, step)

    async def _still_mine(self, due: Sequence[PendingTurn], worker: str) -> list[PendingTurn]:
        """Return the turns that nobody else has taken over, as they would after the claim had run out, as stored."""
        waiting = {str(value["id"]): value for value in await self.memory.pending(self.user_id)}
        stored = [PendingTurn.from_value(waiting[turn.id]) for turn in due if turn.id in waiting]
        return [turn for turn in stored if turn.claimed_by == worker]

    async def _messages_of(self, ids: Collection[str]) -> list[Message]:
        """Return messages in the order in which they are asked for, those that are there."""
        values = await self.memory.records(self.user_id, MemoryScope.DIALOG, ids) if ids else {}
        return [Message.from_value(values[id_]) for id_ in dict.fromkeys(ids) if id_ in values]

    async def _shown(self, due: Sequence[PendingTurn], messages: Sequence[Message]) -> list[Message]:
        """Return the messages of turns, each turn with those before it that the model is shown too."""
        known = {message.id: message for message in messages}
        context = [id_ for turn in due for id_ in turn.context_ids if id_ not in known]
        told = {**known, **{message.id: message for message in await self._messages_of(context)}}
        # by turns, and not by place: in a thread that was trimmed the places begin anew
        order = dict.fromkeys(id_ for turn in due for id_ in (*turn.context_ids, *turn.source_ids))
        return [told[id_] for id_ in order if id_ in told]

    async def _ask(
        self,
        due: Sequence[PendingTurn],
        messages: Sequence[Message],
        shown: Sequence[Message],
        related: Sequence[Fact],
    ) -> Extraction:
        known = {message.id for message in messages}
        transcript = [
            TranscriptMessage(
                id=m.id,
                role=m.role,
                text=whole_text(vars(m)),
                at=m.created_at,
                context=m.id not in known,
                origin=m.origin,
            )
            for m in shown
        ]
        for turn in due:
            if turn.steps:
                last = max((place for place, m in enumerate(transcript) if m.id in turn.source_ids), default=0)
                did = TranscriptMessage(id=f"{turn.id}:steps", role="tool", text="\n".join(turn.steps))
                transcript.insert(last, did)
        existing = [
            ExistingMemory(
                id=fact.id,
                text=fact.text,
                about=fact.about,
                at=fact.said_at,
                until=fact.valid_to,
                also=(fact.quote, fact.reading, *(wording.text for wording in fact.wordings)),
            )
            for fact in related
        ]
        assert self.extractor is not None  # noqa: S101 - narrows for the type checker
        zone = zone_of(await self.memory.profile.get_profile(self.user_id))
        return await self.extractor.extract(
            transcript, existing, deadline=self.memory.policy.extraction.timeout, zone=zone
        )

    async def _commit(
        self,
        due: Sequence[PendingTurn],
        messages: Sequence[Message],
        shown: Sequence[Message],
        extraction: Extraction,
        related: Sequence[Fact],
        worker: str,
    ) -> TurnReport:
        stamp = Stamp(self.session_id, self.agent_id, now())
        # what is drawn from a message before the turn was said then, and not now
        said = {message.id: message for message in shown}
        read = {message.id for message in messages}
        unread = await asyncio.to_thread(drafts.unread_facts, extraction.unread, messages, stamp)
        more = await _more_said(unread, messages)
        # what is put in these words, beside its own, is said again
        words = {normalise(text) for text in (*(fact.text for fact in unread), *(op.text for op in extraction.ops))}
        spoken = [*(fact.id for fact in unread), *(fact.id for fact in related if not words.isdisjoint(ways(fact)))]
        wished = wish_changes(self.user_id, extraction.ops, said)

        async def step() -> tuple[TurnReport, list[Change]]:
            mine = await self._still_mine(due, worker)
            if not mine:
                return TurnReport(calls=extraction.calls), []
            store = self.memory.store
            stored = await load_facts(store, self.user_id, extraction.ops, spoken, verbatim_in=self.session_id)
            facts = await asyncio.to_thread(
                reconcile,
                extraction.ops,
                stored,
                at=stamp.at,
                session_id=self.session_id,
                agent_id=self.agent_id,
                said=said,
            )
            known = {**stored, **{fact.id: fact for fact in facts}}
            kept, gone = await asyncio.to_thread(settle_verbatim, unread, known.values(), read)
            facts = list({fact.id: fact for fact in (*facts, *kept)}.values())
            changes = [delete(self.user_id, MemoryScope.SEMANTIC, id_) for id_ in gone]
            changes += await fact_changes(store, self.user_id, facts)
            if extraction.episode is not None and self.memory.policy.recall.episodic:
                # a task that has been forgotten meanwhile is not linked to
                linked = dict.fromkeys(step for turn in mine for step in turn.task_steps)
                there = await self.memory.records(self.user_id, MemoryScope.STATE, linked) if linked else {}
                steps = tuple(id_ for id_ in linked if id_ in there)
                sources = tuple(message.id for message in messages)
                made = drafts.episode(extraction.episode, sources, stamp, steps)
                made = await self.memory.episodic.told_before(self.user_id, made)
                changes.append(put(self.user_id, made))
            if extraction.summary:
                summary = self.memory.dialog.summary(
                    extraction.summary,
                    session_id=self.session_id,
                    agent_id=self.agent_id,
                    source_ids=[message.id for message in messages],
                    origins=[message.origin for message in messages],
                    at=stamp.at,
                )
                changes.append(put(self.user_id, summary))
            learnt, refused = await self._profile(extraction, stamp, said)
            changes += [*learnt, *wished]
            changes += [delete_pending(self.user_id, turn.id) for turn in mine]
            news = [fact for fact in facts if _is_news(fact, stored.get(fact.id))]
            report = TurnReport(
                stored=[fact.text for fact in news if fact.current],
                retired=[fact.text for fact in news if not fact.current],
                calls=extraction.calls,
                problem="; ".join(filter(None, [_left_out(extraction, bool(unread)), more, *refused])),
            )
            return report, changes

        report = await transact(self.memory.store, self.user_id, step)
        # it is no longer believed; now it goes for good
        return report + await self.grant_wishes() if wished else report

    async def grant_wishes(self) -> TurnReport:
        """Forget for good what the user asked to forget, now or before a crash."""
        receipts = await grant_wishes(self.memory.store, self.user_id)
        return TurnReport(problem="; ".join(problem for receipt in receipts for problem in receipt.problems))

    async def _keep_verbatim(
        self,
        due: Sequence[PendingTurn],
        messages: Sequence[Message],
        worker: str,
        *,
        failure: ExtractionError | None = None,
    ) -> TurnReport:
        """Keep the user's statements word for word: for good without a model, until it works again after a failure."""
        error = in_short(failure) if failure else ""
        stamp = Stamp(self.session_id, self.agent_id, now())
        verbatim = await asyncio.to_thread(drafts.verbatim_facts, messages, stamp)
        more = await _more_said(verbatim, messages)

        async def step() -> tuple[TurnReport, list[Change]]:
            mine = await self._still_mine(due, worker)
            if not mine:
                # forgotten meanwhile, or read by somebody else
                return TurnReport(problem=error), []
            stored = await load_facts(self.memory.store, self.user_id, (), [fact.id for fact in verbatim])
            kept = {f.id: said_again(stored[f.id], f) if f.id in stored else f for f in verbatim}
            if failure is None:
                # without a model nobody has read it; once there is one, it is offered (see `memory.write.unread`)
                new = {id_: f.model_copy(update={"unread": True}) for id_, f in kept.items() if f != stored.get(id_)}
                kept |= new
            changes = [put(self.user_id, f) for f in kept.values() if f != stored.get(f.id)]
            for turn in mine:
                again = put(self.user_id, freed(turn, failure))
                changes.append(again if failure else delete_pending(self.user_id, turn.id))
            added = [fact.text for id_, fact in kept.items() if id_ not in stored]
            problem = "; ".join(filter(None, [error, more]))
            return TurnReport(stored=added, waiting=len(mine) if failure else 0, problem=problem), changes

        report = await transact(self.memory.store, self.user_id, step)
        _count_parked(due, failure)
        return report

    async def _profile(
        self, extraction: Extraction, stamp: Stamp, said: Mapping[str, Message]
    ) -> tuple[list[Change], list[str]]:
        """Return the write of what was learnt of the profile, and why some of it was refused."""
        if not extraction.profile_changes:
            return [], []
        learnt = {
            change.field: ProfileValue(
                value=change.value,
                source_ids=change.source_ids,
                updated_at=max((said[id_].created_at for id_ in change.source_ids if id_ in said), default=stamp.at),
            )
            for change in extraction.profile_changes
        }
        update, changes = await self.memory.profile.changes(
            self.user_id, learnt, session_id=self.session_id, agent_id=self.agent_id
        )
        return changes, [f"the profile does not take {field}: {reason}" for field, reason in update.refused.items()]


_MORE_SAID = (
    f"more than {drafts.MAX_VERBATIM} statements in one message; those beyond are found in the message, not as facts"
)


async def _more_said(kept: Sequence[Fact], messages: Sequence[Message]) -> str:
    """Return that messages state more than is kept of them on its own, for the user; nothing where they do not."""
    many = len(kept) >= drafts.MAX_VERBATIM and await asyncio.to_thread(drafts.says_more_than_kept, messages)
    return _MORE_SAID if many else ""


def _count_parked(due: Sequence[PendingTurn], failure: Exception | None) -> None:
    parked = sum(freed(turn, failure).failures >= MAX_FAILURES for turn in due)
    if failure and parked:
        telemetry.count("extraction.changes", parked, change="parked")


def _note_id(sources: Sequence[str]) -> str:
    return PENDING.id(*sources)


def _sources(turns: Sequence[PendingTurn]) -> list[str]:
    return [source for turn in turns for source in turn.source_ids]


def last_id(thread: Sequence[BaseMessage]) -> str | None:
    """Return the mark up to which memory has a conversation once it has stored these messages: the last it stores."""
    return next((str(message.id) for message in reversed(thread) if is_said(message)), None)


def _is_news(fact: Fact, before: Fact | None) -> bool:
    """Return whether a fact has been said or has ended; another one may only depend on it, or be in doubt about it."""
    return before is None or (fact.source_ids, fact.current) != (before.source_ids, before.current) or before.verbatim


def _in_words(step: AgentStep) -> str:
    result = f"error: {step['error']}" if step["error"] else step["observation"]
    return f"{step['action']}({step['arguments']}) -> {result}"[:_MAX_STEP]


def _left_out(extraction: Extraction, kept: bool) -> str:
    """Return what of a model's answer was not taken, for the user, and what became of it."""
    reasons = list(dict.fromkeys(extraction.rejected))
    if extraction.complete and not reasons:
        return ""
    count = len(extraction.rejected)
    what = f"{count} proposals were refused ({'; '.join(reasons)})" if reasons else "not everything could be read"
    return f"{what}; the words that no label covers are kept as said" if kept else what
