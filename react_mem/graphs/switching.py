"""Switching of a turn in a graph: the choice of tools, the tools for the model, and the events on the stream."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NotRequired

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage, convert_to_messages
from langchain_core.messages.tool import ToolCall, tool_call
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Command, StreamWriter

from react_mem.agents.resolve import ResolvedAgent
from react_mem.errors import ToolConfigError
from react_mem.graphs import events
from react_mem.graphs.model_call import timed
from react_mem.graphs.schemas import AgentState, current_turn, model_calls
from react_mem.memory import telemetry
from react_mem.memory.context import (
    NOTICE,
    flat,
    from_tool,
    is_users,
    running_tool,
    text_of,
    tool_tokens,
    with_appended,
)
from react_mem.memory.language import index_terms, language_of
from react_mem.memory.runtime import Turns
from react_mem.memory.turns import cause_of, trace_of
from react_mem.tools.routing.router import Follows, what_followed
from react_mem.tools.routing.routes import QUERY
from react_mem.tools.routing.switch import FIND_TOOLS, FOUND, Offer, Switch, make_find_tools

MAX_AHEAD = 3
"""Maximum number of tools that run ahead in one turn: most of them for nothing."""

log = logging.getLogger(__name__)


def from_ahead(request: ToolCallRequest) -> ToolMessage | None:
    """Return the result of a call that ran ahead; None if this one did not."""
    state = request.state
    results = state.get("prefetched") if isinstance(state, dict) else None
    found = results.get(_key(request.tool_call)) if results else None
    return found.model_copy(update={"tool_call_id": request.tool_call["id"], "id": None}) if found else None


Result = ToolMessage | Command[Any] | list[ToolMessage | Command[Any]]
"""Result of a tool: a message, changes of the state that hold one, or several of both."""


async def measured(request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Any]]) -> Any:
    """Run a tool, and note how long it took in its messages."""
    # a model may call a tool that there is not by any text, which is no name to measure by
    name = request.tool.name if request.tool is not None else "unknown"
    started = time.perf_counter()
    with telemetry.span("tool", tool=name) as span, running_tool():
        result: Result = from_tool(await execute(request), request.state)
        said = messages_in(result)
        if any(message.status == "error" for message in said):
            span.set(error_type="ToolError")
    timed(said, time.perf_counter() - started)
    return result


def messages_in(result: Result) -> list[ToolMessage]:
    """Return the messages in a tool's result."""
    if isinstance(result, list):
        return [message for part in result for message in messages_in(part)]
    if isinstance(result, ToolMessage):
        return [result]
    said = result.update.get("messages", []) if isinstance(result.update, dict) else []
    messages = convert_to_messages(said if isinstance(said, list) else [said])
    return [message for message in messages if isinstance(message, ToolMessage)]


def _key(call: ToolCall) -> str:
    return f"{call['name']} {json.dumps(call['args'], sort_keys=True, ensure_ascii=False, default=str)}"


_STEPS = 100
"""Number of the user's latest steps that are read: older ones say less, and each may hold a long result."""

_SHORT = 3
"""Content words up to which a message is read together with the one before it: "and tomorrow?"."""

_MAX_STEP = 200


class Switching:
    """The switching engine of one agent. Building reads files, so not on an event loop.

    Without `find_tools` the model is offered all tools; with `limits`, layers that are not chosen show their best only.
    """

    def __init__(self, agent: ResolvedAgent, *, layers: bool) -> None:
        settings = agent.config.switching
        narrows = len(agent.tools) > settings.above
        if narrows and FIND_TOOLS in {tool.name for tool in agent.tools}:
            raise ToolConfigError(
                f"a tool is called {FIND_TOOLS!r}, which is the name of the tool that `switching` adds; rename it, or "
                "set switching: off"
            )
        self._switch = Switch(agent.tools, settings, agent.with_stand_ins(agent.small_model), layers=layers)
        self._always = set(settings.always)
        self._learn = settings.learn
        self.limits = settings.layers == "limit"
        self._shows = settings.show_suggestions
        self._agent = agent
        self.find_tools = (
            make_find_tools(self._switch.routes, self._switch.router, settings.timeout) if narrows else None
        )
        self._all_tokens = self.most_tokens = tool_tokens(agent.tools)
        self._tokens: dict[str, int] = {}
        if self.find_tools is not None:
            self._tokens = {tool.name: tool_tokens([tool]) for tool in (*agent.tools, self.find_tools)}
            largest = sorted(self._tokens.values(), reverse=True)[: settings.max_tools + len(self._always)]
            self.most_tokens = sum(largest) + self._tokens[FIND_TOOLS]
        # what runs ahead, each with the argument that a request fills in
        self._ahead_seconds = settings.prefetch_seconds
        routes = self._switch.routes.values() if settings.prefetch_seconds else ()
        self._ahead = {route.name: route.ahead for route in routes if route.ahead is not None}
        able = [tool for tool in agent.tools if tool.name in self._ahead]
        # the node that runs tools, so that they get their state, store and context; an error is not a result here
        self._ahead_node = ToolNode(able, name="prefetch", handle_tool_errors=False, awrap_tool_call=measured)

    @classmethod
    def of(cls, agent: ResolvedAgent, *, remembers: bool = False) -> Switching | None:
        """Return the engine of an agent; None where it is off, or there is nothing to choose."""
        settings = agent.config.switching
        layers = remembers and settings.layers != "off"
        if settings.mode == "off" or not (layers or len(agent.tools) > settings.above):
            return None
        return cls(agent, layers=layers)

    async def choose(self, thread: Sequence[AnyMessage], runtime: Runtime[Any], turns: Turns | None = None) -> Offer:
        """Choose the tools and layers of a turn, and report the choice. Never raises: at worst everything is chosen.

        The steps of `turns` say which tool follows which.
        """
        try:
            with telemetry.span("switch") as measured:
                follows = self._follows(turns) if turns is not None and self._learn else None
                choice = await self._switch.choose(
                    request_of(thread), runtime.store, follows=follows, recent=_called_before(thread)
                )
                measured.set(tools=len(self._switch.routes), selected=len(choice.tools or self._switch.routes))
        except Exception as error:
            # it has an answer to every failure it knows; this is one nobody has thought of
            log.warning("nothing is chosen for this turn: %s\n%s", cause_of(error), trace_of(error))
            choice = Offer(None, missing={"switch": f"it failed ({type(error).__name__})"})
        self._report(choice, runtime.stream_writer)
        return choice

    def update(self, choice: Offer) -> dict[str, Any]:
        """Return a choice as an update of the state."""
        update: dict[str, Any] = {
            "selected_tools": None if choice.tools is None else list(choice.tools),
            "suggestions": [asdict(one) for one in choice.suggestions],
            "prefetched": None,
        }
        # each field that is written is a row in the checkpointer
        return update | {"likely_tools": list(choice.tools or choice.picked)} if self._ahead else update

    def offered(self, state: Mapping[str, Any]) -> tuple[BaseTool, ...]:
        """Return the tools for the model at this point of a turn.

        They stand in the agent's order, and tools found since stand at the end, so that the beginning of the prompt
        stays as it is.
        """
        selected = state.get("selected_tools")
        if selected is None or self.find_tools is None:
            return self._agent.tools
        chosen = self._always | set(selected)
        later = [name for name in _found(state["messages"]) if name not in chosen]
        by_name = {tool.name: tool for tool in self._agent.tools}
        return (
            *(tool for tool in self._agent.tools if tool.name in chosen),
            self.find_tools,
            *(by_name[name] for name in dict.fromkeys(later) if name in by_name),
        )

    def tokens(self, choice: Offer) -> int:
        """Return the tokens of the chosen tools' descriptions in every prompt of the turn."""
        if choice.tools is None:
            return self._all_tokens
        return sum(self._tokens[name] for name in {*choice.tools, *self._always, FIND_TOOLS})

    async def beside(self, state: Mapping[str, Any], answer: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """Call the model and return the update of the state, the model's answer first in its messages.

        In the first call of the turn tools that only read run ahead; what they say counts if the model asks just that.
        The others are stopped.
        """
        likely = () if model_calls(state["messages"]) else state.get("likely_tools") or ()
        able = [name for name in likely if name in self._ahead][:MAX_AHEAD]
        request = text_of(state["messages"][-1])
        args = {name: {QUERY: request} if self._ahead[name] else {} for name in able}
        calls = [tool_call(name=name, args=given, id=f"ahead_{name}") for name, given in args.items()]
        running = {_key(call): asyncio.create_task(self._run_ahead(call)) for call in calls}
        try:
            update = self._with_suggestions(state, await answer())
            said = next((m for m in update.get("messages", ()) if isinstance(m, AIMessage)), None)
            asked = {_key(call) for call in said.tool_calls} & running.keys() if said else set()
            # begun earlier, it is there earlier than if it began now
            results = await asyncio.gather(*(running[key] for key in asked))
        finally:
            for task in running.values():
                task.cancel()
        ready = {key: result for key, result in zip(asked, results, strict=True) if result is not None}
        # for one step only: who asks again wants to know again
        return {**update, "prefetched": ready or None} if calls or state.get("prefetched") else update

    async def _run_ahead(self, call: ToolCall) -> ToolMessage | None:
        """Return the result of a call; None where it fails, for then it is made in its own time."""
        try:
            async with asyncio.timeout(self._ahead_seconds):
                said = await self._ahead_node.ainvoke([call], get_config())
            messages = said.get("messages") if isinstance(said, dict) else None
            # a tool that also changes the state has no message alone
            return messages[0] if messages and isinstance(messages[0], ToolMessage) else None
        except Exception as error:  # whatever the tool raises
            log.debug("%s did not run ahead: %s", call["name"], type(error).__name__)
            return None

    def _with_suggestions(self, state: Mapping[str, Any], update: dict[str, Any]) -> dict[str, Any]:
        """Return an update with the next steps in its answer, for clients that show the answer alone."""
        suggested, answer = state.get("suggestions"), update["messages"][-1]
        if not suggested or not isinstance(answer, AIMessage) or answer.additional_kwargs.get(NOTICE):
            return update
        if answer.tool_calls or answer.invalid_tool_calls:
            return update
        marks = {**answer.additional_kwargs, "suggestions": suggested}
        answer = answer.model_copy(update={"additional_kwargs": marks})
        # an answer in a schema is read by a program
        if self._shows and self._agent.response_format is None:
            answer = with_appended(answer, _line(suggested, request_of(state["messages"])))
        return {**update, "messages": [*update["messages"][:-1], answer]}

    async def _follows(self, turns: Turns) -> Follows:
        experience = turns.memory.experience
        return what_followed(await experience.latest_steps(turns.user_id, self._agent.config.name, _STEPS))

    def _report(self, choice: Offer, writer: StreamWriter) -> None:
        if choice.missing:
            telemetry.count("degradations", part="switching")
        without = "; ".join(f"{name}: {cause}" for name, cause in choice.missing.items())
        events.tell(
            writer,
            "switch",
            status="degraded" if without else "ok",
            message=f"Chosen without {without}" if without else "",
            tools=None if choice.tools is None else list(choice.tools),
            picked=list(choice.picked),
            layers=list(choice.layers),
            snapshot=choice.snapshot,
            by=choice.by,
        )
        for one in choice.suggestions:
            events.tell(writer, "suggestion", **asdict(one))


def request_of(thread: Sequence[AnyMessage]) -> str:
    r"""Return the request of a turn; a short message is read together with the one before it.

    >>> from langchain_core.messages import HumanMessage
    >>> request_of([HumanMessage("Weather in Hue?"), AIMessage("Sunny."), HumanMessage("and tomorrow?")])
    'Weather in Hue?\nand tomorrow?'
    """
    said = [text_of(message) for message in thread if is_users(message)]
    if len(said) > 1 and len(index_terms(said[-1])) < _SHORT:
        return "\n".join(said[-2:])
    return said[-1] if said else ""


def _line(suggested: Sequence[Mapping[str, Any]], request: str) -> str:
    """Return next steps as one line, in the language of the request.

    >>> _line([{"tool": "dry_hands", "text": "Dry your hands."}], "I have washed my hands.")
    'Possible next steps: Dry your hands (dry_hands)'
    """
    # tools may be described by a server that is somebody else's
    steps = (f"{flat(one['text'], _MAX_STEP).rstrip('.')} ({one['tool']})" for one in suggested)
    return language_of(request).wording["next_steps"].format(steps="; ".join(steps))


def _called_before(thread: Sequence[AnyMessage]) -> list[str]:
    before = current_turn(thread[: len(thread) - len(current_turn(thread))])
    called = [call["name"] for message in before if isinstance(message, AIMessage) for call in message.tool_calls]
    return list(dict.fromkeys(reversed(called)))


def _found(messages: Sequence[AnyMessage]) -> list[str]:
    """Return the tools that came into use in this turn: found, or called without being offered."""
    names: list[str] = []
    for message in current_turn(messages):
        if isinstance(message, AIMessage):
            names += [call["name"] for call in message.tool_calls]
        elif isinstance(message, ToolMessage) and isinstance(message.artifact, dict):
            names += map(str, message.artifact.get(FOUND, ()))
    return names


class SwitchState(AgentState):
    """The state with a choice of tools: `selected_tools` is None for all, and `likely_tools` may run ahead.

    `prefetched` has results of tools that ran ahead and were then called, by call, in the step that uses them alone.
    """

    selected_tools: NotRequired[list[str] | None]
    likely_tools: NotRequired[list[str]]
    suggestions: NotRequired[list[dict[str, Any]]]
    prefetched: NotRequired[dict[str, ToolMessage] | None]
