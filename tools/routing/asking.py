"""The small model's word on which of a few tools, and which layers of memory, a request needs: one call, checked."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.runnables.config import ensure_config, merge_configs

from memory import telemetry
from memory.extraction.calls import HIDDEN, refusal_of, secrets_of, without_retries
from memory.extraction.errors import DeadlineExceeded, InvalidOutput, ModelRejected, translate
from prompts import load_prompt
from tools.routing.relations import first_sentence
from tools.routing.routes import Route

MAX_PICKS = 4
"""Tools that one request needs; a model that names more has named what it saw."""

_MAX_CHARS = 2_000
"""Of a request: its beginning and its end."""


@dataclass(frozen=True)
class Picks:
    """What the model picked; of what it said, only names that it was offered.

    Args:
        tools: The tools, the first one first; empty where none is needed.
        layers: The layers of memory.
    """

    tools: tuple[str, ...]
    layers: tuple[str, ...] = ()


class Asker:
    """Asks a model. Building reads a file, so not on an event loop.

    Args:
        model: A chat model whose `with_structured_output` knows `method="json_schema"`. It is not changed; for this
            call its retries and its streaming are off.
        layers: The layers of memory.
    """

    def __init__(self, model: BaseChatModel, layers: Sequence[Route]) -> None:
        self._model = without_retries(model)
        self._secrets = secrets_of(model)
        # OpenAI's clients take `strict`; others refuse a keyword that they do not know
        takes_strict = "strict" in inspect.signature(model.with_structured_output).parameters
        self._options: dict[str, Any] = {"strict": True} if takes_strict else {}
        self._instructions = load_prompt("switch").format(max_tools=MAX_PICKS)
        self._layers = layers

    async def ask(self, request: str, candidates: Sequence[Route], seconds: float) -> Picks:
        """Ask which of some tools a request needs.

        Args:
            request: The request.
            candidates: The tools.
            seconds: How long to wait.

        Raises:
            ExtractionError: If the model cannot be reached, refuses, is late, or says nothing that can be read.
        """
        tools, layers = [route.name for route in candidates], [route.name for route in self._layers]
        filled = self._model.with_structured_output(
            _schema(tools, layers), method="json_schema", include_raw=True, **self._options
        )
        # merged into the config of the run around it, so that a trace shows the call where it belongs; by another name
        # than a node's, whose messages are streamed
        config = merge_configs(ensure_config(), {"tags": [HIDDEN], "run_name": "pick_tools"})
        prompt = [SystemMessage(self._instructions), HumanMessage(self._briefing(request, candidates))]
        try:
            with telemetry.model_call("switching", self._model) as call:
                async with asyncio.timeout(seconds):
                    answer: Any = await filled.ainvoke(prompt, config)
                raw = answer.get("raw") if isinstance(answer, Mapping) else None
                if isinstance(raw, AIMessage):
                    call.answered(raw)
        except TimeoutError:
            raise DeadlineExceeded(f"the model did not answer within {seconds:.3g} seconds") from None
        except Exception as error:
            raise translate(error, self._secrets) from None  # the original, in a log, may show a key
        return _read(answer, tools, layers)

    def _briefing(self, request: str, candidates: Sequence[Route]) -> str:
        half = _MAX_CHARS // 2
        asked = request if len(request) <= _MAX_CHARS else f"{request[:half]} … {request[-half:]}"
        return "\n".join(
            [
                "<tools>",
                *(f"{route.name}: {first_sentence(route.description)}" for route in candidates),
                "</tools>",
                "<layers>",
                *(f"{route.name}: {route.description}" for route in self._layers),
                "</layers>",
                # a tag in what somebody wrote must not end the data
                f"<request>\n{asked.replace('<', '&lt;')}\n</request>",
            ]
        )


def _schema(tools: Sequence[str], layers: Sequence[str]) -> dict[str, Any]:
    def names(known: Sequence[str]) -> dict[str, Any]:
        # an enum may not be empty
        return {"type": "array", "items": {"type": "string", "enum": list(known) or [""]}}

    return {
        "title": "needed",
        "description": "What a request needs.",
        "type": "object",
        "properties": {"tools": names(tools), "layers": names(layers)},
        "required": ["tools", "layers"],
        "additionalProperties": False,
    }


def _read(answer: Any, tools: Collection[str], layers: Collection[str]) -> Picks:
    raw = answer.get("raw") if isinstance(answer, Mapping) else None
    said = answer.get("parsed") if isinstance(answer, Mapping) else None
    if isinstance(raw, AIMessage) and (refusal := refusal_of(raw)):
        raise ModelRejected(f"the model declined: {refusal[:200]}")
    text = str(raw.text) if isinstance(raw, AIMessage) else str(answer)
    if not isinstance(said, Mapping):
        said = _first_object(text)
    if said is None or not isinstance(said.get("tools"), list):
        raise InvalidOutput("the model's answer could not be used: it holds no JSON object with tools", raw=text)
    named = _known(said["tools"], tools)
    if said["tools"] and not named:
        raise InvalidOutput("the model's answer could not be used: it names none of the tools", raw=text)
    return Picks(named[:MAX_PICKS], _known(said.get("layers"), layers))


def _known(said: Any, names: Collection[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in said if name in names)) if isinstance(said, list) else ()


def _first_object(text: str) -> Mapping[str, Any] | None:
    start = text.rfind("</think>") + 1
    start = text.find("{", start)
    if start < 0:
        return None
    try:
        value = json.JSONDecoder().raw_decode(text, start)[0]
    except (json.JSONDecodeError, RecursionError):
        return None
    return value if isinstance(value, Mapping) else None
