"""A manager's graph compiled, with what a caller of `langchain.agents.create_agent` expects of one."""

from __future__ import annotations

from typing import Any

from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolCallTransformer
from typing_extensions import Unpack

from react_mem.agents.resolve import CompileOptions, ResolvedAgent
from react_mem.graphs.agent_state import as_input
from react_mem.graphs.kept_types import strict_for
from react_mem.graphs.schemas import Schemas

_PROJECTIONS: list[Any] = [ToolCallTransformer]
try:
    from langchain.agents._subagent_transformer import SubagentTransformer
except ImportError:
    # private to LangChain: a version without it still runs every agent, and its streams do not tell subagents apart
    pass
else:
    _PROJECTIONS.append(SubagentTransformer)


def compile_graph(
    graph: StateGraph[Any, Any, Any, Any],
    schemas: Schemas,
    agent: ResolvedAgent,
    manager: str,
    **options: Unpack[CompileOptions],
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Compile a manager's graph.

    Its streams of events by version 3 show tool calls and subagents apart, and its stream of values what both managers
    share; what a manager needs for itself is kept in the checkpoint all the same.

    Args:
        graph: The graph.
        schemas: Its schemas.
        agent: Whose it is; a checkpointer builds the types of its answers and of its own state.
        manager: What the graph is called where the agent is not called anything.
        options: What the caller chose.
    """
    compiled = graph.compile(
        strict_for(options.get("checkpointer"), (agent.state_schema, agent.response_format)),
        store=options.get("store"),
        interrupt_before=options.get("interrupt_before"),
        interrupt_after=options.get("interrupt_after"),
        transformers=[*_PROJECTIONS, *options.get("transformers", ())],
        name=agent.name or manager,
    )
    compiled.nodes[START].mapper = as_input
    compiled.stream_channels = list(schemas.state.__annotations__)
    return compiled
