"""Graphs of a LangGraph server, which langgraph.json names. The server brings store and checkpointer.

- `react`, `react_mem`: the two managers, with the agents that are shipped for them
- `agent`: any agent config, picked by `configurable.agent` or the context's `agent`
- `maintenance`: the work of the server's worker, run now, for a cron or by hand
- `chat_summary`: a conversation summed up, its newest message completed; also served as a route (see `graphs.http`)
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NotRequired, get_args

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp, GraphRecursionError
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from react_mem.agents.agent_opening import ConfiguredRunners
from react_mem.agents.config import AgentConfig, Overridable, available_agents, load_agent_config
from react_mem.agents.context import left_manager, refuse_names
from react_mem.agents.context_preview import offered_context
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.errors import (
    AgentConfigError,
    InvalidInputError,
    ModelConfigError,
    ReactMemError,
    RunFailed,
    ToolConfigError,
)
from react_mem.graphs.chat_summary_route import build_chat_summary
from react_mem.memory.runtime import is_nobodys, maintain_all
from react_mem.memory.turns import cause_of, for_clients, identify, trace_of, why_off
from react_mem.server_exposure import refuse_exposed_server

# Errors that leave a graph on a server: their text for clients and for the log.
#
# A LangGraph server sends clients the text of an exception of a built-in kind (ValueError, KeyError, ...), and stores
# the text of every exception of a node in the thread. Our errors are written for that; any other may quote its input:
# a statement, a message, a path, a key. So only our errors leave a node.

# Check of the names in a run's context: a misspelt choice is refused instead of dropped.

_NAMES = "__react_mem_names"


def refuse_chosen(config: RunnableConfig | None) -> None:
    """Refuse a run with an unknown name in its context, or a choice of ours in `configurable` that nobody leaves to
    callers or that is misspelt: `ChoiceRefused`.
    """
    configurable = (config or {}).get("configurable") or {}
    if noted := configurable.get(_NAMES):
        # a server copies `configurable` into a context that it is not given; there others have names of their own
        refuse_names((name for name in noted["named"] if name not in configurable), noted["known"])
        refuse_names((name for name in get_args(Overridable) if configurable.get(name) is not None), noted["known"])
        refuse_names(configurable, noted["known"], others=True)


class _NotingGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A graph that the server copies for each run."""

    def get_context_jsonschema(self) -> dict[str, Any] | None:
        schema = super().get_context_jsonschema()
        if schema is None or "LANGSERVE_GRAPHS" not in os.environ:
            return schema
        properties = _Noting(schema.get("properties", {}))
        noted = {"known": list(properties), "named": properties.named}
        self.config = merge_configs(self.config, {"configurable": {_NAMES: noted}})
        return {**schema, "properties": properties}


class _Noting(dict[str, Any]):
    """Properties of a schema that record the names looked up among them."""

    def __init__(self, properties: dict[str, Any]) -> None:
        super().__init__(properties)
        self.named: list[str] = []

    def __contains__(self, name: object) -> bool:
        self.named.append(str(name))
        return super().__contains__(name)


log = logging.getLogger(__name__)


def guard_clients(graph: CompiledStateGraph[Any, Any, Any, Any]) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Change a graph so that only errors for clients leave its nodes and unknown choices are refused; return it."""
    own = type(graph)
    # it records the names in the contexts of its runs
    graph.__class__ = type(f"_Noting{own.__name__}", (_NotingGraph, own), {})
    for node in graph.nodes.values():
        if node.node is not None:
            # with the edges that leave it, which are run as a part of it
            node.node = _GuardedNode(node.node)
    return graph


@contextmanager
def errors_for_clients() -> Iterator[None]:
    """Replace an exception by its form for clients, `RunFailed` where it is none of ours; the log keeps the cause."""
    try:
        yield
    except (GraphBubbleUp, GraphRecursionError):  # interrupts, commands to a parent, and the limit of steps
        raise
    except ReactMemError as error:
        told = for_clients(error)
        if told is error:
            raise
        log.error("a run has failed: %s", cause_of(error))
        raise told from None
    except Exception as error:
        log.error("a run has failed: %s\n%s", cause_of(error), trace_of(error))
        raise RunFailed from None


class _GuardedNode(Runnable[Any, Any]):
    """A node with its edges that raises errors for clients only."""

    def __init__(self, node: Runnable[Any, Any]) -> None:
        self._node = node

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        with errors_for_clients():
            refuse_chosen(config)
            return self._node.invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        with errors_for_clients():
            refuse_chosen(config)
            return await self._node.ainvoke(input, config, **kwargs)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        with errors_for_clients():
            refuse_chosen(config)
            async for part in self._node.astream(input, config, **kwargs):
                yield part


class MaintenanceContext(BaseModel):
    """Context of maintenance: the owner whose memory to work on."""

    model_config = ConfigDict(
        extra="ignore",
        frozen=True,
        title="Maintenance",
        json_schema_extra={"description": "Whose memory to work on. Everything may be left out."},
    )

    user_id: str | None = Field(
        None,
        title="User",
        description="Whose memory to work on. Ignored where the server authenticates users. Empty: everybody with work "
        "to do.",
    )


class Nothing(TypedDict):
    """Nothing: what there is to do is in memory."""


class WorkDone(TypedDict):
    """Report of a run."""

    stored: NotRequired[int]
    retired: NotRequired[int]
    waiting: NotRequired[int]
    problems: NotRequired[list[str]]


async def maintain(state: WorkDone, *, runtime: Runtime[MaintenanceContext]) -> WorkDone:
    """Pick up the work that crashes left, conclude quiet conversations, and reflect."""
    if runtime.store is None:
        raise ValueError("there is no memory to work on: the graph has no store")
    config: RunnableConfig = get_config()
    identity = identify(runtime, config)
    # where nobody is named, that means everybody with work to do: not for a caller who cannot own memories
    if identity is None and not is_nobodys(runtime, config):
        raise InvalidInputError(why_off(runtime, config))
    named = identity is not None and not identity.development
    runners = await asyncio.to_thread(ConfiguredRunners)
    report = await maintain_all(runtime.store, runners, identity.user_id if identity and named else None)
    return WorkDone(
        stored=len(report.stored),
        retired=len(report.retired),
        waiting=report.waiting,
        problems=[report.problem] if report.problem else [],
    )


def build_maintenance() -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph of maintenance."""
    graph = StateGraph(WorkDone, MaintenanceContext, input_schema=Nothing)
    graph.add_node("maintain", maintain)
    graph.add_edge(START, "maintain")
    graph.add_edge("maintain", END)
    return graph.compile(name="maintenance")


DEFAULT_AGENT = "assistant"


@cache
def serve_agent(name: str, manager: str = "") -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return an agent's graph, with another manager if one is named, built once. Blocking.

    A changed config is read at the next start.
    """
    config = load_agent_config(name)
    if manager and manager != config.manager:
        config = config.model_copy(update={"manager": left_manager(config, manager)})
    return guard_clients(build_agent(resolve_agent(config, context_schema=offered_context([config]))))


@cache
def serve_picked(name: str, manager: str = "") -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the same graph for callers who pick an agent: its context names all of them. Blocking."""
    served = serve_agent(name, manager)
    return served.copy({"context_schema": _context_of_all()})


@cache
def serve_all() -> tuple[AgentConfig, ...]:
    """Build every agent, so that no run waits for it, and return their configs, the default one first.

    A broken one is logged and stops no other.
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
    return offered_context(serve_all(), picks=True)


refuse_exposed_server()

# At import, where a server expects slow work.
served = [config.name for config in serve_all()]
react = serve_agent("plain")
react_mem = serve_agent("assistant")
maintenance = guard_clients(build_maintenance())
chat_summary = guard_clients(build_chat_summary(served))


async def agent(config: RunnableConfig) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph of the agent that the run's config names; `AgentConfigError` lists the agents."""
    said = config.get("configurable") or {}
    name, manager = said.get("agent") or DEFAULT_AGENT, said.get("manager") or ""
    # it reads files and opens TLS contexts: not on the event loop
    with errors_for_clients():
        return await asyncio.to_thread(serve_picked, str(name), str(manager))
