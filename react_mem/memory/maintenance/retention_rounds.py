"""Rounds of retention: everybody's memory, one user after the other, by one process at a time.

A round is due when the shortest time that an agent keeps anything has passed by a twenty-fourth, at least every day and
at most every hour. Who begins one holds a lease on it; what a process that died has left is begun again by the next.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from react_mem.memory.llm.causes import cause_of, trace_of
from react_mem.memory.maintenance.runner import Runners
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import PENDING
from react_mem.memory.model.namespaces import META
from react_mem.memory.model.retention_settings import RetentionSettings
from react_mem.memory.rights.retention import Retained, in_words, retain
from react_mem.memory.store.audit.audit_entries import AuditActor, AuditReason, acting
from react_mem.memory.store.owned import users_with
from react_mem.memory.store.priority import FRONT, behind_turns
from react_mem.memory.store.transactions import Guard, compare_and_set

LOOK_SECONDS = 600.0
"""Seconds between two looks whether a round is due."""

_LEASE_MS = 300_000
"""A process that has not renewed its lease for so long is taken for dead: longer than any user takes."""

_SHARE = 24
_SOONEST, _LATEST = timedelta(hours=1), timedelta(days=1)

_PAUSE = 0.05

log = logging.getLogger(__name__)


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
    """Remove what is older or more than agents keep, of one user or of everybody.

    Args:
        store: The store.
        checkpointer: Keeps the threads; where there is none, those that are over stay where they are.
        policies: What each agent keeps.
        user_id: The owner; None for everybody.
        dry_run: Whether nothing is written.
        between: Awaited before each user; it may raise to end the round.
        report: Is told before each user how many are done, and of how many.

    Returns:
        What was removed; in a dry run what would be.
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
    """Somebody else has taken the round over."""


class RetentionRounds:
    """The rounds that one worker makes.

    Args:
        store: The store.
        runners: The agents whose policies count.
        checkpointer: Keeps the threads.
        name: The worker's name.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        store: BaseStore,
        runners: Runners,
        checkpointer: BaseCheckpointSaver[Any] | None,
        name: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._runners = runners
        self._checkpointer = checkpointer
        self._name = name
        self._clock = clock

    async def serve(self) -> None:
        """Make a round whenever one is due, until cancelled. Where no agent keeps anything for a time, return."""
        policies = await self._policies()
        while policies:
            try:
                with behind_turns():
                    await self.make(policies)
            except Exception as error:
                log.warning("retention waits, its store cannot be used: %s", cause_of(error))
            await asyncio.sleep(LOOK_SECONDS)

    async def make(self, policies: Mapping[str, RetentionSettings]) -> Retained | None:
        """Make the round that is due.

        Args:
            policies: What the agents keep that keep something for a time.

        Returns:
            What was removed; None where no round is due, or somebody else makes it.
        """
        held = {agent: mark for agent in policies if (mark := await self._claim(agent, policies[agent])) is not None}
        if not held:
            return None
        renewed_at = self._clock()

        async def between() -> None:
            nonlocal renewed_at
            while FRONT.room_for_work(1) < 1:  # noqa: ASYNC110 - nobody tells that a crowd of turns has passed
                await asyncio.sleep(_PAUSE)
            if (self._clock() - renewed_at) * 3000 > _LEASE_MS:
                renewed_at = self._clock()
                for agent, mark in held.items():
                    if (renewed := await self._swap(agent, mark, self._leased(mark))) is None:
                        raise _LeaseLost
                    held[agent] = renewed

        done = False
        try:
            # with those whose round is not due: what one of them keeps longer stays, whatever it came from
            with acting(AuditActor.WORKER, AuditReason.RETENTION):
                report = await retain_all(self._store, self._checkpointer, policies, between=between)
            done = True
        except _LeaseLost:
            return None
        finally:
            for agent, mark in held.items():
                at = int(self._clock() * 1000) if done else mark["at"]
                await asyncio.shield(self._swap(agent, mark, {"at": at, "by": "", "until": 0}))
        if report.total or report.problems:
            log.info("retention removed %s, of %d users", in_words(report.removed), report.users)
        return report

    async def _policies(self) -> dict[str, RetentionSettings]:
        found: dict[str, RetentionSettings] = {}
        for agent in self._runners.names():
            try:
                settings = await self._runners.retention(agent)
            except Exception as error:
                log.warning("how long the agent %r keeps memory cannot be read: %s", agent, cause_of(error))
                continue
            if settings.limits:
                found[agent] = settings
        return found

    async def _claim(self, agent: str, settings: RetentionSettings) -> dict[str, Any] | None:
        """Take the lease on an agent's round; None where it is not due, or somebody has it."""
        item = await self._store.aget(*_place(agent), refresh_ttl=False)
        before = item.value if item is not None else None
        known = before or {"at": 0, "by": "", "until": 0}
        at = self._clock() * 1000
        if known["at"] + every(settings).total_seconds() * 1000 > at or known["until"] > at:
            return None
        return await self._swap(agent, before, self._leased(known))

    def _leased(self, mark: Mapping[str, Any]) -> dict[str, Any]:
        return {"at": mark["at"], "by": self._name, "until": int(self._clock() * 1000) + _LEASE_MS}

    async def _swap(self, agent: str, before: dict[str, Any] | None, after: dict[str, Any]) -> dict[str, Any] | None:
        return after if await compare_and_set(self._store, Guard(*_place(agent), before), after) else None


def _place(agent: str) -> tuple[tuple[str, ...], str]:
    return ("memory_worker",), f"retention {agent}"


def every(settings: RetentionSettings) -> timedelta:
    """Return how often an agent's records are looked at.

    >>> every(RetentionSettings(dialog="30d")), every(RetentionSettings(dialog="12h"))
    (datetime.timedelta(days=1), datetime.timedelta(seconds=3600))
    """
    return min(_LATEST, max(_SOONEST, (settings.shortest or _LATEST * _SHARE) / _SHARE))
