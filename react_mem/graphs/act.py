"""The `act` node, the same for every manager: run one tool call; an error is an observation, not a crash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import TOOL_CALL_ERROR_TEMPLATE, ToolCallRequest
from langgraph.types import Command

from react_mem.agents.resolve import ResolvedAgent
from react_mem.graphs import events
from react_mem.graphs.schemas import AgentState, current_turn
from react_mem.graphs.switching import from_ahead, measured, messages_in
from react_mem.memory.context import without_secrets

MAX_ERROR_CHARS = 4_000
"""Of the text of a tool's exception: what went wrong, not all that it was handed."""


def make_act(tools: Sequence[BaseTool]) -> ToolNode:
    """Return the node that runs tools."""

    async def observe(request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Any]]) -> Any:
        ready = from_ahead(request)
        if ready is not None:
            _tell(request, [ready])
            return ready
        result = await measured(request, execute)
        _tell(request, messages_in(result))
        return _on_the_way(result)

    def failed(error: Exception) -> str:
        return TOOL_CALL_ERROR_TEMPLATE.format(error=without_secrets(repr(error)[:MAX_ERROR_CHARS]))

    return ToolNode(tools, name="act", handle_tool_errors=failed, awrap_tool_call=observe)


def _on_the_way(result: Any) -> Any:
    """Return a result without a jump to the model, which is called next anyway and would be called twice."""
    if isinstance(result, list):
        return [_on_the_way(part) for part in result]
    jumps = isinstance(result, Command) and result.goto == "reason" and result.graph is None
    return replace(result, goto=()) if jumps else result


def _tell(request: ToolCallRequest, messages: Sequence[ToolMessage]) -> None:
    for message in messages:
        events.tell(
            request.runtime.stream_writer,
            "observation",
            id=message.tool_call_id,
            name=message.name or request.tool_call["name"],
            content=message.text,
            error=message.status == "error",
        )


def after_tools(agent: ResolvedAgent, end: str) -> Callable[[AgentState], str]:
    """Return the edge behind the tools: to the model, or to `end` once the turn is answered.

    It is when all tools of the last call are `return_direct`, or the model filled the agent's schema beside its calls.
    """
    direct = {tool.name for tool in agent.tools if tool.return_direct}

    def route(state: AgentState) -> str:
        # each answer of the model sets or clears it, where the agent has a schema
        if agent.response_format is not None and state.get("structured_response") is not None:
            return end
        answers = (message for message in reversed(current_turn(state["messages"])) if isinstance(message, AIMessage))
        called = {call["name"] for message in islice(answers, 1) for call in message.tool_calls}
        return end if called and called <= direct else "reason"

    return route
