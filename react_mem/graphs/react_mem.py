"""The manager `react_mem`: the same loop as `react`, and it remembers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import Unpack

from react_mem.agents.resolve import MOST_SUPERSTEPS, CompileOptions, ResolvedAgent
from react_mem.graphs.memory_nodes import MemoryNodes, MemState
from react_mem.graphs.reason import after_reason, after_tools, make_act
from react_mem.graphs.schemas import Schemas, compile_graph


class _RememberingGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """Compiled graph in which a caller's `recursion_limit` allows as many calls of tools as it does under `react`."""

    def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """Stream a run, memory's supersteps beyond the limit: one for each round of tools, and two for the turn."""
        # a caller may have bound it to the graph
        bound: Mapping[str, Any] = {**(self.config or {}), **(config or {})}
        limit = bound.get("recursion_limit", MOST_SUPERSTEPS)
        if 1 <= limit < MOST_SUPERSTEPS:
            rounds, rest = divmod(limit - 1, 2)
            config = {**(config or {}), "recursion_limit": 3 + 3 * rounds + rest}
        return super().astream(input, config, **options)


def build_graph(agent: ResolvedAgent, **options: Unpack[CompileOptions]) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the compiled graph of the ReAct loop that remembers.

    Raises `StateSchemaError` if the agent's state schema does not go with the manager's.
    """
    memory = MemoryNodes(agent)
    schemas = Schemas.of(
        agent.state_schema, MemState.__annotations__, suggests=memory.switches, cards=agent.config.cards
    )

    # The state is that of `react`; what only the memory nodes need is in their own schema, private to them.
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        schemas.state, agent.context_schema, input_schema=schemas.input, output_schema=schemas.output
    )
    graph.add_node("retrieve_context", memory.retrieve_context, input_schema=MemState)
    graph.add_node("reason", memory.reason, input_schema=MemState)
    graph.add_node("act", make_act(memory.tools))
    graph.add_node("update_working_memory", memory.update_working_memory, input_schema=MemState)
    graph.add_node("extract", memory.extract, input_schema=MemState)

    graph.add_edge(START, "retrieve_context")
    graph.add_edge("retrieve_context", "reason")
    graph.add_conditional_edges("reason", after_reason("extract"), ["act", "reason", "extract"])
    graph.add_edge("act", "update_working_memory")
    graph.add_conditional_edges("update_working_memory", after_tools(agent, "extract"), ["reason", "extract"])
    graph.add_edge("extract", END)

    compiled = compile_graph(graph, schemas, agent, "react_mem", **options)
    compiled.__class__ = _RememberingGraph
    return compiled
