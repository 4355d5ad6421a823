"""Metering of a run against its user's daily quotas, before a model is asked.

If the store fails to count, nobody is refused: a quota matters less than answers. Who sends so much at once that the
count conflicts with itself is told to ask again. The run's stream and a counter report
each such failure, the log the first one until counting works again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Self

from cachetools import LRUCache
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from react_mem.errors import QuotaExceeded, WriteConflict
from react_mem.memory import telemetry
from react_mem.memory.llm.causes import cause_for_clients, cause_of
from react_mem.memory.model.identity import identify
from react_mem.memory.model.policy import MemoryPolicy, QuotaSettings
from react_mem.memory.store.priority import FRONT
from react_mem.memory.store.process_state import kept_with
from react_mem.memory.store.room import take_message, take_model_call

_MOST_RUNS = 10_000

log = logging.getLogger(__name__)


class AdmittedRuns(LRUCache[str, None]):
    """Runs of this process that were counted. A thread's state cannot tell: a command may lead to any node."""

    def __init__(self) -> None:
        super().__init__(_MOST_RUNS)


class Uncounted(set[str]):
    """Failures of counting already in the log, until one succeeds."""


@dataclass(frozen=True)
class Metering:
    """Metering of one run, of which the id may be empty, for its user, or for nobody, who is not counted."""

    policy: MemoryPolicy
    store: BaseStore | None
    user_id: str | None
    run_id: str
    tell: Callable[[dict[str, Any]], None]

    @classmethod
    def of(
        cls, policy: MemoryPolicy, runtime: Runtime[Any], tell: Callable[[dict[str, Any]], None] | None = None
    ) -> Self:
        """Return the metering of the current node's run; its stream is told unless `tell` is given."""
        identity, info = identify(runtime, get_config()), runtime.execution_info
        run_id = str(info.run_id or "") if info is not None else ""
        user_id = identity.user_id if identity is not None else None
        return cls(policy, runtime.store, user_id, run_id, tell or runtime.stream_writer)

    async def admit(self) -> None:
        """Count the run's message before anything of it is read, stored or asked, or raise `QuotaExceeded`."""
        await self._count(take_message)
        if self.run_id and self.store is not None and self.policy.quotas.limits_days:
            kept_with(self.store, AdmittedRuns)[self.run_id] = None

    async def before_model(self, *, begins: bool = False) -> None:
        """Count a call of the chat model, and the message of a run that was not admitted.

        Such a run is a command that leads straight here, or one that resumes an interrupted turn; if it is unknown, the
        turn `begins` without an answer. Raises `QuotaExceeded` if the user has used up a quota of the day.
        """
        if self.store is None or not self.policy.quotas.limits_days:
            return
        if self.run_id not in kept_with(self.store, AdmittedRuns) if self.run_id else begins:
            await self.admit()
        await self._count(take_model_call)

    async def _count(self, take: Callable[[BaseStore, str, QuotaSettings], Awaitable[None]]) -> None:
        quotas = self.policy.quotas
        if not quotas.limits_days or self.user_id is None or self.store is None:
            return
        try:
            async with FRONT.served(self.policy.recall.timeout):
                await take(self.store, self.user_id, quotas)
        except QuotaExceeded as refused:
            telemetry.count("quota.refused", quota=refused.quota)
            raise
        except WriteConflict:
            raise
        except Exception as error:
            self.uncounted(error)
        else:
            kept_with(self.store, Uncounted).clear()

    def uncounted(self, error: BaseException) -> None:
        """Go on without counting, and send an event."""
        cause = cause_of(error)
        telemetry.count("degradations", part="quota")
        logged = kept_with(self.store, Uncounted) if self.store is not None else set[str]()
        if not logged:
            log.warning("what users take up of their quotas is not counted, and nobody is refused: %s", cause)
            logged.add(cause)
        message = f"What this turn takes up of the user's quotas could not be counted: {cause_for_clients(error)}"
        self.tell({"type": "memory", "operation": "store", "status": "degraded", "message": message})
