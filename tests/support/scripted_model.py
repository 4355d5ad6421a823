"""A chat model that says what a test tells it to, and remembers what it was asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import Field

Said = AIMessage | str | Exception | Callable[[list[BaseMessage]], AIMessage]


def calls(*wanted: tuple[str, dict[str, Any]], text: str = "") -> AIMessage:
    """Return an answer that calls tools."""
    made = [tool_call(name=name, args=args, id=f"call-{name}-{n}") for n, (name, args) in enumerate(wanted)]
    return AIMessage(text, tool_calls=made)


class ScriptedModel(BaseChatModel):
    """Says the script, in order; past its end, the last line again."""

    script: list[Any]
    prompts: list[list[BaseMessage]] = Field(default_factory=list)
    bound: list[list[str]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

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

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        yield from _chunks(self._next(messages))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(self._next(messages)):
            if run_manager:
                await run_manager.on_llm_new_token(str(chunk.text), chunk=chunk)
            yield chunk


def _chunks(message: AIMessage) -> Iterator[ChatGenerationChunk]:
    words = str(message.content).split(" ")
    for place, word in enumerate(words):
        text = word if place == 0 else f" {word}"
        yield ChatGenerationChunk(message=AIMessageChunk(text, response_metadata=message.response_metadata))
    import json

    chunks = [
        {
            "name": call["name"],
            "args": json.dumps(call["args"]) if isinstance(call["args"], dict) else call["args"],
            "id": call["id"],
            "index": place,
            "type": "tool_call_chunk",
        }
        for place, call in enumerate([*message.tool_calls, *message.invalid_tool_calls])
    ]
    yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=chunks, chunk_position="last"))
