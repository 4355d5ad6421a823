"""Building the agents that a server runs, each once.

A server reloads the file of every graph, so what is to be shared between graphs cannot be in that file.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

from langgraph.graph.state import CompiledStateGraph

from react_mem.agents.config import AgentConfig, available_agents, load_agent_config
from react_mem.agents.context_preview import RunOffer, offered_context
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.errors import AgentConfigError, ModelConfigError, ToolConfigError
from react_mem.graphs.client_errors import guard_clients

DEFAULT_AGENT = "assistant"

log = logging.getLogger(__name__)


@cache
def serve_agent(name: str) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return an agent's graph, built once; a config that is changed is read at the next start. Blocking.

    Args:
        name: The agent.

    Raises:
        AgentConfigError: If there is no such agent; the message lists those there are.
    """
    config = load_agent_config(name)
    return guard_clients(build_agent(resolve_agent(config, context_schema=offered_context(RunOffer.of([config])))))


@cache
def serve_picked(name: str) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the same graph, offered to callers who pick an agent: its context names all of them. Blocking.

    Args:
        name: The agent.

    Raises:
        AgentConfigError: If there is no such agent; the message lists those there are.
    """
    served = serve_agent(name)
    return served.copy({"context_schema": _context_of_all()})


@cache
def serve_all() -> tuple[AgentConfig, ...]:
    """Build every agent there is, so that no run waits for it; one that is broken is named and stops no other.

    Returns:
        The configs of those that can run, the one that runs without a choice first.
    """
    configs = []
    for name in available_agents():
        try:
            serve_agent(name)
            configs.append(load_agent_config(name))
        except (AgentConfigError, ModelConfigError, ToolConfigError) as error:
            log.warning("the agent %r cannot run: %s", name, error)
    return tuple(sorted(configs, key=lambda config: (config.name != DEFAULT_AGENT, config.name)))


@cache
def _context_of_all() -> type[Any]:
    return offered_context(RunOffer.of(serve_all(), picks=True))
