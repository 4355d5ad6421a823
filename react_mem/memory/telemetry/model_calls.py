"""Metrics of chat models: calls and tokens, by call and by turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import AIMessage, BaseMessage

from react_mem.memory.telemetry.emit import count, record, span

# True with the extra `prices`: steps are logged without a price otherwise
_PRICED = find_spec("genai_prices") is not None

if _PRICED:
    from genai_prices import Usage, calc_price


class MeasuredCall:
    """One measured call of a chat model."""

    def __init__(self, measured: span, purpose: str, model: str) -> None:
        self._measured = measured
        self._purpose = purpose
        self._model = model
        self._read = self._written = 0

    def answered(self, message: object) -> None:
        """Count the tokens of an answer, if the provider reports them."""
        if isinstance(message, AIMessage):
            self.spent(message.usage_metadata)

    def spent(self, usage: Any) -> None:
        """Count tokens, in the form of `AIMessage.usage_metadata`."""
        read, written = _tokens(usage)
        if not read and not written:
            return
        self._read, self._written = self._read + read, self._written + written
        self._measured.set(input_tokens=self._read, output_tokens=self._written)
        count("model.tokens", read, purpose=self._purpose, model=self._model, direction="input")
        count("model.tokens", written, purpose=self._purpose, model=self._model, direction="output")


@contextmanager
def model_call(purpose: str, model: BaseLanguageModel[Any]) -> Iterator[MeasuredCall]:
    """Measure one call of a chat model: its duration, its failure, and its tokens.

        with telemetry.model_call("answer", model) as call:
            response = await model.ainvoke(prompt)
            call.answered(response)

    `purpose` is one of the catalogue's.
    """
    name = model_name(model)
    with span("model", purpose=purpose, model=name) as measured:
        yield MeasuredCall(measured, purpose, name)


def turn_answered(messages: Iterable[BaseMessage]) -> None:
    """Count an answered turn with the tokens of its model calls."""
    read = written = calls = 0
    for message in messages:
        if not isinstance(message, AIMessage):
            continue
        calls += 1
        tokens = _tokens(message.usage_metadata)
        read, written = read + tokens[0], written + tokens[1]
    count("turns")
    record("turn.model_calls", calls)
    if read or written:
        record("turn.tokens", read, direction="input")
        record("turn.tokens", written, direction="output")


def cost_of(message: AIMessage) -> float | None:
    """Return the price in US dollars of the call that a message answers.

    It is None without genai-prices (the extra `prices`), for a model that it does not know, and without tokens.
    """
    read, written = _tokens(message.usage_metadata)
    for name in names_of(message) if _PRICED and (read or written) else ():
        try:
            return float(calc_price(Usage(input_tokens=read, output_tokens=written), name).total_price)
        except LookupError:
            continue
    return None


def model_name(model: BaseLanguageModel[Any]) -> str:
    """Return a model's name in its configuration, as `provider:model` where it tells, else its class."""
    told = (getattr(model, field, None) for field in ("model_name", "model", "model_id", "deployment_name"))
    named = next((name for name in told if isinstance(name, str) and name), None)
    if named is None:
        return model.name or type(model).__name__
    package = type(model).__module__.partition(".")[0]
    return f"{package.removeprefix('langchain_')}:{named}" if package.startswith("langchain_") else named


def names_of(message: AIMessage) -> tuple[str, ...]:
    """Return the provider's names of the model that answered."""
    told = (message.response_metadata.get(field) for field in ("model_name", "model", "model_id"))
    return tuple(name for name in told if isinstance(name, str))


def _tokens(usage: Any) -> tuple[int, int]:
    if not usage:
        return 0, 0
    return int(usage.get("input_tokens") or 0), int(usage.get("output_tokens") or 0)
