"""A chat model without tool calling, as small local ones are: it says the texts of a script."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field


class TextModel(BaseChatModel):
    """Says the script, in order; past its end, the last line again. Heeds no stop words, as not every server does.

    Args:
        script: The texts, or errors to raise.
        piece: Characters of a streamed chunk.
        prompts: What it was asked.
    """

    script: list[Any]
    piece: int = 3
    prompts: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "text-only"

    def _next(self, messages: list[BaseMessage]) -> str:
        self.prompts.append(list(messages))
        said = self.script[min(len(self.prompts), len(self.script)) - 1]
        if isinstance(said, Exception):
            raise said
        return str(said)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        message = AIMessage(self._next(messages), response_metadata={"finish_reason": "stop"})
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        text = self._next(messages)
        for start in range(0, len(text), self.piece):
            yield ChatGenerationChunk(message=AIMessageChunk(text[start : start + self.piece]))
        last = AIMessageChunk("", response_metadata={"finish_reason": "stop"}, chunk_position="last")
        yield ChatGenerationChunk(message=last)
