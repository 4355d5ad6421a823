"""Choice of a turn's tools and layers: by vectors and words, by relations, and by the small model."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import ToolRuntime
from langgraph.store.base import BaseStore

from react_mem.errors import ExtractionError, InvalidOutput
from react_mem.memory import MemoryScope
from react_mem.memory.context import block, fence, flat
from react_mem.memory.language import edges
from react_mem.memory.runtime import Asker, ModelQuestion
from react_mem.prompts import load_prompt
from react_mem.tools.routing.router import Follows, Ranking, Relations, Router, Suggestion, first_sentence
from react_mem.tools.routing.routes import Route, SwitchSettings, tool_routes


def layer_routes() -> list[Route]:
    """Return a route for each searched layer. Blocking the first time: it reads a file.

    >>> [route.name for route in layer_routes()]
    ['dialog', 'semantic', 'episodic', 'procedural']
    """
    routes: list[Route] = []
    for line in load_prompt("switch_layers").splitlines():
        if line.startswith("- "):
            last = routes.pop()
            routes.append(Route(last.name, last.description, examples=(*last.examples, line[2:].strip())))
        else:
            name, _, description = line.partition(":")
            routes.append(Route(str(MemoryScope(name.strip())), description.strip()))
    return routes


# The small model's word on which of a few tools, and which layers of memory, a request needs: one call, checked.

MAX_PICKS = 4
"""Tools of one request; a model that names more has copied the list."""

_MAX_CHARS = 2_000
"""Characters of a request: its beginning and its end."""


@dataclass(frozen=True)
class Picks:
    """The small model's choice among the offered names; `snapshot` marks a request that closes or decides something."""

    tools: tuple[str, ...]
    layers: tuple[str, ...] = ()
    snapshot: bool = False


def picks_for(request: str, candidates: Sequence[Route], layers: Sequence[Route]) -> ModelQuestion[Picks]:
    """Return the question for the tools and layers of memory that a request needs."""
    asked = edges(request, _MAX_CHARS // 2, " … ")
    blocks = {
        # tools may be described by a server that is somebody else's
        "tools": [f"{route.name}: {flat(first_sentence(route.description), _MAX_CHARS)}" for route in candidates],
        "layers": [f"{route.name}: {route.description}" for route in layers],
        "request": [fence(asked)],
    }
    data = "\n".join(block(tag, lines) for tag, lines in blocks.items())
    tools, known = [route.name for route in candidates], [route.name for route in layers]
    read = partial(_read, tools=tools, layers=known)
    return ModelQuestion("pick_tools", data, _schema(tools=tools, layers=known), read, {"max_tools": MAX_PICKS})


def _schema(**names: Sequence[str]) -> dict[str, Any]:
    # an enum may not be empty
    lists = {
        key: {"type": "array", "items": {"type": "string", "enum": [*known] or [""]}} for key, known in names.items()
    }
    parts: dict[str, Any] = {**lists, "snapshot": {"type": "boolean"}}
    return {
        "title": "needed",
        "description": "What a request needs.",
        "type": "object",
        "properties": parts,
        "required": list(parts),
        "additionalProperties": False,
    }


def _read(said: Mapping[str, Any], tools: Collection[str], layers: Collection[str]) -> Picks:
    listed = said.get("tools")
    named = _known(listed, tools)
    if not isinstance(listed, list) or (tools and listed and not named):
        why = "it names none of the tools" if isinstance(listed, list) else "it has no list of tools"
        raise InvalidOutput(f"the model's answer could not be used: {why}", raw=str(said))
    return Picks(named[:MAX_PICKS], _known(said.get("layers"), layers), said.get("snapshot") is True)


def _known(said: Any, names: Collection[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in said if name in names)) if isinstance(said, list) else ()


CLEAR = 0.75
"""Margin from which the nearest tool is the needed one: right in 82 of 100 requests that reach it, by
`benchmarks.routing`; 1.0 is right in 90.
"""

_ENOUGH_WORDS = 0.3
"""Share of a request's words that a tool must have, where vectors are missing. Even then the needed tool is among the
nearest in 63 of 100 requests, and else in 47; with vectors in 92.
"""

_CANDIDATES = 12
"""Tools that the small model sees; the needed one is among them in 94 of 100 requests."""

_INSURANCE = 3
"""Nearest tools that are offered beside the small model's choice, which may be wrong."""

_RECENT = 1
"""Places for tools of the turn before. One place costs no request its tool, two cost one of 160."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Offer:
    """Choice of a turn: the offered `tools`, the most likely first (None: all), and the needed ones (`picked`).

    `layers` of memory are empty if none stands out; `snapshot` marks a request that closes or decides something.
    """

    tools: tuple[str, ...] | None
    picked: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    by: Literal["all", "words", "semantic", "model"] = "all"
    suggestions: tuple[Suggestion, ...] = ()
    snapshot: bool = False
    missing: dict[str, str] = field(default_factory=dict)


class Switch:
    """Chooser of a turn's tools and layers. Blocking to build: it reads files.

    Without models nothing is picked, and without tools the layers alone are chosen. Raises ToolConfigError for an
    unknown tool in the settings.
    """

    def __init__(
        self,
        tools: Sequence[BaseTool],
        settings: SwitchSettings,
        models: Sequence[BaseChatModel] = (),
        *,
        layers: bool = True,
    ) -> None:
        self.routes = {route.name: route for route in tool_routes(tools, settings)}
        self._layers = layer_routes() if layers else []
        routes = list(self.routes.values())
        self.router = Router(routes, self._layers)
        self._settings = settings
        self._narrows = len(routes) > settings.above
        self._relations = Relations(routes)
        asks = settings.mode == "model" and models
        self._asker = Asker(models, settings.timeout, "switching") if asks else None

    async def choose(
        self,
        request: str,
        store: BaseStore | None,
        *,
        follows: Awaitable[Follows] | None = None,
        recent: Sequence[str] = (),
    ) -> Offer:
        """Choose by one call of the model, or by similarity; never raises.

        `follows` reads this user's successions of tools; `recent` are the tools of the turn before, the latest first,
        which a request may need again without naming them.
        """
        ends = time.monotonic() + self._settings.timeout
        (followed, missing), ranking = await asyncio.gather(
            self._read(follows, ends), self.router.rank(request, store, self._settings.timeout)
        )
        missing = ranking.missing | missing
        recent = [name for name in recent if name in self.routes]
        by: Literal["words", "semantic", "model"]
        picks = None
        if self._asker is not None and request.strip():
            candidates = [self.routes[name] for name in self._selected((), recent, ranking, _CANDIDATES)]
            question = picks_for(request, candidates, self._layers)
            try:
                picks = await self._asker.ask(question, max(ends - time.monotonic(), 0))
            except ExtractionError as error:
                log.warning("the small model does not choose: %s", error)
                missing = {**missing, "model": str(error)}
        if picks is not None:
            limit = min(self._settings.max_tools, len(picks.tools) + _RECENT + _INSURANCE)
            picked, layers, by = picks.tools, picks.layers, "model"
        else:
            limit = self._settings.max_tools
            best = [score for _, score in ranking.tools[:2]]
            is_clear = not ranking.missing and len(best) == 2 and best[0] - best[1] >= CLEAR
            picked, layers = (ranking.tools[0][0].name,) if is_clear else (), ranking.layers
            by = "words" if ranking.missing else "semantic"
        # where neither vectors nor words tell the tools apart, all are offered
        blind = bool(ranking.missing) and (not ranking.tools or ranking.tools[0][1] < _ENOUGH_WORDS)
        names = self._selected(picked, recent, ranking, limit) if self._narrows and not blind else None
        suggested = tuple(self._relations.suggestions(picked or recent[:1], followed, self._settings.max_suggestions))
        return Offer(
            tools=names,
            picked=picked,
            layers=layers,
            by="all" if names is None and by == "words" else by,
            suggestions=suggested,
            snapshot=picks is not None and picks.snapshot,
            missing=missing,
        )

    def _selected(self, picked: Sequence[str], recent: Sequence[str], ranking: Ranking, limit: int) -> tuple[str, ...]:
        """Return the picked tools, their requirements, the nearest ones, and a tool of the turn before."""
        nearest = [route.name for route, _ in ranking.tools]
        first = _unique([*picked, *self._relations.required([*picked, *nearest[:1]])])
        # a tool that is near by itself needs no such place
        sure = {*first, *nearest[: max(limit - _RECENT, 1)]}
        kept = [name for name in recent if name not in sure][:_RECENT]
        body = _unique([*first, *nearest])[: max(limit - len(kept), len(first))]
        return tuple(_unique([*body, *kept])[:limit])

    async def _read(self, follows: Awaitable[Follows] | None, ends: float) -> tuple[Follows, dict[str, str]]:
        if follows is None:
            return {}, {}
        try:
            async with asyncio.timeout(max(ends - time.monotonic(), 0)):
                return await follows, {}
        except Exception as error:  # whatever the store raises
            return {}, {"experience": f"what followed what is not known: {type(error).__name__}"}


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


FIND_TOOLS = "find_tools"
FOUND = "found_tools"
"""Artifact key of the tools that are offered from then on."""

_FOUND = 5
"""Tools of one answer."""

_MAX_NAMES = 300
"""Names that are listed where nothing is found."""


def make_find_tools(routes: dict[str, Route], router: Router, seconds: float) -> BaseTool:
    """Return the tool that finds an agent's hidden tools; `seconds` limits the embedder."""

    @tool(FIND_TOOLS, response_format="content_and_artifact")
    async def find_tools(query: str, runtime: ToolRuntime[Any, Any]) -> tuple[str, dict[str, list[str]]]:
        """Find more of your tools: you are shown only some of them. Use it when none of those does what is needed.

        Args:
            query: What the tool should do, or its name.
        """
        named = [name for name in routes if name.casefold() == query.strip().casefold()]
        ranking = await router.rank(query, runtime.store, seconds)
        # words that are not there say nothing, a vector always says something
        near = [route.name for route, score in ranking.tools[:_FOUND] if score > 0]
        found = list(dict.fromkeys([*named, *near]))[:_FOUND]
        if not found:
            names = ", ".join(list(routes)[:_MAX_NAMES])
            return f"Nothing is like that. These are all tools, find one by its name: {names}", {FOUND: []}
        lines = [f"- {name}: {first_sentence(routes[name].description)}" for name in found]
        return "\n".join(["You can now use:", *lines]), {FOUND: found}

    return find_tools
