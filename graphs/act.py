"""The `act` node, the same for every manager: run one tool call; an error is an observation, not a crash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from graphs import events
from graphs.state import AgentState, current_turn
from graphs.switching.prefetch import from_ahead
from memory import telemetry


def make_act(tools: Sequence[BaseTool]) -> ToolNode:
    """Return the node that runs tools.

    Args:
        tools: The agent's tools.
    """

    async def observe(
        request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[None]]]
    ) -> ToolMessage | Command[None]:
        ready = from_ahead(request)
        if ready is not None:
            _tell(request, ready)
            return ready
        # a model may call a tool that there is not by any text, which is no name to measure by
        name = request.tool.name if request.tool is not None else "unknown"
        with telemetry.span("tool", tool=name) as measured:
            result = await execute(request)
            if isinstance(result, ToolMessage) and result.status == "error":
                measured.set(error_type="ToolError")
        if isinstance(result, ToolMessage):
            _tell(request, result)
        return result

    return ToolNode(tools, name="act", handle_tool_errors=True, awrap_tool_call=observe)


def _tell(request: ToolCallRequest, result: ToolMessage) -> None:
    events.observation(
        request.runtime.stream_writer,
        id=result.tool_call_id,
        name=result.name or "",
        content=result.text,
        error=result.status == "error",
    )


def returns_directly(tools: Sequence[BaseTool]) -> Callable[[AgentState], bool]:
    """Return a test whether everything that the model last called was a `return_direct` tool, which ends the turn."""
    direct = {tool.name for tool in tools if tool.return_direct}

    def test(state: AgentState) -> bool:
        called = _last_called(state["messages"])
        return bool(called) and called <= direct

    return test


def _last_called(messages: Sequence[AnyMessage]) -> set[str]:
    for message in reversed(current_turn(messages)):
        if isinstance(message, AIMessage):
            return {call["name"] for call in message.tool_calls}
    return set()
