"""The manager `react`: the plain ReAct loop (reason -> act -> reason ... -> answer), no memory beyond the thread."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from agents.context import AgentContext
from agents.resolve import ResolvedAgent
from graphs.act import make_act, returns_directly
from graphs.reason import Reason, after_reason, is_empty
from graphs.state import AgentInput, AgentOutput, AgentState


def build_graph(
    agent: ResolvedAgent, *, checkpointer: Checkpointer = None, store: BaseStore | None = None
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build the plain ReAct loop.

    Args:
        agent: The agent.
        checkpointer: Keeps threads; None where a server provides it.
        store: Handed to tools; the loop itself remembers nothing.

    Returns:
        The compiled graph.
    """
    returned = returns_directly(agent.tools)

    def after_act(state: AgentState) -> str:
        return END if returned(state) else "reason"

    graph = StateGraph(AgentState, AgentContext, input_schema=AgentInput, output_schema=AgentOutput)
    graph.add_node("reason", Reason(agent, compose))
    graph.add_node("act", make_act(agent.tools))

    graph.add_edge(START, "reason")
    graph.add_conditional_edges("reason", after_reason(END), ["act", "reason", END])
    graph.add_conditional_edges("act", after_act, ["reason", END])

    return graph.compile(checkpointer=checkpointer, store=store, name="react")


def compose(state: AgentState, instructions: str) -> list[BaseMessage]:
    """Return the prompt: the instructions and the whole thread."""
    said = [message for message in state["messages"] if not is_empty(message) or message.type != "human"]
    return [SystemMessage(instructions), *said] if instructions else list(said)
