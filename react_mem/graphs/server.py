"""Graphs of a LangGraph server, which langgraph.json names. The server brings store and checkpointer.

- `react`, `react_mem`: the two managers, with the agents that are shipped for them
- `agent`: any agent config, picked by `configurable.agent` or the context's `agent`
- `maintenance`: what the server's worker does behind the turns, now, for a cron or by hand
- `planner_worker`: an example of two agents over one memory
- `smart_buyer`: an example of learning: a flow that plans until it knows
- `chat_summary`: a conversation summed up, its newest message completed; also served as a route (see `graphs.http`)
"""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from react_mem.graphs.chat_summary import build_chat_summary
from react_mem.graphs.client_errors import errors_for_clients, guard_clients
from react_mem.graphs.maintenance import build_maintenance
from react_mem.graphs.planner_worker import shipped_team
from react_mem.graphs.serving import DEFAULT_AGENT, serve_agent, serve_all, serve_picked
from react_mem.graphs.smart_buyer import shipped_buyer
from react_mem.memory.runtime import refuse_exposed_server

refuse_exposed_server()

# At import, where a server expects slow work.
served = [config.name for config in serve_all()]
react = serve_agent("plain")
react_mem = serve_agent("assistant")
maintenance = guard_clients(build_maintenance())
planner_worker = guard_clients(shipped_team())
smart_buyer = guard_clients(shipped_buyer())
chat_summary = guard_clients(build_chat_summary(served))


async def agent(config: RunnableConfig) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph of the agent that the run's config names.

    Args:
        config: The run's config.

    Raises:
        AgentConfigError: If there is no such agent; the message lists those there are.
    """
    name = (config.get("configurable") or {}).get("agent") or DEFAULT_AGENT
    # it reads files and opens TLS contexts: not on the event loop
    with errors_for_clients():
        return await asyncio.to_thread(serve_picked, str(name))
