"""A model's answer -> items: JSON as models really write it, whole, wrapped in prose or broken off in the middle."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from react_mem.errors import InvalidOutput

_THOUGHT = "</think>"
_THINKING = re.compile(r"<think>.*?</think>", re.DOTALL)
_SPACE = re.compile(r"[\s,]*")
_KEY = re.compile(r'[\s,]*"(\w+)"\s*:\s*')

_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Answer:
    """Values that could be read from an answer.

    Args:
        payload: The fields of the proposal that were read, as the model sent them.
        leftovers: How many things were sent beside them, or could not be read.
        broken_off: Whether the model was cut short.
    """

    payload: dict[str, Any]
    leftovers: int = 0
    broken_off: bool = False


def read_answer(text: str, fields: Collection[str], *, broken_off: bool = False) -> Answer:
    """Read the JSON objects in a model's answer as one.

    Args:
        text: The answer.
        fields: What was asked for; what is sent beside them is left over.
        broken_off: Whether the model says that it was cut short.

    Returns:
        What was read. An answer that breaks off keeps its whole items; the one that was cut is left over.

    Raises:
        InvalidOutput: If nothing can be read.

    >>> read_answer('Sure: {"summary": "ok"}', ["summary"]).payload
    {'summary': 'ok'}
    >>> read_answer('{"facts": [{"c": [1]}, {"c": [2', ["facts"])
    Answer(payload={'facts': [{'c': [1]}]}, leftovers=1, broken_off=True)
    """
    body = _without_thinking(text)
    payload: dict[str, Any] = {}
    leftovers = 0
    problem = "it holds no JSON object"
    for value, start in _objects(body):
        sent, rest, lost = (value, False, False) if value is not None else _salvage(body, start, fields)
        if (lost and not any(sent.values())) or sent.keys().isdisjoint(fields):
            problem = "its JSON is malformed" if lost else f"it has none of the fields {', '.join(fields)}"
            leftovers += lost and bool(payload)
            continue
        broken_off = lost if value is None else broken_off
        leftovers += rest
        for key, part in sent.items():
            if key in fields and not payload.get(key):
                payload[key] = part
            elif key in fields and isinstance(part, list) and isinstance(payload[key], list):
                payload[key] += part
            elif key not in fields or (part and part != payload[key]):
                leftovers += 1
    if not payload:
        raise InvalidOutput(f"the model's answer could not be used: {problem}", raw=text)
    return Answer(payload, leftovers, broken_off)


def first_object(text: str, fields: Collection[str] = ()) -> dict[str, Any] | None:
    """Return the first JSON object in a model's answer, whatever stands around it; None without one.

    Args:
        text: The answer.
        fields: Of which it is to have one; none for any object.

    >>> first_object('<think>{}</think>Here: {"summary": "ok"}')
    {'summary': 'ok'}
    """
    found = (value for value, _ in _objects(_without_thinking(text)))
    return next((one for one in found if one is None or not fields or not one.keys().isdisjoint(fields)), None)


def first_value(text: str) -> Any:
    """Return the JSON value that a text begins with, whatever stands behind it; line breaks in strings are taken.

    Raises:
        ValueError: If there is none, or it has what is not JSON, such as NaN.
        RecursionError: If it is nested too deeply.
    """
    return _LENIENT.raw_decode(text)[0]


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


_LENIENT = json.JSONDecoder(strict=False, parse_constant=_refuse)


def as_json(value: Any) -> str:
    """Return a value that a model sent as JSON."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _objects(body: str) -> Iterator[tuple[dict[str, Any] | None, int]]:
    """Yield the JSON objects in a text, with where they begin; None for one that is malformed, the last."""
    start = body.find("{")
    while start >= 0:
        try:
            value, end = _DECODER.raw_decode(body, start)
        except (ValueError, RecursionError):
            yield None, start
            return
        yield value, start
        start = body.find("{", end)


def _without_thinking(text: str) -> str:
    # up to where the last thought ends, every one that begins ends: unfinished ones would each be looked for again
    head, end, rest = text.rpartition(_THOUGHT)
    return _THINKING.sub("", head + end) + rest


def _salvage(body: str, start: int, fields: Collection[str]) -> tuple[dict[str, Any], bool, bool]:
    """Read an object that breaks off: whole fields and items, whether something is left, and whether some is lost."""
    payload: dict[str, Any] = {}
    torn = False
    at = start + 1
    while (key := _KEY.match(body, at)) and not torn:
        at = key.end()
        try:
            value, at = _DECODER.raw_decode(body, at)
        except (ValueError, RecursionError):
            torn = True
            if body[at : at + 1] != "[" or key[1] not in fields:
                break
            value, at = _items(body, at + 1)
        if key[1] in fields:
            payload[key[1]] = value
    left = bool(body[at:].strip("[]{} \n\t,"))
    # all that is missing of one that has every field is its last bracket
    return payload, left, torn or left or not payload.keys() >= set(fields)


def _items(body: str, at: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    while gap := _SPACE.match(body, at):
        try:
            item, at = _DECODER.raw_decode(body, gap.end())
        except (ValueError, RecursionError):
            break
        items.append(item)
    return items, at
