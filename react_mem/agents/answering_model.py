"""Base of the chat models that this project has itself: one function from messages to an answer, streamed in pieces."""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult


class AnsweringModel(BaseChatModel):
    """A chat model that knows its whole answer at once. A subclass says what it answers."""

    @property
    def _llm_type(self) -> str:
        return self.name or type(self).__name__

    @abstractmethod
    def _answer(self, messages: list[BaseMessage], stop: list[str] | None = None, **options: Any) -> AIMessage:
        """Return the answer to messages, with the tools and other options that were bound."""

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages, stop, **kwargs))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages, stop, **kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        yield from self._chunks(self._answer(messages, stop, **kwargs))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._chunks(self._answer(messages, stop, **kwargs)):
            yield chunk

    def _chunks(self, message: AIMessage) -> Iterator[ChatGenerationChunk]:
        text = str(message.content)
        for piece in re.findall(r"\s*\S+|\s+", text):  # words, the way a generating model streams
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece, response_metadata={}))
        yield _last_chunk(message)


def _last_chunk(message: AIMessage) -> ChatGenerationChunk:
    """Return all of a message but its text, which has been streamed."""
    calls = [*message.tool_calls, *message.invalid_tool_calls]
    return ChatGenerationChunk(
        message=AIMessageChunk(
            content="",
            additional_kwargs=message.additional_kwargs,
            response_metadata=message.response_metadata,
            usage_metadata=message.usage_metadata,
            tool_call_chunks=[
                {
                    "name": call["name"],
                    "args": json.dumps(call["args"]) if isinstance(call["args"], dict) else call["args"],
                    "id": call["id"],
                    "index": index,
                    "type": "tool_call_chunk",
                }
                for index, call in enumerate(calls)
            ],
            chunk_position="last",
        )
    )
