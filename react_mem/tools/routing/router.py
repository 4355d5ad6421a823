"""Tools and layers of memory in the order in which a request seems to need them."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore

from react_mem.tools.routing.route_vectors import NotReady, RouteVectors
from react_mem.tools.routing.routes import Route
from react_mem.tools.routing.words import WordIndex

VECTOR = "vector"
"""Label of a ranking by words alone."""

_WORDS = 2.0
"""Weight of words beside vectors: a request of which a route has every word is as good as two standard deviations.
Chosen with the requests that are kept for it (`benchmarks.routing`), where 1 to 3 differ by a point."""

_LAYER_STANDS_OUT = 1.6
"""Standard deviations from which a layer is what a request asks for: nine in ten requests for a tool stay below."""


@dataclass(frozen=True)
class Ranking:
    """Ranking of tools for a request.

    Args:
        tools: The tools with their scores, the best first.
        layers: The layers of memory that it asks for, if any.
        missing: What could not be compared, with the cause; then the scores are those of words alone.
    """

    tools: Sequence[tuple[Route, float]]
    layers: tuple[str, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def margin(self) -> float:
        """Return how far ahead the best tool is; 0 where there is none to be ahead of."""
        scores = [score for _, score in self.tools[:2]]
        return scores[0] - scores[1] if len(scores) == 2 else 0.0


class Router:
    """Ranks.

    Args:
        tools: The routes of tools.
        layers: The routes of layers of memory.
    """

    def __init__(self, tools: Sequence[Route], layers: Sequence[Route] = ()) -> None:
        self._tools = tools
        self._layers = layers
        self._words = WordIndex(tools)
        # an agent's graph may be given another store, and with it another embedder
        self._vectors: weakref.WeakKeyDictionary[BaseStore, RouteVectors] = weakref.WeakKeyDictionary()

    async def rank(self, text: str, store: BaseStore | None, seconds: float) -> Ranking:
        """Rank the tools and the layers for a request, whatever fails.

        Args:
            text: The request.
            store: Whose embedder to use; without one, words decide.
            seconds: How long the embedder may take.
        """
        words = self._words.scores(text)
        try:
            vectors = await self._compare(text, store, seconds)
        except TimeoutError:
            cause = f"the embedding model did not answer within {seconds:.3g} seconds"
        except NotReady as error:
            cause = str(error)
        except Exception as error:  # whatever the provider's client raises
            cause = f"the request could not be embedded: {type(error).__name__}"
        else:
            scores = [vector + _WORDS * word for vector, word in zip(vectors, words, strict=False)]
            return Ranking(self._sorted(scores), self._standing_out(vectors[len(words) :]))
        return Ranking(self._sorted(words), missing={VECTOR: cause})

    async def _compare(self, text: str, store: BaseStore | None, seconds: float) -> list[float]:
        # a store that embeds says with what, as those of LangGraph do
        embeddings: Embeddings | None = getattr(store, "embeddings", None)
        if store is None or embeddings is None:
            raise NotReady("there is no embedding model")
        if store not in self._vectors:
            self._vectors[store] = RouteVectors([*self._tools, *self._layers], embeddings)
        async with asyncio.timeout(seconds):
            return await self._vectors[store].scores(text)

    def _sorted(self, scores: Sequence[float]) -> list[tuple[Route, float]]:
        return sorted(zip(self._tools, scores, strict=False), key=lambda pair: -pair[1])

    def _standing_out(self, scores: Sequence[float]) -> tuple[str, ...]:
        best = max(zip(scores, self._layers, strict=True), key=lambda pair: pair[0], default=None)
        return (best[1].name,) if best is not None and best[0] >= _LAYER_STANDS_OUT else ()
