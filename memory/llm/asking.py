"""Questions to a model, each answered by a JSON object: how they are put, bounded, read and checked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from langchain_core.language_models import BaseChatModel

from react_mem.memory.llm.fencing import block, row
from react_mem.memory.llm.form import FormModel
from react_mem.prompts import load_prompt

T = TypeVar("T")


@dataclass(frozen=True)
class ModelQuestion(Generic[T]):
    """One call of a model.

    Args:
        prompt: The name of the prompt that says what is wanted, and of the call in traces.
        data: What it is about.
        schema: What the answer looks like.
        read: Reads and checks the answer; compute only, run off the event loop. It raises `InvalidOutput` for one that
            cannot be used.
        fields: What stands in the braces of the prompt; empty for a prompt without any.
    """

    prompt: str
    data: str
    schema: Mapping[str, Any]
    read: Callable[[Mapping[str, Any]], T]
    fields: Mapping[str, Any] = field(default_factory=dict)


class Asker:
    """Asks a model, within a deadline.

    Args:
        model: Any chat model that fills a schema. It is not changed; its retries and its streaming are off.
        seconds: What an answer may take.
        stand_ins: The models to ask in its place where it fails, in order.
        purpose: What it is asked for, as telemetry counts it.
    """

    def __init__(
        self,
        model: BaseChatModel,
        seconds: float,
        stand_ins: Sequence[BaseChatModel] = (),
        purpose: str = "consolidation",
    ) -> None:
        self._model = FormModel(model, purpose, stand_ins)
        self._seconds = seconds

    @property
    def name(self) -> str:
        """Return the model's name."""
        return self._model.name

    async def ask(self, question: ModelQuestion[T]) -> T:
        """Ask one question.

        Raises:
            ExtractionError: If the model cannot be reached, refuses, is late or says nothing that can be read.
        """
        text = await asyncio.to_thread(load_prompt, question.prompt)
        said = await self._model.fill(
            text.format(**question.fields) if question.fields else text,
            question.data,
            question.schema,
            seconds=self._seconds,
            run_name=question.prompt,
        )
        return await asyncio.to_thread(question.read, said)


def as_lines(tag: str, values: Sequence[Mapping[str, Any]]) -> str:
    """Return data as a model is shown it: a JSON object a line, between tags that nothing in it can close."""
    return block(tag, map(row, values))


def objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list that a model sent; nothing where it is none."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def strings(value: Any) -> list[str]:
    """Return the strings of a list that a model sent; nothing where it is none."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
