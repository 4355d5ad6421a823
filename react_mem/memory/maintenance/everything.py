"""Maintenance on request, of one user or of everybody; rounds of retention; health of a server's memory."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from pydantic import BaseModel, Field

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.llm.causes import cause_of, trace_of
from react_mem.memory.maintenance.runner import Runners, maintain, repair
from react_mem.memory.model.identity import Identity
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import PENDING
from react_mem.memory.model.namespaces import META
from react_mem.memory.model.policy import RetentionSettings
from react_mem.memory.model.views import QueueHealth
from react_mem.memory.rights.retention import Retained, retain
from react_mem.memory.store.audit.audit_log import AuditActor, AuditReason, acting
from react_mem.memory.store.owned import users_with
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.priority import FRONT, behind_turns
from react_mem.memory.store.statistics import server_of, waiting_of
from react_mem.memory.store.transactions import Guard, compare_and_set
from react_mem.memory.write.conversations import agents_with_work
from react_mem.memory.write.session import TurnReport

log = logging.getLogger(__name__)


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

LOOK_SECONDS = 600.0
"""Seconds between two checks for a due round."""

_LEASE_MS = 300_000
"""Lease without renewal after which a process is taken for dead: longer than any user takes."""

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
    between: Callable[[], Any] | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Retained:
    """Apply retention to one user or to everybody; return the report. Without a checkpointer ended threads stay.

    `between` is awaited before each user, and may raise to end the round; `report` is called before each with the users
    done and their total.
    """
    total = Retained()
    users = [user_id] if user_id is not None else await users_with(store, *MemoryScope, PENDING.place, META)
    for done, user in enumerate(users):
        report(done, len(users))
        if between is not None:
            await between()
        try:
            total += await retain(store, checkpointer, user, policies, dry_run=dry_run)
        except Exception as error:
            # the next user's memory is not to be kept longer for this one's
            log.error("one user's memory was not looked at for retention: %s\n%s", cause_of(error), trace_of(error))
            total += Retained(problems=(f"one user's memory could not be worked on: {type(error).__name__}",))
    return total


class _LeaseLost(Exception):  # noqa: N818 - no error: another process goes on
    """Another process has taken the round over."""


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
        """Run the round that is due for agents with a limit; return None where none is, or another process runs it."""
        held = {agent: mark for agent in policies if (mark := await self._claim(agent, policies[agent])) is not None}
        if not held:
            return None
        renewed_at = self.clock()

        async def between() -> None:
            nonlocal renewed_at
            while FRONT.room_for_work(1) < 1:  # noqa: ASYNC110 - nobody tells that a crowd of turns has passed
                await asyncio.sleep(_PAUSE)
            if (self.clock() - renewed_at) * 3000 > _LEASE_MS:
                renewed_at = self.clock()
                for agent, mark in held.items():
                    if (renewed := await self._swap(agent, mark, self._leased(mark))) is None:
                        raise _LeaseLost
                    held[agent] = renewed

        done = False
        try:
            # with those whose round is not due: what one of them keeps longer stays, whatever it came from
            with acting(AuditActor.WORKER, AuditReason.RETENTION):
                report = await retain_all(self.store, self.checkpointer, policies, between=between)
            done = True
        except _LeaseLost:
            return None
        finally:
            for agent, mark in held.items():
                at = int(self.clock() * 1000) if done else mark["at"]
                await asyncio.shield(self._swap(agent, mark, {"at": at, "by": "", "until": 0}))
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

    async def _claim(self, agent: str, settings: RetentionSettings) -> dict[str, Any] | None:
        """Take the lease on an agent's round; None where it is not due, or leased."""
        item = await self.store.aget(*_place(agent), refresh_ttl=False)
        before = item.value if item is not None else None
        known = before or {"at": 0, "by": "", "until": 0}
        at = self.clock() * 1000
        if known["at"] + every(settings).total_seconds() * 1000 > at or known["until"] > at:
            return None
        return await self._swap(agent, before, self._leased(known))

    def _leased(self, mark: Mapping[str, Any]) -> dict[str, Any]:
        return {"at": mark["at"], "by": self.name, "until": int(self.clock() * 1000) + _LEASE_MS}

    async def _swap(self, agent: str, before: dict[str, Any] | None, after: dict[str, Any]) -> dict[str, Any] | None:
        return after if await compare_and_set(self.store, Guard(*_place(agent), before), after) else None


def _place(agent: str) -> tuple[tuple[str, ...], str]:
    return ("memory_worker",), f"retention {agent}"


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
