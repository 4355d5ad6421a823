"""Check of the names in a run's context: a misspelt choice is refused instead of dropped.

A server filters the context by the graph's schema, silently and before the graph runs. So the graph records the names
that the server looks up in its schema, and refuses unknown ones.
"""

from __future__ import annotations

import os
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.graph.state import CompiledStateGraph

from react_mem.agents.context import refuse_names

_NAMES = "__react_mem_names"


def note_names(graph: CompiledStateGraph[Any, Any, Any, Any]) -> None:
    """Make a graph record the names in the contexts of its runs; the graph is changed."""
    own = type(graph)
    graph.__class__ = type(f"_Noting{own.__name__}", (_NotingGraph, own), {})


def refuse_chosen(config: RunnableConfig | None) -> None:
    """Refuse a run with an unknown name in its context, or a misspelt one in `configurable`.

    Raises:
        ChoiceRefused: If there is one; the message suggests the nearest.
    """
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
