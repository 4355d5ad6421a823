"""Execution of one work item: extraction, the conclusion of a conversation, reflection, erasure."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from langchain_core.language_models import BaseChatModel
from langgraph.store.base import BaseStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.llm.calls import Asker
from react_mem.memory.model.identity import Identity
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import CONVERSATION, MESSAGE
from react_mem.memory.model.namespaces import owner_namespace, scope_namespace
from react_mem.memory.model.receipt import Change, put, write
from react_mem.memory.model.records import Message, now
from react_mem.memory.model.retention_settings import RetentionSettings
from react_mem.memory.model.states import MAX_FAILURES, Conversation, PendingTurn
from react_mem.memory.reflect.consolidation import Consolidation
from react_mem.memory.reflect.deduplication import Deduplication, EntityResolution
from react_mem.memory.reflect.driver import Strategy, run
from react_mem.memory.reflect.skills.learner import Learning
from react_mem.memory.retrieval.last_known import note_new_alike
from react_mem.memory.rights.hidden import erase_due
from react_mem.memory.store.capabilities import capabilities
from react_mem.memory.store.transactions import transact
from react_mem.memory.work.items import Work, announce, put_work
from react_mem.memory.write.conversations import end_conversation, quiet_conversations
from react_mem.memory.write.session import TurnReport, next_due
from react_mem.memory.write.turns import Turns

# Reflection over many turns: entity resolution, knowledge, skills; and all of them at once, on request.

# Messages that no search finds and that nothing waits to index: what an older version lost is indexed after all.

_BATCH = 50
"""Messages of a step, embedded at once."""


async def index_lost_messages(memory: MemoryFacade, user_id: str) -> int:
    """Index the messages of a user without an index entry or a pending turn that would make one; return their number.

    A store that cannot list them is left as it is.
    """
    store = capabilities(memory.store)
    found, last = 0, ""
    namespace = scope_namespace(user_id, MemoryScope.DIALOG)
    while ids := await store.aunindexed(namespace, MESSAGE.name, after=last, limit=_BATCH):
        last = ids[-1]
        found += await _index(memory, user_id, ids)
    return found


async def _index(memory: MemoryFacade, user_id: str, ids: list[str]) -> int:
    async def step() -> tuple[int, list[Change]]:
        waiting = {source for note in await memory.pending(user_id) for source in note.get("source_ids", ())}
        stored = await memory.records(user_id, MemoryScope.DIALOG, ids)
        lost = [Message.from_value(value) for id_, value in stored.items() if id_ not in waiting]
        changes = [put(user_id, message) for message in lost if f"{message.text}{message.keywords}".strip()]
        return len(changes), changes

    return await transact(memory.store, user_id, step)


async def maintain(anywhere: Turns, models: Sequence[BaseChatModel], tools: Sequence[str]) -> TurnReport:
    """Extract from pending turns, conclude quiet conversations, and reflect, for the agent and owner of `anywhere`."""
    total = await anywhere.extract()
    for session_id in await quiet_conversations(anywhere):
        if total.waiting:
            return total
        total += await end_conversation(replace(anywhere, session_id=session_id))
    return total if total.waiting else total + await reflect(anywhere, models, tools)


async def reflect(anywhere: Turns, models: Sequence[BaseChatModel], tools: Sequence[str]) -> TurnReport:
    """Reflect on many turns of an agent and an owner, each kind of memory by the policy.

    The models after the first are its fallbacks; skills are learnt from the use of the named tools.
    """
    memory, user_id, agent_id = anywhere.memory, anywhere.user_id, anywhere.agent_id
    policy, store = memory.policy, memory.store
    total = TurnReport()
    strategies: list[tuple[Strategy[Any], str, str]] = [
        (EntityResolution(store, user_id), "consolidation", policy.learning.concepts),
        (Deduplication(store, user_id), "consolidation", policy.learning.duplicates),
        (Consolidation(store, user_id, agent_id), "consolidation", policy.learning.knowledge),
        (Learning(memory, user_id, agent_id, tools), "learning", policy.learning.skills),
    ]
    for strategy, purpose, chosen in strategies:
        if chosen == "off":
            continue
        asker = Asker(models, policy.extraction.timeout, purpose) if chosen == "model" and models else None
        done = await run(strategy, asker)
        total += TurnReport(stored=done.stored, retired=done.retired, calls=done.calls, problem=done.problem)
    return total


async def repair(memory: MemoryFacade, user_id: str) -> None:
    """Restore missing index entries and vectors of an owner's memory after a failure."""
    store = memory.store
    await index_lost_messages(memory, user_id)
    await capabilities(store).amake_up_vectors(owner_namespace(user_id))
    await note_new_alike(store, user_id)


# Ending a conversation because somebody says so, without waiting until it has gone quiet.


async def conclude_soon(store: BaseStore, user_id: str, session_id: str) -> bool:
    """Have a conversation concluded by the next worker, which records its episode and its outcome; false for none."""
    id_ = CONVERSATION.id(session_id)
    item = await store.aget(scope_namespace(user_id, MemoryScope.STATE), id_)
    if item is None:
        return False
    agent = Conversation.from_value(item.value).agent_id
    work = Work(kind="conclude", agent=agent, session=session_id, due_at=int(now().timestamp() * 1000))
    await write(store, [put_work(user_id, work)])
    announce(user_id, [work])
    return True


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """Outcome of a work item: its next due time, or the problem for a delayed retry, in words that quote nobody."""

    due_at: datetime | None = None
    problem: str = ""


@dataclass(frozen=True)
class AgentRunner:
    """Runner of one agent's work: the maker of its turns, its reflection and its retention settings."""

    turns: Callable[[BaseStore, Identity], Turns]
    models: Sequence[BaseChatModel] = ()
    tools: Sequence[str] = ()
    retention: RetentionSettings = field(default_factory=RetentionSettings)

    async def run(self, store: BaseStore, user_id: str, work: Work) -> Outcome:
        """Do a work item of an owner."""
        turns = self.turns(store, Identity(user_id, work.session))
        if work.kind == "extract":
            done = await turns.extract()
            # what has been said since has moved this item
            left = None if done.emptied and not done.waiting else await _next_turn(turns)
            # a model that refuses says so again at once: it is asked again after a while
            return Outcome(left, "the model could not be used" if done.waiting and left is not None else "")
        if work.kind == "erase":
            receipts, due_at = await erase_due(store, user_id)
            for receipt in receipts:
                log.info("what was hidden is erased: %s", receipt.in_short())
            return Outcome(due_at)
        quiet_at = await _quiet_at(turns)
        if work.kind == "maintain" and quiet_at is not None and quiet_at > now():
            # a turn that was opened and never closed
            await turns.extract()
            return Outcome(quiet_at)
        ending = await end_conversation(turns) if quiet_at is not None else TurnReport()
        if ending.unfinished:
            return Outcome(now())
        if not ending.waiting:
            await reflect(turns, self.models, self.tools)
        await repair(turns.memory, user_id)
        still_open = await _quiet_at(turns)
        if still_open is None or work.attempts >= MAX_FAILURES:
            # what cannot be concluded is given up in the end; the conversation's next turn asks for it again
            return Outcome()
        if still_open > now() and work.kind == "maintain":
            # something was said meanwhile
            return Outcome(still_open)
        return Outcome(problem="the conversation could not be concluded")


class Runners(Protocol):
    """Agents with work that a process can do."""

    def names(self) -> Sequence[str]:
        """Return their names. The work of others is left to the processes that have them."""

    async def retention(self, agent: str) -> RetentionSettings:
        """Return an agent's retention settings."""

    async def get(self, agent: str) -> AgentRunner | None:
        """Return the runner of an agent; None for one without memory."""


async def _next_turn(turns: Turns) -> datetime | None:
    """Return when the next pending turn of a conversation may be extracted; None if there is none."""
    waiting = [PendingTurn.from_value(value) for value in await turns.memory.pending(turns.user_id)]
    at = now()
    times = [
        due
        for turn in waiting
        if (turn.session_id, turn.agent_id) == (turns.session_id, turns.agent_id)
        and (due := next_due(turn, at)) is not None
    ]
    return min(times, default=None)


async def _quiet_at(turns: Turns) -> datetime | None:
    """Return when a conversation counts as quiet; None if it has been concluded, or forgotten."""
    id_ = turns.conversation(ended=True).id
    known = (await turns.memory.records(turns.user_id, MemoryScope.STATE, [id_])).get(id_)
    if known is None or known["ended"]:
        return None
    return Conversation.from_value(known).last_said_at + timedelta(seconds=turns.memory.policy.extraction.quiet_after)
