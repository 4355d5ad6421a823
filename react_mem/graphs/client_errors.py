"""Errors that leave a graph on a server: their text for clients and for the log.

A LangGraph server sends clients the text of an exception of a built-in kind (ValueError, KeyError, RuntimeError, ...),
and stores the text of every exception of a node in the thread. Our errors are written for that; any other may quote
its input: a statement, a message, a path, a key. So only our errors leave a node.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.errors import GraphBubbleUp, GraphRecursionError
from langgraph.graph.state import CompiledStateGraph

from react_mem.agents.context import refuse_names
from react_mem.errors import ReactMemError, RunFailed
from react_mem.memory.turns import cause_of, for_clients, trace_of

# Check of the names in a run's context: a misspelt choice is refused instead of dropped.

_NAMES = "__react_mem_names"


def refuse_chosen(config: RunnableConfig | None) -> None:
    """Refuse a run with an unknown name in its context, or a misspelt one in `configurable`: `ChoiceRefused`."""
    configurable = (config or {}).get("configurable") or {}
    if noted := configurable.get(_NAMES):
        # a server copies `configurable` into a context that it is not given; there others have names of their own
        refuse_names((name for name in noted["named"] if name not in configurable), noted["known"])
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
