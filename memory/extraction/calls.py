"""One extraction's model calls: how many, what they answered and cost; and a chat model that does not retry."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any
from uuid import UUID

import openai
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import ensure_config, merge_configs
from pydantic import SecretStr

from memory import telemetry
from memory.extraction.answers import as_json
from memory.extraction.errors import ModelRejected

HIDDEN = "nostream"
"""The tag that keeps a call's tokens out of the user's stream; with `langsmith:nostream` they leak."""

# Why a model stopped before it was done, as the providers say it.
_BROKEN_OFF = frozenset({"length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_length"})


class Calls(AsyncCallbackHandler):
    """Counts and keeps the calls of one extraction.

    Args:
        limit: Calls at most.
    """

    run_inline = True

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.count = 0
        self.measured: telemetry.ModelCall | None = None
        self.answers: list[AIMessage] = []
        self.errors: list[Exception] = []

    @property
    def left(self) -> int:
        """How many calls may still be made."""
        return self.limit - self.count

    async def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any
    ) -> None:
        """Count a call."""
        self.count += 1

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Keep an answer as it came: what works on it may change it."""
        for generation in response.generations[0][:1] if response.generations else []:
            if isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage):
                self.answers.append(generation.message.model_copy(deep=True))
                self.spend(generation.message.usage_metadata, *telemetry.names_of(generation.message))

    async def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        """Keep an error: what runs in between may swallow it."""
        if isinstance(error, Exception):
            self.errors.append(error)

    def spend(self, usage: Any, *names: str) -> None:
        """Count the tokens of one call of a model, with what the provider calls it."""
        if self.measured is not None:
            self.measured.spent(usage, *names)


def is_broken_off(message: AIMessage) -> bool:
    """Tell whether the model was cut short."""
    metadata = message.response_metadata
    reasons = {metadata.get("finish_reason"), metadata.get("stop_reason"), metadata.get("done_reason")}
    return bool(reasons & _BROKEN_OFF)


def without_retries(model: BaseChatModel) -> BaseChatModel:
    """Return a copy of a chat model whose client makes one attempt: the queue of pending turns is what retries.

    Args:
        model: Any chat model; it is not changed.

    Returns:
        A copy that shares its connections, does not stream and does not retry.
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


def filling(model: BaseChatModel, schema: Mapping[str, Any]) -> Runnable[Any, Any]:
    """Return a chat model held to a JSON schema, whose answers are {"raw", "parsed", "parsing_error"}.

    Args:
        model: One whose `with_structured_output` knows `method="json_schema"`.
        schema: The schema.
    """
    # OpenAI's clients take `strict`; others refuse a keyword that they do not know
    takes_strict = "strict" in inspect.signature(model.with_structured_output).parameters
    options: dict[str, Any] = {"strict": True} if takes_strict else {}
    return model.with_structured_output(dict(schema), method="json_schema", include_raw=True, **options)


async def fill(
    model: BaseChatModel, schema: Mapping[str, Any], prompt: Sequence[BaseMessage], calls: Calls, run_name: str
) -> tuple[str, bool]:
    """Ask a chat model once for a JSON object.

    Args:
        model: See `filling`.
        schema: What the object looks like.
        prompt: What it is asked.
        calls: Keeps and bounds the calls.
        run_name: The call's name in traces.

    Returns:
        What it answered, and whether it was cut short.

    Raises:
        ModelRejected: If it declines.
        Exception: Whatever the client raises.
    """
    # merged into the config of the run around it, so that a trace shows the call where it belongs
    config = merge_configs(ensure_config(), {"callbacks": [calls], "tags": [HIDDEN], "run_name": run_name})
    try:
        answer = await filling(model, schema).ainvoke(list(prompt), config)
    except openai.LengthFinishReasonError as error:  # raised in place of the answer that was cut short
        if usage := error.completion.usage:
            calls.spend({"input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens})
        return error.completion.choices[0].message.content or "", True
    raw, parsed = answer["raw"], answer.get("parsed")
    text = said_in(raw)
    if not text.strip() and parsed is not None:  # a provider that fills in schemas by a tool call
        text = as_json(parsed)
    return text, is_broken_off(raw)


def secrets_of(model: BaseChatModel) -> tuple[str, ...]:
    """Return the keys that a chat model holds, to keep them out of messages."""
    values = (getattr(model, name, None) for name in type(model).model_fields)
    return tuple(value.get_secret_value() for value in values if isinstance(value, SecretStr))


def said_in(message: AIMessage) -> str:
    """Return the text of a model's answer.

    Raises:
        ModelRejected: If the model declines the request.
    """
    if message.additional_kwargs.get("refusal"):
        raise ModelRejected("the model declined")  # in words of its own, which may repeat the user's
    return str(message.text)
