"""The manager `react_mem`: the same loop as `react`, and it remembers."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from agents.context import AgentContext
from agents.resolve import ResolvedAgent
from graphs.act import make_act, returns_directly
from graphs.memory_nodes import MemoryNodes, MemState
from graphs.reason import after_reason
from graphs.state import AgentInput, AgentOutput, AgentState


def build_graph(
    agent: ResolvedAgent, *, checkpointer: Checkpointer = None, store: BaseStore | None = None
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build the ReAct loop that remembers.

    Args:
        agent: The agent.
        checkpointer: Keeps threads; None where a server provides it.
        store: Keeps memories; None where a server provides it.

    Returns:
        The compiled graph.
    """
    memory = MemoryNodes(agent)
    returned = returns_directly(agent.tools)

    def after_update(state: AgentState) -> str:
        return "extract" if returned(state) else "reason"

    # The state is that of `react`; what only the memory nodes need is in their own schema, private to them.
    graph = StateGraph(AgentState, AgentContext, input_schema=AgentInput, output_schema=AgentOutput)
    graph.add_node("retrieve_context", memory.retrieve_context, input_schema=MemState)
    graph.add_node("reason", memory.reason, input_schema=MemState)
    graph.add_node("act", make_act(memory.tools))
    graph.add_node("update_working_memory", memory.update_working_memory, input_schema=MemState)
    graph.add_node("extract", memory.extract, input_schema=MemState)

    graph.add_edge(START, "retrieve_context")
    graph.add_edge("retrieve_context", "reason")
    graph.add_conditional_edges("reason", after_reason("extract"), ["act", "reason", "extract"])
    graph.add_edge("act", "update_working_memory")
    graph.add_conditional_edges("update_working_memory", after_update, ["reason", "extract"])
    graph.add_edge("extract", END)

    compiled = graph.compile(checkpointer=checkpointer, store=store, name="react_mem")
    # a drop-in replacement shows the same values; the private ones are kept in the checkpoint all the same
    compiled.stream_channels = list(AgentState.__annotations__)
    return compiled
