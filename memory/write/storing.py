"""Making a turn durable: its messages, a note that it is still to be extracted, and the work, in one batch."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langchain_core.messages import BaseMessage, HumanMessage

from react_mem.memory import telemetry
from react_mem.memory.merging.speakers import speaker_changes
from react_mem.memory.merging.transcript import is_said, message_record_id, to_records, vouched
from react_mem.memory.model.changes import Change, delete, put
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import PENDING
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Message, now
from react_mem.memory.model.states import PendingTurn
from react_mem.memory.rights.forgotten import TurnUnsaid, read_forgotten
from react_mem.memory.store.transactions import Guard, GuardedStore
from react_mem.memory.work.items import Work, announce, put_work
from react_mem.memory.write.session import Session

_CONTEXT = 2
"""Messages before a turn that the model is shown with it: "yes, exactly" says nothing without the question."""

_MAX_STEP = 500
_MAX_STEPS = 20
"""Agent's steps in a note, for the episode: the latest, each cut; the whole is in the thread."""

_MAX_NOTE = 600
"""Characters of what the user said that a note carries: enough to be recalled by before it is indexed."""

END_CONVERSATION = "end_conversation"
"""The tool with which an agent says that a conversation ends with this turn."""

AgentStep = Mapping[str, Any]


async def store_turn(
    session: Session,
    thread: Sequence[BaseMessage],
    since: str | None,
    steps: Sequence[AgentStep] = (),
    task_steps: Sequence[str] = (),
    *,
    heard: Sequence[Origin] = (),
    ends: bool = False,
) -> None:
    """Store the messages that are new, with a note and the work of drawing from them, in one batch.

    Nothing here waits for a worker, which may be reading or writing notes at this moment. So a note is never
    extended: its id says which messages it names, and the note of a turn that has gone on replaces the one before.

    Args:
        session: The conversation.
        thread: Its messages.
        since: The id of the last message that memory has already.
        steps: What the agent did.
        task_steps: The records of the task's steps that were taken.
        heard: Where that comes from which the answer was made of.
        ends: Whether the turn is finished.
    """
    store, user_id, branches = session.memory.store, session.user_id, session.branches
    first = next((i + 1 for i in range(len(thread) - 1, -1, -1) if thread[i].id == since), 0)
    asked = next((i for i in range(len(thread) - 1, -1, -1) if isinstance(thread[i], HumanMessage)), first)
    start = min(first, asked)
    records = to_records(thread[start:], first=start, session_id=session.session_id, agent_id=session.agent_id)
    # no answer is trusted more than what it was made of
    records = [vouched(record, heard) if record.turn > asked else record for record in records]
    # what the agent was told to forget in it does not come back with the turn
    unsaid = TurnUnsaid(thread[asked:])
    records, steps = unsaid.messages(records), unsaid.steps(steps)
    new = [record for record in records if record.turn >= first and record.text]
    # where the write itself finds out whether a message is there already, as after a crash, nobody looks first
    guarded = store if len(new) == 1 and isinstance(store, GuardedStore) else None
    if guarded is None:
        new = await _unknown(session, new)
    works = _work(session, closed=ends, last=any(step["action"] == END_CONVERSATION for step in steps))
    changes: list[Change] = [put_work(user_id, work) for work in works]
    if new:
        forked, marks = await branches.reached(thread[:start], records[-1].id, since) if ends else (False, [])
        new = branches.linked(records, new, since, found=since is None or first > 0)
        # not indexed yet: to embed a long answer takes up to a second, which nobody is to wait for
        changes += [put(user_id, record, indexed=False) for record in new]
        before = _said_before(session, thread, start)
        note = _note(session, records, steps, task_steps=tuple(task_steps), context_ids=before, forked=forked)
        changes += [put(user_id, note), *marks]
        # one note a turn: that of the question, or of what was answered so far, is part of this one
        asking = sum(record.turn <= asked for record in records)
        changes += [delete(user_id, PENDING, PENDING.id(*note.source_ids[:end])) for end in range(asking, len(records))]
        where = {"session_id": session.session_id, "agent_id": session.agent_id}
        turn_id = message_record_id(session.session_id, thread[asked])
        changes += session.memory.experience.logged(user_id, steps, **where, turn_id=turn_id)
        changes.append(put(user_id, session.conversation(ended=False)))
        changes += speaker_changes(store, user_id, new)
    elif not ends:
        return
    # without an answer to keep, as where the runtime spoke in the model's place, what was asked is read
    if guarded is None:
        await session.memory.apply(changes)
    else:
        unknown = Guard(scope_namespace(user_id, MemoryScope.DIALOG), new[0].id, None)
        with telemetry.span("write") as measured:
            measured.set(changes=len(changes))
            await guarded.abatch_if(changes, unknown)
    announce(user_id, works)


async def _unknown(session: Session, new: Sequence[Message]) -> list[Message]:
    """Return the messages that memory neither has nor was told to forget."""
    known, forgotten = await asyncio.gather(
        session.memory.records(session.user_id, MemoryScope.DIALOG, [record.id for record in new]),
        read_forgotten(session.memory.store, session.user_id, session.session_id),
    )
    return [record for record in new if record.id not in known and record.id not in forgotten]


def _note(session: Session, records: Sequence[Message], steps: Sequence[AgentStep], **more: Any) -> PendingTurn:
    """Return the note that a turn is still to be extracted."""
    ids = tuple(record.id for record in records)
    return PendingTurn(
        id=PENDING.id(*ids),
        text=" ".join(record.text for record in records if record.role == "user")[:_MAX_NOTE],
        steps=tuple(map(_in_words, steps[-_MAX_STEPS:])),
        session_id=session.session_id,
        agent_id=session.agent_id,
        source_ids=ids,
        **more,
    )


def _work(session: Session, *, closed: bool, last: bool) -> list[Work]:
    """Return what is to be done for this conversation, and when: nothing new if it is said again meanwhile."""
    policy = session.memory.policy

    def work(kind: Literal["extract", "conclude", "maintain"], seconds: float) -> Work:
        due_at = int((now().timestamp() + seconds) * 1000)
        return Work(kind=kind, agent=session.agent_id, session=session.session_id, due_at=due_at)

    if not closed:
        # for a turn that a crash leaves open
        return [work("maintain", policy.extraction.recover_after)]
    # what is drawn from inline is due only if that fails
    soon = policy.extraction.recover_after if policy.extraction.mode == "inline" else policy.extraction.debounce
    ending = [work("conclude", policy.extraction.debounce)] if last else []
    return [work("extract", soon), *ending, work("maintain", policy.extraction.quiet_after)]


def _said_before(session: Session, thread: Sequence[BaseMessage], start: int) -> tuple[str, ...]:
    """Return the ids of the last records before a place, without going through the whole thread."""
    found: list[str] = []
    for place in range(start - 1, -1, -1):
        said = to_records([thread[place]], first=place, session_id=session.session_id, agent_id=session.agent_id)
        found += [record.id for record in said]
        if len(found) == _CONTEXT:
            break
    return tuple(reversed(found))


def last_id(thread: Sequence[BaseMessage]) -> str | None:
    """Return the mark up to which memory has a conversation once it has stored these messages: the last it stores."""
    return next((str(message.id) for message in reversed(thread) if is_said(message)), None)


def _in_words(step: AgentStep) -> str:
    result = f"error: {step['error']}" if step["error"] else step["observation"]
    return f"{step['action']}({step['arguments']}) -> {result}"[:_MAX_STEP]
