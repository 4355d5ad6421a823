"""The nodes of the loop, the same for every manager: `reason` calls the model, reads its answer and stops loops, `act`
runs one tool call, whose error is an observation and no crash.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import islice, takewhile
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable, ensure_config
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import TOOL_CALL_ERROR_TEMPLATE, ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from react_mem.agents.context import AgentContext
from react_mem.agents.models import name_of
from react_mem.agents.resolve import ResolvedAgent
from react_mem.errors import InvalidInputError, ToolConfigError
from react_mem.graphs import events
from react_mem.graphs.model_call import Bind, ModelCall, StructuredOutput
from react_mem.graphs.schemas import AgentState, current_turn, model_calls, pending_tool_calls
from react_mem.graphs.switching import from_ahead, measured, messages_in
from react_mem.memory import telemetry
from react_mem.memory.context import NOTICE, as_said, paired_calls, with_call_ids, without_authority, without_secrets
from react_mem.memory.records import storable
from react_mem.memory.runtime import Metering, capabilities_of, note_thread
from react_mem.memory.turns import cause_of, identify
from react_mem.prompts import load_prompt

# Noting whose a thread is, beside the model's call: forgetting a user is to find the threads of every agent.

_PATIENCE = 2.0
"""Seconds that an answer waits for a note that the database does not take."""

log = logging.getLogger(__name__)


@asynccontextmanager
async def thread_noted(runtime: Runtime[Any]) -> AsyncIterator[None]:
    """Record the owner of the run's thread during the body; a no-op without an owner, a thread or a store.

    A failed note never fails the run: it is logged, and the next turn tries again.
    """
    identity, store = identify(runtime, get_config()), runtime.store
    if store is None or identity is None or not identity.threaded:
        yield
        return
    noting = asyncio.create_task(note_thread(store, identity.user_id, identity.session_id))
    try:
        yield
    finally:
        try:
            await asyncio.wait_for(noting, _PATIENCE)
        except Exception as error:  # of a store, whatever it raises
            telemetry.count("degradations", part="thread")
            log.warning(
                "whose a thread is could not be noted; forgetting its user may not find it: %s", cause_of(error)
            )


Compose = Callable[[Any, str | SystemMessage], list[BaseMessage]]
"""Function from the state and the instructions to the messages of the prompt."""

Offer = Callable[[Any], Sequence[BaseTool]]
"""Function from the state to the tools for the model."""


MAX_REPEATS = 4
"""The same calls so often in a row are a model going in circles; small local models do. Polling twice is not."""

MAX_UNREADABLE = 3
"""Maximum number of answers in a row with unreadable calls: telling a model a third time does not help it."""

# read here, since files are not read on an event loop
_UNREADABLE_CALL = load_prompt("unreadable_call")
_UNREADABLE_CALLS = load_prompt("unreadable_calls")
_GOING_IN_CIRCLES = load_prompt("going_in_circles")
_OUT_OF_STEPS = load_prompt("out_of_steps")
_OBSERVATION = load_prompt("out_of_steps_observation")
_EMPTY_ANSWER = load_prompt("empty_answer")


class Reason:
    """One call of the model, with the reading of its answer.

    `compose` builds the prompt, the only difference between the managers; `offer` chooses the tools (by default all of
    the agent's); `begins` says if the message of a turn is still to be counted, where there are quotas and the run has
    no id (by default, if the model has not been called in it). `ToolConfigError` for tools that the model cannot call.
    """

    def __init__(
        self,
        agent: ResolvedAgent,
        compose: Compose,
        offer: Offer | None = None,
        begins: Callable[[Any], bool] | None = None,
    ) -> None:
        if (agent.tools or agent.provider_tools) and not capabilities_of(agent.model).calls_tools:
            name = name_of(agent.model)
            raise ToolConfigError(f"{name} has no interface for tool calls: use a model that has, or no tools")
        self._agent = agent
        self._compose = compose
        self._offer = offer or (lambda state: agent.tools)
        self._begins = begins or (lambda state: model_calls(state["messages"]) == 0)

    async def __call__(self, state: AgentState, *, runtime: Runtime[AgentContext]) -> dict[str, Any]:
        """Return the model's answer with its consequences for the state, without running a tool.

        Raises `InvalidInputError`, `ChoiceRefused`, `QuotaExceeded`, or `ModelCallError` if the fallbacks fail too.
        """
        require_input(state["messages"])
        if (policy := self._agent.config.memory).quotas.limits_days:
            await Metering.of(policy, runtime).before_model(begins=self._begins(state))
        context = AgentContext.of(runtime.context, get_config().get("configurable"))
        chosen = await self._agent.for_run(context)
        thread = state["messages"]
        if "system_prompt" not in self._agent.config.overridable:
            thread = await without_authority(thread, get_config())
        composed = self._compose({**state, "messages": thread}, chosen.instructions)
        prompt = paired_calls([_sendable(message) for message in composed])
        call = ModelCall(
            agent=self._agent,
            own=chosen.model,
            writer=runtime.stream_writer,
            thread=state["messages"],
            bind=self._binding(tuple(self._offer(state))),
            quotable=self._agent.response_format is None,
        )
        async with thread_noted(runtime):
            response, model = await call.answer(prompt)
        output = StructuredOutput.choose(self._agent.response_format, model)
        if self._agent.name:
            response = response.model_copy(update={"name": self._agent.name})
        return self._decide(response, output, state["messages"], chosen.max_iterations, runtime)

    def _binding(self, own: tuple[BaseTool, ...]) -> Bind:
        """Return the function that gives a model tools and the agent's schema."""
        tools: tuple[BaseTool | dict[str, Any], ...] = (*own, *self._agent.provider_tools)

        def bind(model: BaseChatModel) -> Runnable[Any, AIMessage]:
            output = StructuredOutput.choose(self._agent.response_format, model)
            if output is not None:
                return output.bind(model, tools)
            return model.bind_tools(list(tools)) if tools else model

        return bind

    def _decide(
        self,
        response: AIMessage,
        output: StructuredOutput | None,
        messages: Sequence[AnyMessage],
        limit: int,
        runtime: Runtime[AgentContext],
    ) -> dict[str, Any]:
        response = with_call_ids(response)
        replies, structured = output.read(response) if output else ([], None)
        for bad in response.invalid_tool_calls:
            text = _UNREADABLE_CALL.format(name=bad.get("name") or "a tool", error=_cause(bad))
            replies.append(ToolMessage(text, tool_call_id=bad["id"], name=bad.get("name") or "", status="error"))
        answered = {reply.tool_call_id for reply in replies if isinstance(reply, ToolMessage)}
        wanted = [call for call in response.tool_calls if call["id"] not in answered]
        writer = runtime.stream_writer
        done = structured is not None or not (wanted or replies)
        stop = None if done else _reason_to_stop(response, messages, limit)
        if stop is not None:
            response = _stopped(response, messages, stop)
            events.tell(writer, "answer", text=response.text)
            telemetry.turn_answered([*current_turn(messages), response])
            return {"messages": [response], **({} if output is None else {"structured_response": None})}
        thought = response.text if response.tool_calls else ""
        if thought:
            events.tell(writer, "thought", text=thought)
        if done:
            if structured is None and not response.text.strip():
                ended = response.response_metadata.get("finish_reason")
                text = _EMPTY_ANSWER.format(reason=f": {ended}" if ended and ended != "stop" else "").strip()
                marks = {**response.additional_kwargs, NOTICE: True}
                response = response.model_copy(update={"content": text, "additional_kwargs": marks})
            events.tell(writer, "answer", text=response.text or str(structured))
            telemetry.turn_answered([*current_turn(messages), response])
        for call in wanted:
            events.action(writer, dict(call))
        for reply in replies:
            if isinstance(reply, ToolMessage) and reply.status == "error":
                said = {"name": reply.name or "", "content": reply.text}
                events.tell(writer, "observation", id=reply.tool_call_id, **said, error=True)
        # the object of an earlier turn is not an answer to this one
        return {"messages": [response, *replies], **({} if output is None else {"structured_response": structured})}


def after_reason(end: str) -> Callable[[AgentState], str | list[Send]]:
    """Return the edge that leaves `reason`: each tool call to its own `act`, a repair to `reason`, else to `end`."""

    def route(state: AgentState) -> str | list[Send]:
        if calls := pending_tool_calls(state["messages"]):
            # one task a call, so that what one of them has done is kept when another is interrupted
            return [Send("act", [call]) for call in calls]
        last = state["messages"][-1]
        return "reason" if isinstance(last, ToolMessage) and last.status == "error" else end

    return route


def require_input(messages: Sequence[AnyMessage]) -> None:
    """Refuse a turn without a message, or with an empty one or an answer as the last: `InvalidInputError`."""
    last = messages[-1] if messages else None
    # within another graph, what another agent has answered may be what this one goes on from
    is_nested = "|" in ensure_config().get("configurable", {}).get("checkpoint_ns", "")
    calls = isinstance(last, AIMessage) and (last.tool_calls or last.invalid_tool_calls)
    if last is None or (isinstance(last, AIMessage) and not calls and not is_nested):
        raise InvalidInputError(
            "There is no message to answer, or it is answered: send {'messages': [{'role': 'user', 'content': ...}]}."
        )
    if isinstance(last, HumanMessage) and is_empty(last):
        raise InvalidInputError("The message is empty: write something to answer.")


def is_empty(message: BaseMessage) -> bool:
    """Return true if a message has neither text nor anything else, such as an image."""
    blocks = [] if isinstance(message.content, str) else message.content
    return not message.text.strip() and all(isinstance(b, str) or b.get("type") == "text" for b in blocks)


def _sendable(message: BaseMessage) -> BaseMessage:
    """Return a message in valid Unicode: half an emoji, as a cut string leaves it, would fail in a client."""
    message = as_said(message)
    fields = ("content", "tool_calls") if isinstance(message, AIMessage) else ("content",)
    given = {field: getattr(message, field) for field in fields}
    changed = {field: clean for field, value in given.items() if (clean := storable(value)) != value}
    return message.model_copy(update=changed) if changed else message


def _cause(call: Any) -> str:
    return call.get("error") or "its arguments are not valid JSON, or no object"


def _reason_to_stop(response: AIMessage, messages: Sequence[AnyMessage], limit: int) -> str | None:
    tools = ", ".join(dict.fromkeys(str(call["name"]) for call in [*response.tool_calls, *response.invalid_tool_calls]))
    answers = [message for message in current_turn(messages) if isinstance(message, AIMessage)]
    repeats = _in_a_row(response, answers, lambda said: [(call["name"], call["args"]) for call in said.tool_calls])
    if repeats >= MAX_REPEATS:
        return _GOING_IN_CIRCLES.format(tools=tools, times=repeats - 1)
    if len(answers) + 1 >= limit:
        return _OUT_OF_STEPS.format(limit=limit, tools=tools)
    unreadable = _in_a_row(response, answers, lambda said: bool(said.invalid_tool_calls) and not said.tool_calls)
    if unreadable >= MAX_UNREADABLE:
        return _UNREADABLE_CALLS.format(times=unreadable, error=_cause(response.invalid_tool_calls[0]))
    return None


def _in_a_row(response: AIMessage, earlier: Sequence[AIMessage], trait: Callable[[AIMessage], Any]) -> int:
    """Return how often in a row the answers of this turn have had a trait, this one included; 0 without it."""
    now = trait(response)
    return 1 + sum(1 for _ in takewhile(lambda one: trait(one) == now, reversed(earlier))) if now else 0


def _stopped(response: AIMessage, messages: Sequence[AnyMessage], text: str) -> AIMessage:
    """Return an honest answer in place of one more tool call, which would be left without a result."""
    last = messages[-1]
    if isinstance(last, ToolMessage) and last.status != "error":
        text = f"{text}\n{_OBSERVATION.format(observation=last.text[:500])}"
    # said by us, not by the model: it is not part of the dialogue to remember
    marks = {NOTICE: True}
    return AIMessage(text.strip(), name=response.name, additional_kwargs=marks, usage_metadata=response.usage_metadata)


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
