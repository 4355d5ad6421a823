"""What a LangGraph server runs: the graphs that langgraph.json names. The server brings store and checkpointer.

- `react`, `react_mem`: the two managers, with the agents that are shipped for them
- `agent`: any agent config, picked by `configurable.agent` or the context's `agent`
- `extractor`, `maintenance`: what happens behind the turns
- `planner_worker`: an example of two agents over one memory
"""

from __future__ import annotations

import asyncio
import logging
from functools import cache
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from react_mem_start import check_packages

check_packages()  # before the imports that a shadowed package would break or, worse, satisfy

from agents.config import AgentConfigError, available_agents, load_agent_config
from agents.models import ModelConfigError
from agents.resolve import build_agent, resolve_agent
from graphs.maintenance import build_extractor, build_maintenance
from graphs.planner_worker import shipped_team
from tools.registry import ToolConfigError

DEFAULT_AGENT = "assistant"

log = logging.getLogger(__name__)


@cache
def _build(name: str) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build an agent once; a config that is changed is read at the next start."""
    return build_agent(resolve_agent(load_agent_config(name)))


def _build_all() -> None:
    """Build every agent there is, so that no run waits for it; one that is broken is named and stops no other."""
    for name in available_agents():
        try:
            _build(name)
        except (AgentConfigError, ModelConfigError, ToolConfigError) as error:
            log.warning("the agent %r cannot run: %s", name, error)


# At import, where a server expects slow work.
_build_all()
react = _build("plain")
react_mem = _build("assistant")
extractor = build_extractor()
maintenance = build_maintenance()
planner_worker = shipped_team()


async def agent(config: RunnableConfig) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph of the agent that the run's config names.

    Args:
        config: The run's config.

    Raises:
        AgentConfigError: If there is no such agent; the message lists those there are.
    """
    name = (config.get("configurable") or {}).get("agent") or DEFAULT_AGENT
    # it reads files and opens TLS contexts: not on the event loop
    return await asyncio.to_thread(_build, str(name))
