"""The manager `react`: the plain ReAct loop (reason -> act -> reason ... -> answer), no memory beyond the thread."""

from __future__ import annotations

from functools import partial
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from typing_extensions import Unpack

from react_mem.agents.context import AgentContext
from react_mem.agents.resolve import CompileOptions, ResolvedAgent
from react_mem.graphs.reason import Reason, after_reason, after_tools, is_empty, make_act, require_input
from react_mem.graphs.schemas import AgentState, Schemas, compile_graph
from react_mem.graphs.switching import Switching, SwitchState
from react_mem.memory.runtime import Metering


def build_graph(agent: ResolvedAgent, **options: Unpack[CompileOptions]) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the compiled graph of the plain ReAct loop. A store is handed to tools; the loop itself remembers nothing.

    Raises `StateSchemaError` if the agent's state schema does not go with the manager's.
    """
    switching = Switching.of(agent)
    schemas = Schemas.of(
        agent.state_schema, SwitchState.__annotations__, suggests=switching is not None, cards=agent.config.cards
    )

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        schemas.state, agent.context_schema, input_schema=schemas.input, output_schema=schemas.output
    )
    if switching is None:
        graph.add_node("reason", Reason(agent, compose))
        graph.add_node("act", make_act(agent.tools))
        graph.add_edge(START, "reason")
    else:
        # the message is counted where the tools are chosen, which may take a model
        answering = Reason(agent, compose, switching.offered, lambda state: False)

        async def switch(state: SwitchState, *, runtime: Runtime[AgentContext]) -> dict[str, Any]:
            require_input(state["messages"])
            await Metering.of(agent.config.memory, runtime).admit()
            return switching.update(await switching.choose(state["messages"], runtime))

        async def reason(state: SwitchState, *, runtime: Runtime[AgentContext]) -> dict[str, Any]:
            return await switching.beside(state, partial(answering, state, runtime=runtime))

        graph.add_node("switch", switch, input_schema=SwitchState)
        graph.add_node("reason", reason, input_schema=SwitchState)
        graph.add_node("act", make_act((*agent.tools, *filter(None, (switching.find_tools,)))))
        graph.add_edge(START, "switch")
        graph.add_edge("switch", "reason")
    graph.add_conditional_edges("reason", after_reason(END), ["act", "reason", END])
    graph.add_conditional_edges("act", after_tools(agent, END), ["reason", END])

    return compile_graph(graph, schemas, agent, "react", **options)


def compose(state: AgentState, instructions: str | SystemMessage) -> list[BaseMessage]:
    """Return the prompt: the instructions and the whole thread."""
    said = [message for message in state["messages"] if not is_empty(message) or message.type != "human"]
    if isinstance(instructions, str):
        return [SystemMessage(instructions), *said] if instructions else list(said)
    return [instructions, *said]
