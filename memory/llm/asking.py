"""What consolidation asks a model, and how what it is about is put to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel

from react_mem.memory.llm.fencing import block, row
from react_mem.memory.llm.form import FormModel
from react_mem.prompts import load_prompt


class Asker:
    """Asks a model.

    Args:
        model: Any chat model that fills a schema. It is not changed; its retries and its streaming are off.
        deadline: Seconds that an answer may take.
        stand_ins: The models to ask in its place where it fails, in order.
    """

    def __init__(self, model: BaseChatModel, deadline: float, stand_ins: Sequence[BaseChatModel] = ()) -> None:
        self._model = FormModel(model, "consolidation", stand_ins)
        self._deadline = deadline

    @property
    def name(self) -> str:
        """What the model is called."""
        return self._model.name

    async def ask(self, prompt: str, data: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ask for one JSON object.

        Args:
            prompt: The name of the prompt that says what is wanted.
            data: What it is about.
            schema: What the object looks like.

        Returns:
            The object. Nothing in it is checked.

        Raises:
            ExtractionError: If the model cannot be reached, refuses, is late or says nothing that can be read.
        """
        return await self._model.fill(load_prompt(prompt), data, schema, seconds=self._deadline, run_name=prompt)


def as_lines(tag: str, values: Sequence[Mapping[str, Any]]) -> str:
    """Return data as a model is shown it: a JSON object a line, between tags that nothing in it can close."""
    return block(tag, map(row, values))


def objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list that a model sent; nothing where it is none."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
