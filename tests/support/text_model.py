"""A chat model without tool calling, as small local ones are: it says the texts of a script."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import Field

from react_mem.agents.answering_model import AnsweringModel


class TextModel(AnsweringModel):
    """Says the script, in order; past its end, the last line again. Heeds no stop words, as not every server does.

    Args:
        script: The texts, or errors to raise.
        piece: Characters of a streamed chunk.
        prompts: What it was asked.
    """

    script: list[Any]
    piece: int = 3
    prompts: list[list[BaseMessage]] = Field(default_factory=list)

    def _next(self, messages: list[BaseMessage]) -> str:
        self.prompts.append(list(messages))
        said = self.script[min(len(self.prompts), len(self.script)) - 1]
        if isinstance(said, Exception):
            raise said
        return str(said)

    def _answer(self, messages: list[BaseMessage], stop: list[str] | None = None, **options: Any) -> AIMessage:
        return AIMessage(self._next(messages), response_metadata={"finish_reason": "stop"})

    def _pieces(self, text: str) -> list[str]:
        return [text[start : start + self.piece] for start in range(0, len(text), self.piece)]
