"""One call of an agent's chat model, with its stand-ins when it fails.

The agent's model is asked first, then the models of its `models.fallback`, and last, where that names `extractive`,
the built-in model that quotes. Any failed call asks the next language model, since another may have a key, a longer
window or a service that runs. The extractive model answers only while the agent's own is out of order: a key that is
refused, a model that does not exist and a request that does not fit are for somebody to fix, and are raised. It cannot
fill a schema, so that a turn with a `response_format` is never answered by it. Without `fallback` every failure is
raised.

A model that keeps failing rests (see `ModelHealth`) and is asked again by a turn after a while; where all of
them rest and nothing else can answer, they are asked all the same. An answer of another model than the one that should
have answered says so in `additional_kwargs["answered_by"]`; one that only quotes is marked as no part of the dialogue.

A model may fail when half of its answer has been streamed. The stand-in's answer then has a message id of its own,
because clients join the tokens of one id, and would show both answers as one. The `model` event names the withdrawn id.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.config import get_config
from langgraph.constants import TAG_NOSTREAM
from langgraph.errors import GraphBubbleUp
from langgraph.types import StreamWriter

from react_mem.agents.models import ModelFailure, explain_model_error
from react_mem.agents.resolve import NamedModel, ResolvedAgent
from react_mem.errors import ModelCallError
from react_mem.graphs import events
from react_mem.graphs.schemas import current_turn
from react_mem.graphs.structured_output import unreadable_answer
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


class ModelCall:
    """One call of the model that should answer (`own`), or of what stands in for it.

    `bind` gives a model its tools and its schema; `quotable` is true if an answer in words will do, such as a quote.
    """

    def __init__(
        self,
        agent: ResolvedAgent,
        own: NamedModel,
        writer: StreamWriter,
        *,
        thread: Sequence[AnyMessage] = (),
        bind: Bind = lambda model: model,
        quotable: bool = True,
        tags: Sequence[str] = (),
        purpose: str = "answer",
    ) -> None:
        self._agent = agent
        self._own = own
        self._writer = writer
        self._bind = bind
        self._tags = list(tags)
        self._purpose = purpose
        self._quotes = agent.quotes if quotable else None
        self._stand_ins = [model for model in agent.fallback if model.name != own.name]
        self._stood_in = _stood_in(thread)
        self._failed: list[_Failed] = []
        self._told = 0

    async def answer(self, prompt: Sequence[BaseMessage]) -> tuple[AIMessage, BaseChatModel]:
        """Ask until a model answers; return the answer and its model. Raises `ModelCallError` if nothing answers."""
        if not self._stand_ins and self._quotes is None:
            return await self._alone(prompt)
        resting: list[NamedModel] = []
        for model in self._candidates(resting):
            message = await self._attempt(model, prompt)
            if message is not None:
                return message, model.model
        reasons = {failed.model.name: failed.failure.message for failed in self._failed if failed.error}
        first = next(failed.error for failed in self._failed if failed.error)
        raise ModelCallError(" ".join(reasons.values())) from first

    async def _alone(self, prompt: Sequence[BaseMessage]) -> tuple[AIMessage, BaseChatModel]:
        bound = self._bind(self._own.model)
        try:
            with telemetry.model_call(self._purpose, self._own.model) as call:
                message = await _asked(bound, prompt, self._config())
                call.answered(message)
        except GraphBubbleUp:
            raise
        except Exception as error:
            raise ModelCallError(explain_model_error(error, self._own.name).message) from error
        return message, self._own.model

    def _candidates(self, resting: list[NamedModel]) -> Iterator[NamedModel]:
        """Yield the models to ask, one after the other, as long as the last has failed."""
        for model in (self._own, *self._stand_ins):
            if self._agent.health.admits(model.name):
                yield model
            else:
                resting.append(model)
                if failure := self._agent.health.last_failure(model.name):
                    self._failed.append(_Failed(model, failure))
        out_of_order = any(failed.model is self._own and failed.failure.passes for failed in self._failed)
        if self._quotes is not None and out_of_order:
            yield self._quotes
        # nothing else is left: better to wait for a model that has failed than to fail without asking
        yield from resting

    async def _attempt(self, model: NamedModel, prompt: Sequence[BaseMessage]) -> AIMessage | None:
        self._tell(model)
        started = time.monotonic()
        heard = None
        try:
            with telemetry.model_call(self._purpose, model.model) as call:
                patience = self._agent.config.models.fallback_after
                async with asyncio.timeout(patience) as limit:
                    heard = _TokenWatch(limit, patience)
                    bound = self._bind(model.model)
                    message = await _asked(bound, prompt, self._config(heard))
                call.answered(message)
        except GraphBubbleUp:
            raise
        except Exception as error:
            failure = explain_model_error(error, model.name)
            self._agent.health.failed(model.name, failure, time.monotonic() - started)
            self._failed.append(_Failed(model, failure, error, heard.message_id if heard else None))
            return None
        if self._agent.health.answered(model.name):
            told = f"The model {model.name!r} answers again."
            events.tell(self._writer, "model", status="ok", message=told, model=model.name)
        return message if model is self._own else self._marked(message, model)

    def _config(self, heard: _TokenWatch | None = None) -> RunnableConfig:
        added: RunnableConfig = {"tags": self._tags}
        if heard is not None:
            added["callbacks"] = [heard]
        return merge_configs(get_config(), added)

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
                left = self._agent.health.seconds_left(failed.model.name)
                message = f"{message} The next attempt is in {left:.0f} seconds."
            details = {"replaces": failed.streamed} if failed.streamed else {}
            events.tell(
                self._writer,
                "model",
                status="degraded",
                message=message,
                model=failed.model.name,
                instead=instead.name,
                kind=failed.failure.kind,
                **details,
            )
        self._told = len(self._failed)

    def _marked(self, message: AIMessage, model: NamedModel) -> AIMessage:
        marks = {ANSWERED_BY: model.name, **({NOTICE: True} if model is self._quotes else {})}
        return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, **marks}})


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

    async def on_llm_new_token(
        self,
        token: str | list[str | dict[str, Any]],
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        self._wait_on()
        if isinstance(chunk, ChatGenerationChunk) and TAG_NOSTREAM not in (tags or ()):
            self.message_id = chunk.message.id

    async def on_stream_event(
        self,
        event: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note the same, for a caller that streams events by version 3."""
        self._wait_on()
        if event["event"] == "message-start" and TAG_NOSTREAM not in (tags or ()):
            self.message_id = event.get("id") or event.get("message_id")

    def _wait_on(self) -> None:
        if not self._limit.expired():
            self._limit.reschedule(asyncio.get_running_loop().time() + self._seconds)


def _stood_in(thread: Sequence[AnyMessage]) -> str | None:
    answers = (message for message in reversed(current_turn(thread)) if isinstance(message, AIMessage))
    last = next(answers, None)
    return last.additional_kwargs.get(ANSWERED_BY) if last else None


# Latency of a tool's call, carried by its result: in the thread, so that whoever derives steps from it has it.

_LATENCY = "latency"
_DIGITS = 6


def timed(results: Iterable[ToolMessage], seconds: float) -> None:
    """Note the duration of a call in its results, which go into the thread."""
    for result in results:
        result.additional_kwargs = {**result.additional_kwargs, _LATENCY: round(seconds, _DIGITS)}


def latency_of(result: ToolMessage) -> float | None:
    """Return the duration of a call in seconds; None if it was not noted."""
    noted = result.additional_kwargs.get(_LATENCY)
    return float(noted) if isinstance(noted, int | float) and noted >= 0 else None
