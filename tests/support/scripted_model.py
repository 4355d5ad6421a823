"""A chat model that says what a test tells it to, and remembers what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import tool_call
from langchain_core.runnables import Runnable
from pydantic import Field

from react_mem.agents.extractive import AnsweringModel

Said = AIMessage | str | Exception | Callable[[list[BaseMessage]], AIMessage]


def calls(*wanted: tuple[str, dict[str, Any]], text: str = "") -> AIMessage:
    """Return an answer that calls tools."""
    made = [tool_call(name=name, args=args, id=f"call-{name}-{n}") for n, (name, args) in enumerate(wanted)]
    return AIMessage(text, tool_calls=made)


class ScriptedModel(AnsweringModel):
    """Says the script, in order; past its end, the last line again."""

    script: list[Any]
    prompts: list[list[BaseMessage]] = Field(default_factory=list)
    bound: list[list[str]] = Field(default_factory=list)

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        self.bound.append([getattr(tool, "name", str(tool)) for tool in tools])
        return self

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        self.prompts.append(list(messages))
        said: Said = self.script[min(len(self.prompts), len(self.script)) - 1]
        if callable(said) and not isinstance(said, BaseMessage):
            said = said(messages)
        if isinstance(said, Exception):
            raise said
        message = AIMessage(said) if isinstance(said, str) else said
        return message.model_copy(update={"id": None})

    def _answer(self, messages: list[BaseMessage], stop: list[str] | None = None, **options: Any) -> AIMessage:
        return self._next(messages)
