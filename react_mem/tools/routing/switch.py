"""The choice of a turn: tools and layers by meaning and by words, relations, and the small model's word on them."""

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
from react_mem.tools.routing.tool_picker import Picks, picks_for

CLEAR = 0.75
"""Margin of the nearest tool from which it is what the request needs: then that is right in 82 of 100 requests
that are kept for choosing this (`benchmarks.routing`), and in 55 of all; 1.0 is right in 90."""

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
    """Choice of a turn: its tools, and the layers of memory it goes to.

    Args:
        tools: The names of the chosen tools, the most likely first; None for all there are.
        picked: Those that the request needs, as far as that is clear.
        layers: The layers of memory that it asks for; empty where none stands out.
        by: What decided.
        suggestions: Next steps.
        asked: Whether the model was called.
        snapshot: Whether the model says that the request closes or decides something.
        missing: What could not be asked, with the cause.
    """

    tools: tuple[str, ...] | None
    picked: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    by: Literal["all", "words", "semantic", "model"] = "all"
    suggestions: tuple[Suggestion, ...] = ()
    asked: bool = False
    snapshot: bool = False
    missing: dict[str, str] = field(default_factory=dict)


class Switch:
    """Chooses. Building reads files, so not on an event loop.

    Args:
        tools: All tools; none are as good as many, for the layers are a choice of their own.
        settings: How.
        models: The small model, then those that stand in for it; none where it cannot pick.
        layers: Whether the layers of memory are chosen as well.

    Raises:
        ToolConfigError: If the settings name a tool that there is not.
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
        """Choose, whatever fails: by one call of the model, or by what is nearest.

        Args:
            request: The request; where it has no words, there is nothing to ask a model.
            store: Whose embedder to use.
            follows: Reads what followed what for this user.
            recent: Tools that the turn before called, the latest first: a request may go on with them without saying
                so.
        """
        ends = time.monotonic() + self._settings.timeout
        (followed, missing), ranking = await asyncio.gather(
            self._read(follows, ends), self.router.rank(request, store, self._settings.timeout)
        )
        missing = ranking.missing | missing
        recent = [name for name in recent if name in self.routes]
        picks, asked = None, self._asker is not None and bool(request.strip())
        if self._asker is not None and asked:
            candidates = [self.routes[name] for name in self._selected((), recent, ranking, followed, _CANDIDATES)]
            question = picks_for(request, candidates, self._layers)
            try:
                picks = await self._asker.ask(question, max(ends - time.monotonic(), 0))
            except ExtractionError as error:
                log.warning("the small model does not choose: %s", error)
                missing = {**missing, "model": str(error)}
        if picks is not None:
            limit = min(self._settings.max_tools, len(picks.tools) + _PARTNERS + _INSURANCE)
            picked, layers = picks.tools, picks.layers
        else:
            limit = self._settings.max_tools
            picked, layers = self._clear(ranking), ranking.layers
        # where neither vectors nor words tell the tools apart, all are offered
        blind = bool(ranking.missing) and (not ranking.tools or ranking.tools[0][1] < _ENOUGH_WORDS)
        names = self._selected(picked, recent, ranking, followed, limit) if self._narrows and not blind else None
        suggested = tuple(self._relations.suggestions(picked or recent[:1], followed, self._settings.max_suggestions))
        return Offer(
            tools=names,
            picked=picked,
            layers=layers,
            by=self._decided(picks, ranking, names),
            suggestions=suggested,
            asked=asked,
            snapshot=picks is not None and picks.snapshot,
            missing=missing,
        )

    @staticmethod
    def _clear(ranking: Ranking) -> tuple[str, ...]:
        """Return the nearest tool where it is far enough ahead; nothing where words alone say so."""
        return (ranking.tools[0][0].name,) if not ranking.missing and ranking.margin >= CLEAR else ()

    @staticmethod
    def _decided(
        picks: Picks | None, ranking: Ranking, names: Sequence[str] | None
    ) -> Literal["all", "words", "semantic", "model"]:
        if picks is not None:
            return "model"
        if not ranking.missing:
            return "semantic"
        return "all" if names is None else "words"

    def _selected(
        self, picked: Sequence[str], recent: Sequence[str], ranking: Ranking, followed: Follows, limit: int
    ) -> tuple[str, ...]:
        """Return what is picked, what that requires, partners of the leaders, what was in use, and then the nearest."""
        nearest = [route.name for route, _ in ranking.tools]
        leaders = list(dict.fromkeys([*picked, *nearest[: max(_LEADERS - len(picked), 0)]]))
        first = _unique([*picked, *self._relations.required([*picked, *nearest[:1]])])
        partners = _unique(name for leader in leaders for name in self._relations.partners(leader, followed))
        # what is near by itself needs no place of a partner
        sure = {*first, *nearest[: max(limit - _PARTNERS, 1)]}
        kept = [name for name in _unique([*partners, *recent]) if name not in sure][:_PARTNERS]
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
