"""The small model's word on which of a few tools, and which layers of memory, a request needs: one call, checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from react_mem.errors import InvalidOutput
from react_mem.memory.context import block, fence, flat
from react_mem.memory.runtime import ModelQuestion, object_schema
from react_mem.tools.routing.relations import first_sentence
from react_mem.tools.routing.routes import Route

MAX_PICKS = 4
"""Tools that one request needs; a model that names more has named what it saw."""

_MAX_CHARS = 2_000
"""Of a request: its beginning and its end."""


@dataclass(frozen=True)
class Picks:
    """Names that the model picked, of those that it was offered.

    Args:
        tools: The tools, the first one first; empty where none is needed.
        layers: The layers of memory.
        snapshot: Whether the request closes or decides something that is to be kept.
    """

    tools: tuple[str, ...]
    layers: tuple[str, ...] = ()
    snapshot: bool = False


def picks_for(request: str, candidates: Sequence[Route], layers: Sequence[Route]) -> ModelQuestion[Picks]:
    """Return the question which of some tools, and which layers of memory, a request needs.

    Args:
        request: The request.
        candidates: The tools.
        layers: The layers.
    """
    half = _MAX_CHARS // 2
    asked = request if len(request) <= _MAX_CHARS else f"{request[:half]} … {request[-half:]}"
    blocks = {
        # tools may be described by a server that is somebody else's
        "tools": [f"{route.name}: {flat(first_sentence(route.description), _MAX_CHARS)}" for route in candidates],
        "layers": [f"{route.name}: {route.description}" for route in layers],
        "request": [fence(asked)],
    }
    data = "\n".join(block(tag, lines) for tag, lines in blocks.items())
    tools, known = [route.name for route in candidates], [route.name for route in layers]
    read = partial(_read, tools=tools, layers=known)
    return ModelQuestion("pick_tools", data, _schema(tools, known), read, {"max_tools": MAX_PICKS})


def _schema(tools: Sequence[str], layers: Sequence[str]) -> dict[str, Any]:
    def names(known: Sequence[str]) -> dict[str, Any]:
        # an enum may not be empty
        return {"type": "array", "items": {"type": "string", "enum": list(known) or [""]}}

    parts = {"tools": names(tools), "layers": names(layers), "snapshot": {"type": "boolean"}}
    return object_schema(parts, "needed", "What a request needs.")


def _read(said: Mapping[str, Any], tools: Collection[str], layers: Collection[str]) -> Picks:
    if not isinstance(said.get("tools"), list):
        raise InvalidOutput("the model's answer could not be used: it has no list of tools", raw=str(said))
    named = _known(said["tools"], tools)
    if tools and said["tools"] and not named:
        raise InvalidOutput("the model's answer could not be used: it names none of the tools", raw=str(said))
    return Picks(named[:MAX_PICKS], _known(said.get("layers"), layers), said.get("snapshot") is True)


def _known(said: Any, names: Collection[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in said if name in names)) if isinstance(said, list) else ()
