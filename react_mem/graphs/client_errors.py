"""Errors that leave a graph on a server: what a client is told, and what the log keeps.

A LangGraph server sends clients what an exception says if it is of one of the built-in kinds (ValueError, KeyError,
RuntimeError, ...), and keeps what every exception of a node says in the thread. An error of ours is written for that;
any other may quote what it was given: a statement, a message, a path, a key. So what leaves a node is one of ours.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import GraphBubbleUp, GraphRecursionError
from langgraph.graph.state import CompiledStateGraph

from react_mem.errors import ReactMemError, RunFailed
from react_mem.graphs.chosen_names import note_names, refuse_chosen
from react_mem.memory.turns import cause_of, for_clients, trace_of

log = logging.getLogger(__name__)

_OF_THE_GRAPH = (GraphBubbleUp, GraphRecursionError)
"""Errors that LangGraph itself raises within a node: interrupts, commands to a parent, and the limit of steps."""


def guard_clients(graph: CompiledStateGraph[Any, Any, Any, Any]) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Let nothing but errors for clients leave the nodes of a graph, and nothing that a client chooses be dropped.

    Args:
        graph: The graph; it is changed.

    Returns:
        The same graph.
    """
    note_names(graph)
    for node in graph.nodes.values():
        if node.node is not None:
            # with the edges that leave it, which are run as a part of it
            node.node = _GuardedNode(node.node)
    return graph


@contextmanager
def errors_for_clients() -> Iterator[None]:
    """Raise for clients what is raised within; the log keeps the cause.

    Raises:
        ReactMemError: An error of ours as clients are told it; of another, that the run has failed.
    """
    try:
        yield
    except _OF_THE_GRAPH:
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
    """A node with its edges, out of which come errors for clients only."""

    def __init__(self, node: Runnable[Any, Any]) -> None:
        self._node = node

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node. Blocking."""
        with errors_for_clients():
            refuse_chosen(config)
            return self._node.invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node."""
        with errors_for_clients():
            refuse_chosen(config)
            return await self._node.ainvoke(input, config, **kwargs)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Run the node, and yield what it does on the way."""
        with errors_for_clients():
            refuse_chosen(config)
            async for part in self._node.astream(input, config, **kwargs):
                yield part
