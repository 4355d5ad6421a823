"""Building the agents that a server runs, each once.

A server reloads the file of every graph, so what is to be shared between graphs cannot be in that file.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

from langgraph.graph.state import CompiledStateGraph

from react_mem.agents.config import available_agents, load_agent_config
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.errors import AgentConfigError, ModelConfigError, ToolConfigError
from react_mem.graphs.client_errors import guard_clients

log = logging.getLogger(__name__)


@cache
def serve_agent(name: str) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return an agent's graph, built once; a config that is changed is read at the next start. Blocking.

    Args:
        name: The agent.

    Raises:
        AgentConfigError: If there is no such agent; the message lists those there are.
    """
    return guard_clients(build_agent(resolve_agent(load_agent_config(name))))


@cache
def serve_all() -> None:
    """Build every agent there is, so that no run waits for it; one that is broken is named and stops no other."""
    for name in available_agents():
        try:
            serve_agent(name)
        except (AgentConfigError, ModelConfigError, ToolConfigError) as error:
            log.warning("the agent %r cannot run: %s", name, error)
