"""A model's answer -> items: JSON as models really write it, whole, wrapped in prose or broken off in the middle."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from memory.extraction.proposal import FIELDS

_THOUGHT = "</think>"
_THINKING = re.compile(r"<think>.*?</think>", re.DOTALL)
_SPACE = re.compile(r"[\s,]*")
_KEY = re.compile(r'[\s,]*"(\w+)"\s*:\s*')

_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Answer:
    """What could be read.

    Args:
        payload: The fields of the proposal that were read, as the model sent them.
        leftovers: What was sent beside them and could not be read.
        raw: The answer as it came.
        problem: Why nothing could be read; empty when something was.
        broken_off: Whether the model was cut short.
    """

    payload: dict[str, Any] = field(default_factory=dict)
    leftovers: tuple[str, ...] = ()
    raw: str = ""
    problem: str = ""
    broken_off: bool = False


def read_answer(text: str, *, broken_off: bool = False) -> Answer:
    """Read the JSON object in a model's answer.

    Args:
        text: The answer.
        broken_off: Whether the model says that it was cut short.

    Returns:
        What was read. An answer that breaks off keeps its whole items; the one that was cut is a leftover.

    >>> read_answer('Sure: {"summary": "ok"}').payload
    {'summary': 'ok'}
    >>> read_answer('{"facts": [{"c": [1]}, {"c": [2').leftovers
    ('{"c": [2',)
    >>> read_answer("I cannot").problem
    'it holds no JSON object'
    """
    body = _without_thinking(text)
    problem = "it holds no JSON object"
    for value, start, end in _objects(body):
        if value is None:
            payload, leftovers, torn = _salvage(body, start)
            # all that is missing of an answer that has every field is its last bracket
            lost = torn or bool(leftovers) or not payload.keys() >= set(FIELDS)
            if any(payload.values()) or not lost:
                return Answer(payload, leftovers, raw=text, broken_off=lost)
            problem = "its JSON is malformed"
        elif payload := {key: value[key] for key in FIELDS if key in value}:
            more = [as_json({key: part}) for key, part in value.items() if key not in FIELDS]
            more += [body[end:].strip()] if "{" in body[end:] else []
            return Answer(payload, tuple(more), raw=text, broken_off=broken_off)
        else:
            problem = f"it has none of the fields {', '.join(FIELDS)}"
    return Answer(raw=text, problem=problem, broken_off=broken_off)


def first_object(text: str) -> dict[str, Any] | None:
    """Return the first JSON object in a model's answer, whatever stands around it; None without one.

    >>> first_object('<think>{}</think>Here: {"summary": "ok"}')
    {'summary': 'ok'}
    """
    return next((value for value, _, _ in _objects(_without_thinking(text))), None)


def as_json(value: Any) -> str:
    """Return a value that a model sent as JSON."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _objects(body: str) -> Iterator[tuple[dict[str, Any] | None, int, int]]:
    """Yield the JSON objects in a text, with where they begin and end; None for one that is malformed, the last."""
    start = body.find("{")
    while start >= 0:
        try:
            value, end = _DECODER.raw_decode(body, start)
        except (ValueError, RecursionError):
            yield None, start, len(body)
            return
        yield value, start, end
        start = body.find("{", end)


def _without_thinking(text: str) -> str:
    # up to where the last thought ends, every one that begins ends: unfinished ones would each be looked for anew
    head, end, rest = text.rpartition(_THOUGHT)
    return _THINKING.sub("", head + end) + rest


def _salvage(body: str, start: int) -> tuple[dict[str, Any], tuple[str, ...], bool]:
    """Read an object that breaks off: whole fields, whole items of an array, and whether it is within a field."""
    payload: dict[str, Any] = {}
    torn = False
    at = start + 1
    while key := _KEY.match(body, at):
        at = key.end()
        try:
            value, at = _DECODER.raw_decode(body, at)
        except (ValueError, RecursionError):
            torn = True
            if body[at : at + 1] == "[" and key[1] in FIELDS:
                payload[key[1]], at = _items(body, at + 1)
            break
        if key[1] in FIELDS:
            payload[key[1]] = value
    rest = body[at:].strip(" \n\t,")
    return payload, (rest,) if rest.strip("[]{} \n\t,") else (), torn


def _items(body: str, at: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    while gap := _SPACE.match(body, at):
        try:
            item, at = _DECODER.raw_decode(body, gap.end())
        except (ValueError, RecursionError):
            break
        items.append(item)
    return items, at
