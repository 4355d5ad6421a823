"""The choice of a turn: candidates by meaning and by words, their relations, and the small model's word on them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.store.base import BaseStore

from react_mem.errors import ExtractionError
from react_mem.memory.runtime import Asker
from react_mem.tools.routing.layers import layer_routes
from react_mem.tools.routing.relations import Follows, Relations, Suggestion
from react_mem.tools.routing.router import Ranking, Router
from react_mem.tools.routing.routes import tool_routes
from react_mem.tools.routing.routing_settings import SwitchSettings
from react_mem.tools.routing.tool_picker import picks_for

CLEAR = 0.75
"""Margin of the nearest tool from which the small model is not asked: then it is right in 82 of 100 requests
that are kept for choosing this (`benchmarks.routing`), and in 55 of all. 1.0 is right in 90, and saves half as many
calls."""

_ENOUGH_WORDS = 0.3
"""Without vectors: the share of a request that a tool must have for words alone to choose. Even then what is needed is
among the nearest in 63 of 100 requests only, of all in 47; with vectors in 92."""

_CANDIDATES = 12
"""Tools that the small model picks from: in 94 of 100 requests what is needed is among them."""

_INSURANCE = 3
"""Of the nearest tools, offered beside what the small model picked: it may be wrong."""

_LEADERS = 3
"""The nearest tools, of which the partners are offered as well."""

_PARTNERS = 1
"""Places for them, and for what the turn before used. One costs no request the tool that it needs, two one of 160."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Offer:
    """Tools that a turn is offered.

    Args:
        tools: The names of the chosen tools, the most likely first; None for all there are.
        picked: Those that the request needs, as far as that is clear.
        layers: The layers of memory that it asks for.
        by: What decided.
        suggestions: Next steps.
        asked: Whether the model was called.
        missing: What could not be asked, with the cause.
    """

    tools: tuple[str, ...] | None
    picked: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    by: Literal["all", "words", "semantic", "model"] = "all"
    suggestions: tuple[Suggestion, ...] = ()
    asked: bool = False
    missing: dict[str, str] = field(default_factory=dict)


class Switch:
    """Chooses. Building reads files, so not on an event loop.

    Args:
        tools: All tools.
        settings: How.
        models: The small model, then those that stand in for it; none where it cannot pick.

    Raises:
        ToolConfigError: If the settings name a tool that there is not.
    """

    def __init__(
        self,
        tools: Sequence[BaseTool],
        settings: SwitchSettings,
        models: Sequence[BaseChatModel] = (),
    ) -> None:
        self.routes = {route.name: route for route in tool_routes(tools, settings)}
        self._layers = layer_routes()
        routes = list(self.routes.values())
        self.router = Router(routes, self._layers)
        self._settings = settings
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
        """Choose, whatever fails.

        Args:
            request: The request.
            store: Whose embedder to use.
            follows: Reads what followed what for this user.
            recent: Tools that the turn before called: a request may go on with them without saying so.
        """
        ends = time.monotonic() + self._settings.timeout
        (followed, unread), ranking = await asyncio.gather(
            self._read(follows, ends), self.router.rank(request, store, self._settings.timeout)
        )
        missing = ranking.missing | unread
        if ranking.missing and ranking.tools[0][1] < _ENOUGH_WORDS:
            return Offer(None, missing=missing)
        clear = not ranking.missing and ranking.margin >= CLEAR
        best = ranking.tools[0][0].name
        recent = [name for name in recent if name in self.routes]
        if clear or self._asker is None:
            picked = (best,) if clear else ()
            names = self._selected(picked, recent, ranking, followed, self._settings.max_tools)
            by: Literal["words", "semantic"] = "words" if ranking.missing else "semantic"
            return Offer(names, picked, ranking.layers, by, self._suggested(picked, followed), missing=missing)
        candidates = [self.routes[name] for name in self._selected((), recent, ranking, followed, _CANDIDATES)]
        try:
            picks = await self._asker.ask(picks_for(request, candidates, self._layers), max(ends - time.monotonic(), 0))
        except ExtractionError as error:
            log.warning("the small model picks no tool: %s", error)
            names = self._selected((), recent, ranking, followed, self._settings.max_tools)
            return Offer(names, (), ranking.layers, "semantic", asked=True, missing={**missing, "model": str(error)})
        limit = min(self._settings.max_tools, len(picks.tools) + _PARTNERS + _INSURANCE)
        names = self._selected(picks.tools, recent, ranking, followed, limit)
        suggested = self._suggested(picks.tools, followed)
        layers = picks.layers or ranking.layers
        return Offer(names, picks.tools, layers, "model", suggested, asked=True, missing=missing)

    def _selected(
        self, picked: Sequence[str], recent: Sequence[str], ranking: Ranking, followed: Follows, limit: int
    ) -> tuple[str, ...]:
        """Return what is picked, what that requires, partners of the leaders, what was in use, and then the nearest."""
        nearest = [route.name for route, _ in ranking.tools]
        leaders = list(dict.fromkeys([*picked, *nearest[: max(_LEADERS - len(picked), 0)]]))
        first = _unique([*picked, *self._relations.required([*picked, nearest[0]])])
        partners = _unique(name for leader in leaders for name in self._relations.partners(leader, followed))
        # what is near by itself needs no place of a partner
        sure = {*first, *nearest[: max(limit - _PARTNERS, 1)]}
        kept = [name for name in _unique([*partners, *recent]) if name not in sure][:_PARTNERS]
        body = _unique([*first, *nearest])[: max(limit - len(kept), len(first))]
        return tuple(_unique([*body, *kept])[:limit])

    def _suggested(self, picked: Sequence[str], followed: Follows) -> tuple[Suggestion, ...]:
        return tuple(self._relations.suggestions(picked, followed, self._settings.max_suggestions))

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
