"""One call of an agent's chat model, with its stand-ins when it fails, and with the schema of its answer.

The agent's model is asked first, then the models of its `models.fallback`, and last, where that names `extractive`,
the built-in model that quotes. It answers only while the agent's own is out of order: a key that is refused, a model
that does not exist and a request that does not fit are for somebody to fix, and are raised. It cannot fill a schema.
Without `fallback` every failure is raised.

A model that keeps failing rests (see `ModelHealth`); where all of them rest and nothing else can answer, they are asked
all the same. An answer of a stand-in says so in `additional_kwargs["answered_by"]`; a quote is no part of the dialogue.

A model may fail when half of its answer has been streamed. The stand-in's answer then has a message id of its own,
because clients join the tokens of one id, and would show both answers as one. The `model` event names the withdrawn id.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain.agents.structured_output import (
    AutoStrategy,
    MultipleStructuredOutputsError,
    OutputToolBinding,
    ProviderStrategy,
    ProviderStrategyBinding,
    StructuredOutputValidationError,
    ToolStrategy,
)
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import merge_configs
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.constants import TAG_NOSTREAM
from langgraph.errors import GraphBubbleUp
from langgraph.types import StreamWriter
from pydantic import ValidationError

from react_mem.agents.models import ModelFailure, explain_model_error
from react_mem.agents.resolve import NamedModel, ResolvedAgent
from react_mem.errors import ModelCallError
from react_mem.graphs import events
from react_mem.graphs.schemas import current_turn
from react_mem.memory import telemetry
from react_mem.memory.context import NOTICE

log = logging.getLogger(__name__)

ANSWERED_BY = "answered_by"
"""Key in an answer's `additional_kwargs` with the name of the model that stood in for the agent's."""

Bind = Callable[[BaseChatModel], Runnable[Any, Any]]


@dataclass(frozen=True)
class _Failed:
    model: NamedModel
    failure: ModelFailure
    error: Exception | None = None
    streamed: str | None = None


@dataclass(kw_only=True)
class ModelCall:
    """One call of the model for the answer (`own`), or of its stand-in.

    `bind` gives a model its tools and its schema; `quotable` is true if an answer in words will do, such as a quote.
    """

    agent: ResolvedAgent
    own: NamedModel
    writer: StreamWriter
    thread: Sequence[AnyMessage] = ()
    bind: Bind = lambda model: model
    quotable: bool = True
    tags: tuple[str, ...] = ()
    purpose: str = "answer"
    _failed: list[_Failed] = field(default_factory=list, init=False)
    _told: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._quotes = self.agent.quotes if self.quotable else None
        self._stand_ins = [model for model in self.agent.fallback if model.name != self.own.name]
        answers = (message for message in reversed(current_turn(self.thread)) if isinstance(message, AIMessage))
        self._stood_in: str | None = next((one.additional_kwargs.get(ANSWERED_BY) for one in answers), None)

    async def answer(self, prompt: Sequence[BaseMessage]) -> tuple[AIMessage, BaseChatModel]:
        """Ask until a model answers; return the answer and its model. Raises `ModelCallError` if nothing answers."""
        for model in self._candidates():
            message = await self._attempt(model, prompt)
            if message is not None:
                return message, model.model
        reasons = {failed.model.name: failed.failure.message for failed in self._failed if failed.error}
        first = next(failed.error for failed in self._failed if failed.error)
        raise ModelCallError(" ".join(reasons.values())) from first

    def _candidates(self) -> Iterator[NamedModel]:
        """Yield the models to ask, one after the other, as long as the last has failed."""
        resting: list[NamedModel] = []
        for model in (self.own, *self._stand_ins):
            if self.agent.health.admits(model.name):
                yield model
            else:
                resting.append(model)
                if failure := self.agent.health.last_failure(model.name):
                    self._failed.append(_Failed(model, failure))
        out_of_order = any(failed.model is self.own and failed.failure.passes for failed in self._failed)
        if self._quotes is not None and out_of_order:
            yield self._quotes
        # nothing else is left: better to wait for a model that has failed than to fail without asking
        yield from resting

    async def _attempt(self, model: NamedModel, prompt: Sequence[BaseMessage]) -> AIMessage | None:
        self._tell(model)
        started = time.monotonic()
        heard = None
        config = merge_configs(get_config(), {"tags": [*self.tags]})
        # nobody is asked instead of a model that is alone, however late it is
        is_alone = not self._stand_ins and self._quotes is None
        patience = None if is_alone else self.agent.config.models.fallback_after
        try:
            with telemetry.model_call(self.purpose, model.model) as call:
                async with asyncio.timeout(patience) as limit:
                    if patience is not None:
                        heard = _TokenWatch(limit, patience)
                        config = merge_configs(config, {"callbacks": [heard]})
                    message = await _asked(self.bind(model.model), prompt, config)
                call.answered(message)
        except GraphBubbleUp:
            raise
        except Exception as error:
            failure = explain_model_error(error, model.name)
            if is_alone:
                raise ModelCallError(failure.message) from error
            self.agent.health.failed(model.name, failure, time.monotonic() - started)
            self._failed.append(_Failed(model, failure, error, heard.message_id if heard else None))
            return None
        if self.agent.health.answered(model.name):
            told = f"The model {model.name!r} answers again."
            events.tell(self.writer, "model", status="ok", message=told, model=model.name)
        if model is self.own:
            return message
        marks = {ANSWERED_BY: model.name, **({NOTICE: True} if model is self._quotes else {})}
        return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, **marks}})

    def _tell(self, instead: NamedModel) -> None:
        """Report each model that has failed or rests since the last report, and the model asked instead."""
        for failed in self._failed[self._told :]:
            asked = failed.error is not None
            # said when it stood in for the first time in this turn, or nothing else was left to ask
            if not asked and instead.name in (self._stood_in, failed.model.name):
                continue
            telemetry.count("degradations", part="model")
            message = f"{failed.failure.message} {instead.name!r} is asked instead."
            if asked:
                level = logging.WARNING if failed.failure.passes or failed.failure.of_the_request else logging.ERROR
                log.log(level, "%s", message)
            else:
                left = self.agent.health.seconds_left(failed.model.name)
                message = f"{message} The next attempt is in {left:.0f} seconds."
            details = {"model": failed.model.name, "instead": instead.name, "kind": failed.failure.kind}
            if failed.streamed:
                details["replaces"] = failed.streamed
            events.tell(self.writer, "model", status="degraded", message=message, **details)
        self._told = len(self._failed)


async def _asked(bound: Runnable[Any, AIMessage], prompt: Sequence[BaseMessage], config: RunnableConfig) -> AIMessage:
    try:
        return await bound.ainvoke(prompt, config)
    except Exception as error:
        # the model has answered: it is told what is wrong with its calls, and no other one is asked
        unreadable = unreadable_answer(error)
        if unreadable is None:
            raise
        return unreadable


class _TokenWatch(AsyncCallbackHandler):
    """Watch on a model's tokens: each extends the deadline, and the first gives the message id of the stream."""

    def __init__(self, limit: asyncio.Timeout, seconds: float) -> None:
        self.message_id: str | None = None
        self._limit = limit
        self._seconds = seconds

    async def on_llm_new_token(self, token: Any, *, chunk: Any = None, tags: Any = None, **kwargs: Any) -> None:
        self._heard(chunk.message.id if isinstance(chunk, ChatGenerationChunk) else None, tags)

    async def on_stream_event(self, event: Any, *, tags: Any = None, **kwargs: Any) -> None:
        """Note the same, for a caller that streams events by version 3."""
        begins = event["event"] == "message-start"
        self._heard((event.get("id") or event.get("message_id")) if begins else None, tags)

    def _heard(self, message_id: str | None, tags: list[str] | None) -> None:
        if not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time() + self._seconds)
        if message_id and TAG_NOSTREAM not in (tags or ()):
            self.message_id = message_id


# Latency of a tool's call, carried by its result: in the thread, so that whoever derives steps from it has it.

_LATENCY = "latency"


def timed(results: Iterable[ToolMessage], seconds: float) -> None:
    """Note the duration of a call in its results, which go into the thread."""
    for result in results:
        result.additional_kwargs = {**result.additional_kwargs, _LATENCY: round(seconds, 6)}


def latency_of(result: ToolMessage) -> float | None:
    """Return the duration of a call in seconds; None if it was not noted."""
    noted = result.additional_kwargs.get(_LATENCY)
    return float(noted) if isinstance(noted, int | float) and noted >= 0 else None


@dataclass(frozen=True)
class StructuredOutput:
    """Strategy of `response_format` for one model, as in `create_agent`.

    It asks by tools, which `bindings` has by their names, or by the output of the provider.
    """

    strategy: ToolStrategy[Any] | ProviderStrategy[Any]
    bindings: dict[str, OutputToolBinding[Any]]

    @classmethod
    def choose(cls, response_format: Any, model: BaseChatModel) -> StructuredOutput | None:
        """Return the strategy for this model, or None without a `response_format` (a schema or a strategy).

        A bare schema uses the provider's structured output where the model's profile has it, else a tool.
        """
        if response_format is None:
            return None
        if isinstance(response_format, AutoStrategy):
            response_format = response_format.schema
        if not isinstance(response_format, ToolStrategy | ProviderStrategy):
            by_provider = bool((model.profile or {}).get("structured_output"))
            response_format = ProviderStrategy(response_format) if by_provider else ToolStrategy(response_format)
        if isinstance(response_format, ProviderStrategy):
            return cls(response_format, {})
        specs = response_format.schema_specs
        return cls(response_format, {spec.name: OutputToolBinding.from_schema_spec(spec) for spec in specs})

    def bind(self, model: BaseChatModel, tools: tuple[BaseTool | dict[str, Any], ...]) -> Runnable[Any, AIMessage]:
        """Return the model with its tools and the schema."""
        if isinstance(self.strategy, ProviderStrategy):
            return model.bind_tools(list(tools), **self.strategy.to_model_kwargs())
        return model.bind_tools([*tools, *(b.tool for b in self.bindings.values())], tool_choice="any")

    def read(self, response: AIMessage) -> tuple[list[AnyMessage], Any]:
        """Return the tool messages that answer the schema's tool calls in an answer, and the object; None if none yet.

        Raises `StructuredOutputValidationError` or `MultipleStructuredOutputsError` if the strategy does not retry.
        """
        if isinstance(self.strategy, ProviderStrategy):
            if response.tool_calls:
                return [], None
            try:
                return [], ProviderStrategyBinding.from_schema_spec(self.strategy.schema_spec).parse(response)
            except Exception as error:
                name = self.strategy.schema_spec.name
                raise StructuredOutputValidationError(name, error, response) from error
        calls = [call for call in response.tool_calls if call["name"] in self.bindings]
        if not calls:
            return [], None
        if len(calls) > 1:
            problem: Exception = MultipleStructuredOutputsError([call["name"] for call in calls], response)
            text = self._retry_text(problem)
            return [_reply(call, text, failed=True) for call in calls], None
        try:
            value = self.bindings[calls[0]["name"]].parse(calls[0]["args"])
        except Exception as error:
            problem = StructuredOutputValidationError(calls[0]["name"], error, response)
            return [_reply(calls[0], self._retry_text(problem), failed=True)], None
        said = self.strategy.tool_message_content or f"Returning structured response: {value}"
        return [_reply(calls[0], said)], value

    def _retry_text(self, problem: Exception) -> str:
        """Return the text that tells the model its mistake, or raise it, as the strategy's `handle_errors` says."""
        handle = self.strategy.handle_errors if isinstance(self.strategy, ToolStrategy) else False
        if isinstance(handle, str):
            return handle
        if handle is True or (isinstance(handle, type | tuple) and isinstance(problem, handle)):
            return f"Error: {problem}\n Please fix your mistakes."
        if callable(handle) and not isinstance(handle, type):
            return str(handle(problem))
        raise problem


def _reply(call: Any, text: str, *, failed: bool = False) -> ToolMessage:
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error" if failed else "success")


_UNKNOWN = "unknown_tool"
"""Placeholder for the name, which the error does not tell: providers refuse a call without one when it is sent back."""


def unreadable_answer(error: Exception) -> AIMessage | None:
    """Return an answer in place of one with tool arguments that are JSON, but no object; None for any other error.

    Where an answer comes in pieces, the client itself marks such a call as invalid; where it comes whole, or as events,
    the message cannot be built. Only the arguments are left of the answer, so its calls are marked as invalid: the
    model has to say it again.
    """
    if not isinstance(error, ValidationError):
        return None
    wrong = error.errors(include_url=False, include_context=False)
    if not all(found["loc"][:1] == ("tool_calls",) and found["loc"][-1] == "args" for found in wrong):
        return None
    calls = [
        invalid_tool_call(
            name=_UNKNOWN, args=json.dumps(found["input"], ensure_ascii=False, default=str), id=None, error=None
        )
        for found in wrong
    ]
    return AIMessage("", id=str(uuid.uuid4()), invalid_tool_calls=calls)
