"""Work behind the turns, item by item or all of it now; rounds of retention; health of a server's memory."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from pydantic import BaseModel, Field

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.llm.calls import Asker
from react_mem.memory.llm.causes import cause_of, trace_of
from react_mem.memory.model.identity import Identity
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import CONVERSATION, PENDING
from react_mem.memory.model.namespaces import META, owner_namespace, scope_namespace
from react_mem.memory.model.operations import write
from react_mem.memory.model.policy import RetentionSettings
from react_mem.memory.model.records import now, record_id
from react_mem.memory.model.states import MAX_FAILURES, Conversation, PendingTurn
from react_mem.memory.model.views import QueueHealth
from react_mem.memory.reflect.consolidation import Consolidation
from react_mem.memory.reflect.deduplication import Deduplication, EntityResolution
from react_mem.memory.reflect.driver import Strategy, run
from react_mem.memory.reflect.skill_learner import Learning
from react_mem.memory.retrieval.last_known import note_new_alike
from react_mem.memory.rights.hidden import erase_due
from react_mem.memory.rights.retention import Retained, retain
from react_mem.memory.store.audit_log import AuditActor, AuditReason, acting
from react_mem.memory.store.capabilities import capabilities, users_with
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.priority import FRONT, behind_turns
from react_mem.memory.store.room import server_of, waiting_of
from react_mem.memory.store.transactions import Guard, compare_and_set
from react_mem.memory.work.items import Place, RenewedLease, Work, WorkQueue, announce, put_work
from react_mem.memory.write.conversations import agents_with_work, end_conversation, quiet_conversations
from react_mem.memory.write.session import TurnReport, next_due
from react_mem.memory.write.turns import Turns

# Reflection over many turns: entity resolution, knowledge, skills; and all of them at once, on request.


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
    """Restore missing vectors of an owner's memory after a failure."""
    await capabilities(memory.store).amake_up_vectors(owner_namespace(user_id))
    await note_new_alike(memory.store, user_id)


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


# Maintenance on request, of one user or of everybody; rounds of retention; health of a server's memory.


async def maintain_all(
    store: BaseStore,
    runners: Runners,
    user_id: str | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> TurnReport:
    """Pick up interrupted work, conclude quiet conversations and reflect, for one user or everybody.

    Each agent works on its own conversations and experience. `report` is called before each user with the users done
    and their total.
    """
    total = TurnReport()
    down: set[str] = set()
    names = set(runners.names())
    places = (PENDING.place, MemoryScope.STATE, MemoryScope.EXPERIENCE)
    users = [user_id] if user_id is not None else await users_with(store, *places)
    for done, user in enumerate(users):
        report(done, len(users))
        try:
            memory = MemoryFacade(store)
            # a flow logs experience and has no conversation; a node with hooks is not an agent, and learns nothing
            experienced = await memory.experience.agents(user)
            wanted = dict.fromkeys([*await agents_with_work(memory, user), *experienced])
            for agent in [name for name in wanted if name in names and name not in down]:
                runner = await runners.get(agent)
                if runner is None:
                    continue
                turns = runner.turns(store, Identity(user, "maintenance"))
                changed = await maintain(turns, runner.models, runner.tools)
                if changed.waiting:
                    # its model is down: asking it for everybody would only take long
                    down.add(agent)
                total += changed
            await repair(memory, user)
        except Exception as error:
            # the next user's memory is not to wait for this one's
            cause = cause_of(error)
            log.error(
                "maintenance of one user's memory failed; the next run tries again: %s\n%s", cause, trace_of(error)
            )
            total += TurnReport(problem=f"one user's memory could not be worked on: {type(error).__name__}")
    return total


# Rounds of retention: everybody's memory, one user after the other, by one process at a time.

LOOK_SECONDS = 600.0  # seconds between two checks for a due round
_SHARE = 24
_SOONEST, _LATEST = timedelta(hours=1), timedelta(days=1)

_PAUSE = 0.05


async def retain_all(
    store: BaseStore,
    checkpointer: BaseCheckpointSaver[Any] | None,
    policies: Mapping[str, RetentionSettings],
    user_id: str | None = None,
    *,
    dry_run: bool = False,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Retained:
    """Apply retention to one user or to everybody; return the report. Without a checkpointer ended threads stay.

    `report` is called before each user with the users done and their total. A crowd of turns goes first.
    """
    total = Retained()
    users = [user_id] if user_id is not None else await users_with(store, *MemoryScope, PENDING.place, META)
    for done, user in enumerate(users):
        report(done, len(users))
        while FRONT.room_for_work(1) < 1:  # noqa: ASYNC110 - nobody tells that a crowd of turns has passed
            await asyncio.sleep(_PAUSE)
        try:
            total += await retain(store, checkpointer, user, policies, dry_run=dry_run)
        except Exception as error:
            # the next user's memory is not to be kept longer for this one's
            log.error("one user's memory was not looked at for retention: %s\n%s", cause_of(error), trace_of(error))
            total += Retained(problems=(f"one user's memory could not be worked on: {type(error).__name__}",))
    return total


@dataclass(frozen=True)
class RetentionRounds:
    """Retention rounds of one worker, with its name and a clock in seconds since 1970."""

    store: BaseStore
    runners: Runners
    checkpointer: BaseCheckpointSaver[Any] | None
    name: str
    clock: Callable[[], float] = time.time

    async def serve(self) -> None:
        """Run a round whenever one is due, until cancelled. Where no agent has a retention limit, return."""
        policies = await self._policies()
        while policies:
            try:
                with behind_turns():
                    await self.make(policies)
            except Exception as error:
                log.warning("retention waits, its store cannot be used: %s", cause_of(error))
            await asyncio.sleep(LOOK_SECONDS)

    async def make(self, policies: Mapping[str, RetentionSettings]) -> Retained | None:
        """Run the round of agents with a limit; return None if it is not due, or another process runs it."""
        queue = WorkQueue(self.store, self.clock)
        place: Place = ("memory_worker",), record_id("retention", *sorted(policies))
        first = Work(kind="retain", agent="", session="", due_at=queue.now())
        await compare_and_set(self.store, Guard(*place, None), first.to_value())
        held = await queue.get("", place)
        claimed = await queue.claim(held, self.name) if held is not None and held.work.due_at <= queue.now() else None
        if claimed is None:
            return None
        lease = RenewedLease(queue, claimed)
        # broken off, it is due for another process
        next_at = queue.now()
        try:
            # what one agent keeps longer stays, whatever it came from
            with acting(AuditActor.WORKER, AuditReason.RETENTION):
                report = await retain_all(self.store, self.checkpointer, policies)
            next_at = queue.now() + int(min(map(every, policies.values())).total_seconds() * 1000)
        finally:
            await asyncio.shield(queue.again(await lease.end(), next_at))
        if report.total or report.problems:
            log.info("retention removed %s, of %d users", report.in_words(), report.users)
        return report

    async def _policies(self) -> dict[str, RetentionSettings]:
        found: dict[str, RetentionSettings] = {}
        for agent in self.runners.names():
            try:
                settings = await self.runners.retention(agent)
            except Exception as error:
                log.warning("how long the agent %r keeps memory cannot be read: %s", agent, cause_of(error))
                continue
            if settings.limits:
                found[agent] = settings
        return found


def every(settings: RetentionSettings) -> timedelta:
    """Return the interval between two rounds for an agent.

    >>> every(RetentionSettings(dialog="30d")), every(RetentionSettings(dialog="12h"))
    (datetime.timedelta(days=1), datetime.timedelta(seconds=3600))
    """
    return min(_LATEST, max(_SOONEST, (settings.shortest or _LATEST * _SHARE) / _SHARE))


# Health of the memory of a server, for its administrators: the database, the embedder, the queue and the workers.


class PartHealth(BaseModel):
    """Health of a part."""

    ok: bool
    detail: str = Field("", description="What it is, or why it does not work.")
    seconds: float | None = Field(None, description="What it took to ask it.")


class MemoryHealth(BaseModel):
    """Health of the memory of a server."""

    database: PartHealth
    embedder: PartHealth
    worker: PartHealth
    queue: QueueHealth | None = Field(description="Null where the database does not answer.")


async def check_health(store: BaseStore, *, works: bool) -> MemoryHealth:
    """Return the health of this process's memory, in which a worker runs or not. The embedder makes one vector."""
    told = "in this process" if works else "none in this process: `react-mem worker` may do its work"
    worker = PartHealth(ok=works, detail=told)
    if not isinstance(store, MemoryStore):
        unknown = PartHealth(ok=True, detail=f"a {type(store).__name__}, which tells nothing of itself")
        return MemoryHealth(database=unknown, embedder=unknown, worker=worker, queue=None)
    queue: QueueHealth | None = None
    try:
        async with store.pool.connection() as conn:
            server, queue = await server_of(conn), await waiting_of(conn)
        told = f"PostgreSQL {server.version}, {server.connections} of {server.limit} connections"
        database = PartHealth(ok=True, detail=told, seconds=server.seconds)
    except Exception as error:  # whatever a driver raises: that it fails is the answer
        database = PartHealth(ok=False, detail=cause_of(error))
    return MemoryHealth(database=database, embedder=await _embedder(store), worker=worker, queue=queue)


async def _embedder(store: MemoryStore) -> PartHealth:
    started = time.perf_counter()
    try:
        await store.embedding.embeddings.aembed_query("hello")
    except Exception as error:  # whatever an embedder's client raises
        return PartHealth(ok=False, detail=cause_of(error), seconds=time.perf_counter() - started)
    return PartHealth(ok=True, detail=store.embedding.name, seconds=time.perf_counter() - started)
