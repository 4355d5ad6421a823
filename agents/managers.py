"""The managers by name. Each is resolved by dotted name when it is built, so that agents never imports graphs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.store.base import BaseStore
    from langgraph.types import Checkpointer

    from agents.resolve import ResolvedAgent

MANAGERS: dict[str, str] = {
    "react": "graphs.react:build_graph",
    "react_mem": "graphs.react_mem:build_graph",
}


class GraphBuilder(Protocol):
    """What a manager is: a function from a resolved agent to a compiled graph."""

    def __call__(
        self, agent: ResolvedAgent, *, checkpointer: Checkpointer = None, store: BaseStore | None = None
    ) -> CompiledStateGraph[Any, Any, Any, Any]:
        """Build the graph."""


def build_agent(
    agent: ResolvedAgent, *, checkpointer: Checkpointer = None, store: BaseStore | None = None
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build the graph of an agent with the manager that its config names.

    Args:
        agent: The agent, with its model and tools.
        checkpointer: Keeps threads; None where a server provides it.
        store: Keeps memories; None where a server provides it.

    Returns:
        The compiled graph.
    """
    module, _, attribute = MANAGERS[agent.config.manager].partition(":")
    builder = cast("GraphBuilder", getattr(importlib.import_module(module), attribute))
    return builder(agent, checkpointer=checkpointer, store=store)
