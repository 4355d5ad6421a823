"""Background calls of a chat model: one attempt each, within a deadline, and with our own errors."""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from langchain_core.exceptions import ModelError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs
from pydantic import SecretStr

from react_mem.errors import DeadlineExceeded, ExtractionError, InvalidOutput, ModelRejected, ModelUnavailable
from react_mem.memory import telemetry
from react_mem.memory.llm.answers import as_json, block, first_object, row
from react_mem.memory.llm.causes import cause_of, scrub, unquoted
from react_mem.memory.model.records import now
from react_mem.prompts import load_prompt

if TYPE_CHECKING:
    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletion


# Errors of model calls, whoever provides the model. No message here holds a key.

_RETRYABLE_STATUS = frozenset({408, 409, 425, 429})
# What a client library raises when a well-delivered answer is not what it expects: no choices, a body that is not JSON.
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)


def translate(error: Exception, secrets: Sequence[str] = ()) -> ExtractionError:
    """Return our error for an error of a model client, to be raised `from None`: the original may hold a key.

    `secrets` must not appear in the message.
    """
    if isinstance(error, ExtractionError):
        return error
    status = getattr(error, "status_code", None)
    body = getattr(error, "body", None)
    said = (body.get("message") if isinstance(body, Mapping) else None) or error
    # of what a service says about a request its quotations are left out
    detail = (unquoted(str(said)) or type(error).__name__) if isinstance(status, int) else cause_of(error)
    detail = scrub(detail, secrets)
    if is_openais(error, "ContentFilterFinishReasonError"):
        return ModelRejected("the service's content filter refused the answer")
    if isinstance(error, NotImplementedError):
        return ModelRejected("this chat model cannot be asked for structured output or tool calls; use another one")
    if isinstance(status, int):
        if status >= 500 or status in _RETRYABLE_STATUS:
            return ModelUnavailable(f"the model answered HTTP {status}: {detail}", retry_after=_retry_after(error))
        return ModelRejected(f"the model refused the request with HTTP {status}: {detail}")
    if isinstance(error, ModelError) and not error.is_retryable:
        return ModelRejected(f"the model refused the request: {detail}")
    if isinstance(error, _UNREADABLE) and not isinstance(error, (ModelError, OSError)):
        return InvalidOutput("the model's answer could not be read", raw=detail)
    return ModelUnavailable(f"the model could not be reached: {detail}")


def is_openais(error: Exception, name: str) -> bool:
    """Return true for an error of the named class of OpenAI's client, without the half second of importing it."""
    client = sys.modules.get("openai")
    return client is not None and isinstance(error, getattr(client, name))


def _retry_after(error: Any) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None)
    value = (headers.get("retry-after") or "") if headers is not None else ""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - now()).total_seconds())
    except (ValueError, TypeError):  # no date, or one without a time zone
        return None


HIDDEN = "nostream"  # the tag that keeps a call's tokens out of the user's stream; with `langsmith:nostream` they leak
_LIMITS = ("max_tokens", "max_output_tokens", "num_predict")  # names of the parameter for the tokens of an answer
_THOUGHTS, _SPARE = 16_000, 2_000
"""Tokens beside the answer: for a reasoning model's thoughts, and for a model that may have some."""

# Why a model stopped before it was done, as the providers say it.
_BROKEN_OFF = frozenset({"length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_length"})


@asynccontextmanager
async def asking(purpose: str, model: BaseChatModel, seconds: float) -> AsyncIterator[telemetry.MeasuredCall]:
    """Measure one call of a chat model, and bound it in time; `purpose` is its label in telemetry.

    Raises `ExtractionError` in place of any error of the client.
    """
    try:
        with telemetry.model_call(purpose, model) as call:
            async with asyncio.timeout(seconds):
                yield call
    except TimeoutError:
        raise DeadlineExceeded(f"the model did not answer within {seconds:.3g} seconds") from None
    except Exception as error:
        fields = (getattr(model, name, None) for name in type(model).model_fields)
        keys = [value.get_secret_value() for value in fields if isinstance(value, SecretStr)]
        raise translate(error, keys) from None  # the original, in a log, may show a key


def is_broken_off(message: AIMessage) -> bool:
    """Return true for a truncated answer."""
    metadata = message.response_metadata
    reasons = {metadata.get("finish_reason"), metadata.get("stop_reason"), metadata.get("done_reason")}
    return bool(reasons & _BROKEN_OFF)


def without_retries(model: BaseChatModel) -> BaseChatModel:
    """Return a copy of a chat model that neither retries nor streams, and shares its connections.

    The queue of pending turns retries instead.
    """
    update: dict[str, Any] = {"disable_streaming": True}
    fields = type(model).model_fields
    if "max_retries" in fields:
        update["max_retries"] = 0
    # langchain-openai keeps clients that were built with the old number of retries, and `.chat.completions` of them
    for name, part in (("root_client", "client"), ("root_async_client", "async_client")):
        root: Any = getattr(model, name, None)
        if name in fields and hasattr(root, "with_options"):
            update[name] = root.with_options(max_retries=0)
            if getattr(model, part, None) is not None:
                update[part] = update[name].chat.completions
    copy = model.model_copy(update=update)
    # langchain-anthropic builds its clients when they are first used
    for cls in type(copy).__mro__:
        for name, attribute in vars(cls).items():
            if isinstance(attribute, cached_property):
                copy.__dict__.pop(name, None)
    return copy


def limited(model: BaseChatModel, tokens: int) -> BaseChatModel:
    """Return a copy of a chat model with at most so many tokens for an answer, beside its reasoning.

    A lower limit of the model stays, and a model without such a setting is returned unchanged.
    """
    name = next((name for name in _LIMITS if name in type(model).model_fields), None)
    if name is None:
        return model
    most = tokens + _thoughts(model)
    own = getattr(model, name)
    return model.model_copy(update={name: min(own, most) if own and own > 0 else most})


def _thoughts(model: BaseChatModel) -> int:
    """Return the tokens for a model's reasoning: never fewer than its setting, which would be an error."""
    thinking = getattr(model, "thinking", None)
    budget = thinking.get("budget_tokens") if isinstance(thinking, Mapping) else getattr(model, "thinking_budget", None)
    thinks = thinking or budget or (model.profile or {}).get("reasoning_output")
    return max(_THOUGHTS if thinks else _SPARE, budget if isinstance(budget, int) else 0)


async def say(
    model: BaseChatModel, prompt: Sequence[BaseMessage], seconds: float, *, purpose: str, run_name: str, max_tokens: int
) -> AIMessage:
    """Ask a chat model once, in the background; raise ExtractionError if it cannot be reached, refuses or is late.

    `purpose` is the label in telemetry, `run_name` the call's name in traces: no node's, whose messages are streamed.
    """
    async with asking(purpose, model, seconds) as call:
        answer = await limited(model, max_tokens).ainvoke(list(prompt), _hidden(run_name))
        call.answered(answer)
        return answer


@dataclass(frozen=True)
class Filled:
    """Answer of a model that fills in a JSON object, with the provider's token counts."""

    text: str
    broken_off: bool
    usage: Mapping[str, Any]


async def fill(
    model: BaseChatModel,
    schema: Mapping[str, Any],
    prompt: Sequence[BaseMessage],
    *,
    purpose: str,
    run_name: str,
    seconds: float,
    max_tokens: int,
) -> Filled:
    """Ask a chat model once for a JSON object by `with_structured_output(method="json_schema")`. See `say`."""
    # OpenAI's clients take `strict`; others refuse a keyword that they do not know
    takes_strict = "strict" in inspect.signature(model.with_structured_output).parameters
    options: dict[str, Any] = {"strict": True} if takes_strict else {}
    async with asking(purpose, model, seconds) as call:
        filling = limited(model, max_tokens).with_structured_output(
            dict(schema), method="json_schema", include_raw=True, **options
        )
        try:
            answer: Any = await filling.ainvoke(list(prompt), _hidden(run_name))
        except Exception as error:
            # raised in place of the answer that was cut short
            if not is_openais(error, "LengthFinishReasonError"):
                raise
            completion: ChatCompletion = error.completion  # type: ignore[attr-defined]
            usage = _counted(completion.usage)
            call.spent(usage)
            return Filled(completion.choices[0].message.content or "", True, usage)
        raw, parsed = answer["raw"], answer.get("parsed")
        call.answered(raw)
        text = said_in(raw)
        if not text.strip() and parsed is not None:  # a provider that fills in schemas by a tool call
            text = as_json(parsed)
        return Filled(text, is_broken_off(raw), raw.usage_metadata or {})


def _counted(spent: CompletionUsage | None) -> dict[str, Any]:
    """Return OpenAI's token counts in the form of LangChain's messages."""
    if spent is None:
        return {}
    read, written = spent.prompt_tokens_details, spent.completion_tokens_details
    return {
        "input_tokens": spent.prompt_tokens,
        "output_tokens": spent.completion_tokens,
        "total_tokens": spent.total_tokens,
        "input_token_details": {"cache_read": read.cached_tokens} if read else {},
        "output_token_details": {"reasoning": written.reasoning_tokens} if written else {},
    }


def _hidden(run_name: str) -> RunnableConfig:
    # merged into the config of the run around it, so that a trace shows the call where it belongs
    return merge_configs(ensure_config(), {"tags": [HIDDEN], "run_name": run_name})


def said_in(message: AIMessage) -> str:
    """Return the text of a model's answer.

    Raises `ModelRejected` if the model declines the request.
    """
    if message.additional_kwargs.get("refusal"):
        raise ModelRejected("the model declined")  # in words of its own, which may repeat the user's
    return str(message.text)


# Asking one model after the other, within one deadline: each stands in for those before it that failed.

T = TypeVar("T")

_SHARE = 2 / 3
"""Share of the remaining time for a model with a fallback behind it: one that hangs must not use up all of it."""

log = logging.getLogger(__name__)


async def ask_in_turn(asks: Sequence[Callable[[float], Awaitable[T]]], seconds: float) -> T:
    """Return the answer of the first model that does not fail, within one deadline for all.

    Each of `asks` takes its seconds; there is at least one. If all fail, the first transient error is raised, else the
    first error.
    """
    ends = time.monotonic() + seconds
    failures: list[Exception] = []
    for place, ask in enumerate(asks, start=1):
        left = max(ends - time.monotonic(), 0.0)
        try:
            return await ask(left if place == len(asks) else left * _SHARE)
        except Exception as error:
            failures.append(error)
            if place < len(asks):
                # only our own errors are known to say nothing secret
                cause = error if isinstance(error, ExtractionError) else type(error).__name__
                log.warning("the next model is asked, since one has failed: %s", cause)
    raise next((error for error in failures if getattr(error, "retryable", False)), failures[0])


# Questions to a model, each answered by a JSON object.

_MAX_TOKENS = 4_000  # of an answer: twenty steps of a plan, or a consolidated group of memories, take a quarter of them


@dataclass(frozen=True)
class ModelQuestion(Generic[T]):
    """One call of a model.

    Args:
        prompt: The name of the prompt, and of the call in traces; no node's name, since a run called as its node is
            streamed to the user.
        read: Reads and checks the answer, off the event loop; raises `InvalidOutput` for a useless one.
    """

    prompt: str
    data: str
    schema: Mapping[str, Any]
    read: Callable[[Mapping[str, Any]], T]
    fields: Mapping[str, Any] = field(default_factory=dict)


class Asker:
    """Asks models, one call a question, hidden from the stream, within `seconds` for all models together.

    The models after the first are fallbacks. Each fills a schema by `with_structured_output`; copies of them are used,
    without retries and streaming.
    """

    def __init__(self, models: Sequence[BaseChatModel], seconds: float, purpose: str = "consolidation") -> None:
        self.name = telemetry.model_name(models[0])
        self._models = list(map(without_retries, models))
        self._seconds = seconds
        self._purpose = purpose

    async def ask(self, question: ModelQuestion[T], seconds: float | None = None) -> T:
        """Return the checked answer to a question, within `seconds` in place of the usual limit.

        Raises `ExtractionError` if each model is unreachable, refuses, is late or returns nothing readable.
        """
        text = await asyncio.to_thread(load_prompt, question.prompt)
        instructions = text.format(**question.fields) if question.fields else text
        prompt = [SystemMessage(instructions), HumanMessage(question.data)]
        asks = [partial(self._ask, model, question, prompt) for model in self._models]
        said = await ask_in_turn(asks, self._seconds if seconds is None else seconds)
        return await asyncio.to_thread(question.read, said)

    async def say(self, prompt: Sequence[BaseMessage], *, run_name: str, max_tokens: int) -> str:
        """Return an answer in words; raise ExtractionError if no model can be reached, or each refuses or is late."""
        asks = [
            partial(say, model, prompt, purpose=self._purpose, run_name=run_name, max_tokens=max_tokens)
            for model in self._models
        ]
        return (await ask_in_turn(asks, self._seconds)).text

    async def _ask(
        self, model: BaseChatModel, question: ModelQuestion[Any], prompt: Sequence[BaseMessage], seconds: float
    ) -> Mapping[str, Any]:
        said = await fill(
            model,
            question.schema,
            prompt,
            purpose=self._purpose,
            run_name=question.prompt,
            seconds=seconds,
            max_tokens=_MAX_TOKENS,
        )
        found = first_object(said.text)
        if found is None:
            raise InvalidOutput("the model's answer could not be used: it holds no JSON object", raw=said.text)
        return found


def as_lines(tag: str, values: Sequence[Mapping[str, Any]]) -> str:
    """Return data for a model: a JSON object a line, between tags that nothing in the data can close."""
    return block(tag, map(row, values))


def objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a model's list; nothing for another value."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def strings(value: Any) -> list[str]:
    """Return the strings of a model's list; nothing for another value."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
