"""One question to a model that fills in a JSON object: one call, hidden from the stream, with errors that are ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage

from react_mem.errors import InvalidOutput
from react_mem.memory import telemetry
from react_mem.memory.llm.answers import first_object
from react_mem.memory.llm.calls import fill, without_retries
from react_mem.memory.llm.stand_ins import ask_in_turn

MAX_TOKENS = 4_000
"""Of an answer: twenty steps of a plan, or a group of memories drawn together, take a quarter of them."""


class FormModel:
    """A chat model that is asked for JSON objects.

    Args:
        model: A chat model whose `with_structured_output` knows `method="json_schema"`. It is not changed; for these
            calls its retries and its streaming are off.
        purpose: What it is asked for, as telemetry counts it.
        stand_ins: The models to ask in its place where it fails, in order.
    """

    def __init__(self, model: BaseChatModel, purpose: str, stand_ins: Sequence[BaseChatModel] = ()) -> None:
        self.name = telemetry.model_name(model)
        self._models = [without_retries(one) for one in (model, *stand_ins)]
        self._purpose = purpose

    async def fill(
        self, instructions: str, data: str, schema: Mapping[str, Any], *, seconds: float, run_name: str
    ) -> Mapping[str, Any]:
        """Ask for one JSON object.

        Args:
            instructions: What is wanted.
            data: What it is about.
            schema: What the object looks like.
            seconds: How long to wait, for all models together.
            run_name: The call's name in traces: another one than a node's, whose messages are streamed.

        Returns:
            The object. Nothing in it is checked.

        Raises:
            ExtractionError: If no model can be reached, or each refuses, is late or says nothing that can be read.
        """
        prompt = [SystemMessage(instructions), HumanMessage(data)]

        async def ask(model: BaseChatModel, left: float) -> Mapping[str, Any]:
            said = await fill(
                model,
                schema,
                prompt,
                purpose=self._purpose,
                run_name=run_name,
                seconds=left,
                max_tokens=MAX_TOKENS,
            )
            found = first_object(said.text)
            if found is None:
                raise InvalidOutput("the model's answer could not be used: it holds no JSON object", raw=said.text)
            return found

        return await ask_in_turn([partial(ask, model) for model in self._models], seconds)
