"""Runners of the background work of agents with a config: for a server and for `react-mem worker`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache

from react_mem.agents.config import available_agents, load_agent_config
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.runtime import AgentRunner, RetentionSettings


class ConfiguredRunners:
    """The runners of every agent there is, each built at its first work. Blocking: it lists folders."""

    def __init__(self) -> None:
        self._names = tuple(available_agents())

    def names(self) -> Sequence[str]:
        """Return the agents."""
        return self._names

    async def retention(self, agent: str) -> RetentionSettings:
        """Return how long an agent keeps what it has noted.

        Raises:
            AgentConfigError: If its config is not valid.
        """
        return (await asyncio.to_thread(load_agent_config, agent)).memory.retention

    async def get(self, agent: str) -> AgentRunner | None:
        """Return who does the work of an agent; None for one that does not remember.

        Raises:
            AgentConfigError: If its config is not valid.
            ModelConfigError: If a model of it cannot be loaded.
            ToolConfigError: If a tool of it cannot be loaded.
        """
        return await asyncio.to_thread(_runner, agent)


@cache
def _runner(agent: str) -> AgentRunner | None:
    resolved = resolve_agent(load_agent_config(agent))
    # a manager that remembers says how its work is done
    build_agent(resolved)
    return resolved.work.runner(agent)
