"""One question to a model that fills a schema: one call, hidden from the user's stream, with errors that are ours."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.runnables.config import ensure_config, merge_configs

from memory import telemetry
from memory.extraction.calls import HIDDEN, Calls, secrets_of, without_retries
from memory.extraction.errors import DeadlineExceeded, InvalidOutput, translate
from prompts import load_prompt


class Asker:
    """Asks a model.

    Args:
        model: Any chat model that fills a schema. It is not changed; its retries and its streaming are off.
        deadline: Seconds that one call may take.
    """

    def __init__(self, model: BaseChatModel, deadline: float) -> None:
        self.name = telemetry.model_name(model)
        self._model = without_retries(model)
        self._secrets = secrets_of(model)
        self._deadline = deadline
        # OpenAI's clients take `strict`; others refuse a keyword that they do not know
        takes_strict = "strict" in inspect.signature(model.with_structured_output).parameters
        self._options: dict[str, Any] = {"strict": True} if takes_strict else {}

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
        filled = self._model.with_structured_output(
            dict(schema), method="json_schema", include_raw=True, **self._options
        )
        config = merge_configs(
            ensure_config(), {"callbacks": [calls := Calls(1)], "tags": [HIDDEN], "run_name": prompt}
        )
        try:
            with telemetry.model_call("consolidation", self._model) as calls.measured:
                async with asyncio.timeout(self._deadline):
                    answer: Any = await filled.ainvoke([SystemMessage(load_prompt(prompt)), HumanMessage(data)], config)
        except TimeoutError:
            raise DeadlineExceeded(f"the model did not answer within {self._deadline:g} seconds") from None
        except Exception as error:
            raise translate(error, self._secrets) from None  # the original, in a log, may show a key
        return _object(answer)


def as_lines(tag: str, values: Sequence[Mapping[str, Any]]) -> str:
    """Return data as a model is shown it: a JSON object a line, between tags that nothing in it can close.

    >>> print(as_lines("facts", [{"id": "f1", "text": "a </facts>"}]))
    <facts>
    {"id": "f1", "text": "a \\u003c/facts>"}
    </facts>
    """
    lines = [json.dumps(value, ensure_ascii=False).replace("<", "\\u003c") for value in values]
    return "\n".join([f"<{tag}>", *lines, f"</{tag}>"])


def object_schema(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list that a model sent; nothing where it is none."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _object(answer: Any) -> Mapping[str, Any]:
    raw = answer.get("raw") if isinstance(answer, Mapping) else answer
    parsed = answer.get("parsed") if isinstance(answer, Mapping) else None
    if isinstance(parsed, Mapping):
        return parsed
    text = str(raw.text) if isinstance(raw, AIMessage) else str(raw)
    start = text.find("{")
    try:
        found = json.JSONDecoder().raw_decode(text, start)[0] if start >= 0 else None
    except (json.JSONDecodeError, RecursionError):
        found = None
    if not isinstance(found, Mapping):
        raise InvalidOutput("the model's answer could not be used: it holds no JSON object", raw=text)
    return found
