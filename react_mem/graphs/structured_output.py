"""`response_format`, with the meaning it has in `langchain.agents.create_agent`."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
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
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from pydantic import ValidationError


@dataclass(frozen=True)
class StructuredOutput:
    """Strategy by which one model is asked for a schema: its tools by name (`bindings`), or the provider's output."""

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


# An answer whose tool calls its client cannot make a message of.

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
