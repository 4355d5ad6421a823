"""Names in the context of a run on a server, which takes out of it what the graph's schema does not have.

It does so without a word before the graph runs, and a choice that is misspelt would be no choice. So the graph notes
the names that the server looks for in its schema, and refuses those that it does not have.
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
    """Let a graph note what the contexts of its runs name.

    Args:
        graph: The graph; it is changed.
    """
    graph.__class__ = _NotingGraph


def refuse_chosen(config: RunnableConfig | None) -> None:
    """Refuse a run whose context has a name that the graph does not know, or its `configurable` one misspelt.

    Args:
        config: The config of the run.

    Raises:
        ChoiceRefused: If it does; it names the nearest.
    """
    configurable = (config or {}).get("configurable") or {}
    if noted := configurable.get(_NAMES):
        # a server copies `configurable` into a context that it is not given; there others have names of their own
        refuse_names((name for name in noted["named"] if name not in configurable), noted["known"])
        refuse_names(configurable, noted["known"], others=True)


class _NotingGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A graph of which the server has a copy for each run."""

    def get_context_jsonschema(self) -> dict[str, Any] | None:
        """Return the schema of the context."""
        schema = super().get_context_jsonschema()
        if schema is None or "LANGSERVE_GRAPHS" not in os.environ:
            return schema
        properties = _Noting(schema.get("properties", {}))
        noted = {"known": list(properties), "named": properties.named}
        self.config = merge_configs(self.config, {"configurable": {_NAMES: noted}})
        return {**schema, "properties": properties}


class _Noting(dict[str, Any]):
    """Properties of a schema that note what is looked for among them."""

    def __init__(self, properties: dict[str, Any]) -> None:
        super().__init__(properties)
        self.named: list[str] = []

    def __contains__(self, name: object) -> bool:
        self.named.append(str(name))
        return super().__contains__(name)
