"""Errors that leave a graph on a server: their text for clients and for the log.

A LangGraph server sends clients the text of an exception of a built-in kind (ValueError, KeyError, RuntimeError, ...),
and stores the text of every exception of a node in the thread. Our errors are written for that; any other may quote
its input: a statement, a message, a path, a key. So only our errors leave a node.
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
"""Errors of LangGraph itself within a node: interrupts, commands to a parent, and the limit of steps."""


def guard_clients(graph: CompiledStateGraph[Any, Any, Any, Any]) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Change a graph so that only errors for clients leave its nodes and unknown choices are refused; return it."""
    note_names(graph)
    for node in graph.nodes.values():
        if node.node is not None:
            # with the edges that leave it, which are run as a part of it
            node.node = _GuardedNode(node.node)
    return graph


@contextmanager
def errors_for_clients() -> Iterator[None]:
    """Replace an exception by its form for clients; the log keeps the cause.

    Raises:
        ReactMemError: Our error in its form for clients; `RunFailed` for any other.
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
