"""Tools that only read run ahead while the model thinks; what they say counts if the model then asks just that."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.messages.tool import ToolCall, tool_call
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from react_mem.graphs.latency import timed
from react_mem.memory import telemetry
from react_mem.memory.context import running_tool
from react_mem.tools.routing.routes import QUERY, Route

MAX_AHEAD = 3
"""Tools that run ahead in one turn: most of them for nothing."""

log = logging.getLogger(__name__)


class Prefetch:
    """Runs tools ahead.

    Args:
        tools: All tools.
        routes: Their routes; those that may run ahead say so.
        seconds: How long one may take.

    Attributes:
        able: Whether any of them may run ahead.
    """

    def __init__(self, tools: Sequence[BaseTool], routes: Mapping[str, Route], seconds: float) -> None:
        self._seconds = seconds
        self._given = (
            {name: route.ahead for name, route in routes.items() if route.ahead is not None} if seconds else {}
        )
        self.able = bool(self._given)
        able = [tool for tool in tools if tool.name in self._given]
        # the node that runs tools, so that they get their state, store and context; an error is not a result here
        self._node = ToolNode(able, name="prefetch", handle_tool_errors=False, awrap_tool_call=_measured)

    def calls(self, likely: Sequence[str], request: str) -> list[ToolCall]:
        """Return the calls that a request fills in by itself.

        Args:
            likely: The tools that it may need, the most likely first.
            request: The request.
        """
        able = [name for name in likely if name in self._given][:MAX_AHEAD]
        return [
            tool_call(name=name, args={QUERY: request} if self._given[name] else {}, id=f"ahead_{name}")
            for name in able
        ]

    async def beside(
        self, calls: Sequence[ToolCall], answer: Callable[[], Awaitable[dict[str, Any]]]
    ) -> tuple[dict[str, Any], dict[str, ToolMessage]]:
        """Run calls beside the model's.

        Args:
            calls: What to run ahead.
            answer: Asks the model: the update of the state, the model's answer first among its messages.

        Returns:
            The update, and the results of what the model asked for, by call. What it did not ask for is stopped.
        """
        running = {_key(call): asyncio.create_task(self._run(call)) for call in calls}
        try:
            update = await answer()
            asked = {_key(call) for call in _asked(update)} & running.keys()
            # begun earlier, it is there earlier than if it began now
            results = await asyncio.gather(*(running[key] for key in asked))
            return update, {key: result for key, result in zip(asked, results, strict=True) if result is not None}
        finally:
            for task in running.values():
                task.cancel()

    async def _run(self, call: ToolCall) -> ToolMessage | None:
        """Return the result of a call; None where it fails, for then it is made in its own time."""
        try:
            async with asyncio.timeout(self._seconds):
                said = await self._node.ainvoke([call], get_config())
            return _result(said)
        except Exception as error:  # whatever the tool raises
            log.debug("%s did not run ahead: %s", call["name"], type(error).__name__)
            return None


def _result(said: Any) -> ToolMessage | None:
    """Return the message of a tool; None where it wants more of the graph than reading."""
    messages = said.get("messages") if isinstance(said, dict) else None
    return messages[0] if messages and isinstance(messages[0], ToolMessage) else None


def from_ahead(request: ToolCallRequest) -> ToolMessage | None:
    """Return the result of a call that ran ahead, if this one did.

    Args:
        request: The call.
    """
    state = request.state
    results = state.get("prefetched") if isinstance(state, dict) else None
    found = results.get(_key(request.tool_call)) if results else None
    return found.model_copy(update={"tool_call_id": request.tool_call["id"], "id": None}) if found else None


async def _measured(
    request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[None]]]
) -> ToolMessage | Command[None]:
    started = time.perf_counter()
    with telemetry.span("tool", tool=request.tool_call["name"]), running_tool():
        result = await execute(request)
    if isinstance(result, ToolMessage):
        timed([result], time.perf_counter() - started)
    return result


def _asked(update: Mapping[str, Any]) -> list[ToolCall]:
    answer = next((m for m in update.get("messages", ()) if isinstance(m, AIMessage)), None)
    return answer.tool_calls if answer else []


def _key(call: ToolCall) -> str:
    return f"{call['name']} {json.dumps(call['args'], sort_keys=True, ensure_ascii=False, default=str)}"
