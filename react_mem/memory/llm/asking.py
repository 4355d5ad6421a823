"""Questions to a model, each answered by a JSON object."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from react_mem.errors import InvalidOutput
from react_mem.memory import telemetry
from react_mem.memory.llm.answers import block, first_object, row
from react_mem.memory.llm.calls import ask_in_turn, fill, say, without_retries
from react_mem.prompts import load_prompt

_MAX_TOKENS = 4_000
"""Of an answer: twenty steps of a plan, or a consolidated group of memories, take a quarter of them."""

T = TypeVar("T")


@dataclass(frozen=True)
class ModelQuestion(Generic[T]):
    """One call of a model.

    Args:
        prompt: The name of the prompt, and of the call in traces; no node's name, since a run called as its node is
            streamed to the user.
        data: The content of the question.
        schema: The schema of the answer.
        read: Reads and checks the answer, off the event loop; raises `InvalidOutput` for a useless one.
        fields: Values for the braces of the prompt.
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
        """Return an answer in words.

        Raises:
            ExtractionError: If no model can be reached, or each refuses or is late.
        """

        async def ask(model: BaseChatModel, seconds: float) -> str:
            answer = await say(
                model, prompt, purpose=self._purpose, run_name=run_name, seconds=seconds, max_tokens=max_tokens
            )
            return answer.text

        return await ask_in_turn([partial(ask, model) for model in self._models], self._seconds)

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
