"""The manager `react`: the plain ReAct loop (reason -> act -> reason ... -> answer), no memory beyond the thread."""

from __future__ import annotations

from typing import Any, cast

from langchain_core.messages import BaseMessage, SystemMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from agents.context import AgentContext
from agents.resolve import ResolvedAgent
from graphs.act import make_act, returns_directly
from graphs.reason import Reason, after_reason, is_empty, require_input
from graphs.state import AgentInput, AgentOutput, AgentState
from graphs.switching import Switching, SwitchState


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
    switching = Switching.of(agent)

    def after_act(state: AgentState) -> str:
        return END if returned(state) else "reason"

    graph = StateGraph(AgentState, AgentContext, input_schema=AgentInput, output_schema=AgentOutput)
    if switching is None:
        graph.add_node("reason", Reason(agent, compose))
        graph.add_node("act", make_act(agent.tools))
        graph.add_edge(START, "reason")
    else:
        nodes = _SwitchNodes(agent, switching)
        graph.add_node("switch", nodes.switch, input_schema=SwitchState)
        graph.add_node("reason", nodes.reason, input_schema=SwitchState)
        graph.add_node("act", make_act((*agent.tools, switching.find_tools)))
        graph.add_edge(START, "switch")
        graph.add_edge("switch", "reason")
    graph.add_conditional_edges("reason", after_reason(END), ["act", "reason", END])
    graph.add_conditional_edges("act", after_act, ["reason", END])

    compiled = graph.compile(checkpointer=checkpointer, store=store, name="react")
    if switching is not None:
        # what the choice of tools keeps is its own
        compiled.stream_channels = list(AgentState.__annotations__)
    return compiled


class _SwitchNodes:
    """The nodes of an agent that chooses from many tools, without a memory to learn from."""

    def __init__(self, agent: ResolvedAgent, switching: Switching) -> None:
        self._switching = switching
        self._reason = Reason(agent, compose, switching.offered)

    async def switch(self, state: SwitchState, *, runtime: Runtime[AgentContext]) -> dict[str, Any]:
        """Choose the tools of the turn."""
        require_input(state["messages"])
        choice = await self._switching.choose(state["messages"], runtime.store, runtime.stream_writer)
        return self._switching.update(choice)

    async def reason(self, state: SwitchState, *, runtime: Runtime[AgentContext]) -> dict[str, Any]:
        """Call the model; tools that only read may run ahead beside it."""

        async def answer() -> dict[str, Any]:
            return await self._reason(cast("AgentState", state), runtime=runtime)

        return await self._switching.beside(state, answer)


def compose(state: AgentState, instructions: str) -> list[BaseMessage]:
    """Return the prompt: the instructions and the whole thread."""
    said = [message for message in state["messages"] if not is_empty(message) or message.type != "human"]
    return [SystemMessage(instructions), *said] if instructions else list(said)
