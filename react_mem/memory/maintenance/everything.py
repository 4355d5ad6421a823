"""Maintenance now, of one user or of everybody: what a schedule or a person asks for, without waiting for quiet."""

from __future__ import annotations

import logging
from collections.abc import Callable

from langgraph.store.base import BaseStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.llm.causes import cause_of, trace_of
from react_mem.memory.maintenance.reflecting import maintain, repair
from react_mem.memory.maintenance.runner import Runners
from react_mem.memory.model.identity import Identity
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import PENDING
from react_mem.memory.store.owned import users_with
from react_mem.memory.write.conversations import agents_with_work
from react_mem.memory.write.session import TurnReport

log = logging.getLogger(__name__)


async def maintain_all(
    store: BaseStore,
    runners: Runners,
    user_id: str | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> TurnReport:
    """Pick up what crashes left, conclude the conversations that have become quiet, and reflect.

    Args:
        store: The store.
        runners: The agents to do it as: each for what it has said and done itself.
        user_id: The owner; None for everybody.
        report: Is told before each user how many are done, and of how many.

    Returns:
        What changed.
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
                changed = await maintain(turns, runner.reflecting)
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
