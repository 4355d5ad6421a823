"""Requests and routes compared by their vectors, on a scale that is measured for each route."""

from __future__ import annotations

import asyncio
import logging
import math
import statistics
import time
from collections.abc import Sequence
from operator import mul

from langchain_core.embeddings import Embeddings

from react_mem.memory.language import MAX_INDEXED_CHARS
from react_mem.memory.records import storable
from react_mem.memory.runtime import reference_questions
from react_mem.memory.turns import cause_of
from react_mem.tools.routing.routes import Route

_TITLE = 1.0
_ARGUMENTS = 0.3
_EXAMPLE = 0.25
"""Weights of a route's parts in its vector, beside its description's 1. Chosen with the requests that are kept for
it (`benchmarks.routing`). Examples that are compared one by one, the nearest counting, cost 15 points of accuracy:
short texts are near to every request, and those in its language nearer still."""

_BATCH = 8
"""Texts a call: short ones, far within what any provider takes at once."""

PREPARING = "memory:routes"
"""Name of the task that makes vectors."""

AFTER = 1.0
"""Seconds: the turn that finds the vectors missing embeds its own question first."""

_AT_ONCE = 8
"""Questions are embedded one a call; more at once run into rate limits."""

_REST = 60.0
"""Seconds until what failed is tried again."""

Vector = list[float]

log = logging.getLogger(__name__)


class NotReady(Exception):  # noqa: N818 - nothing is wrong: the vectors are being made
    """The routes have no vectors yet."""


class RouteVectors:
    """The vectors of routes, made once, behind the turns.

    A score says how much nearer a request is to a route than other questions are, in standard deviations: whatever the
    embedder, and however near to everything a route is.

    Args:
        routes: The routes.
        embeddings: The embedder.
    """

    def __init__(self, routes: Sequence[Route], embeddings: Embeddings) -> None:
        self._routes = routes
        self._embeddings = embeddings
        self._directions: list[Vector] | None = None
        self._usual: list[float] = []
        self._spread = 1.0
        self._not_before = 0.0
        self._problem = ""
        self._preparing: asyncio.Task[None] | None = None

    async def scores(self, text: str) -> list[float]:
        """Return how near each route is to a request.

        Args:
            text: The request.

        Raises:
            NotReady: If there are no vectors yet; they are being made from now on.
            Exception: Whatever the embedder raises.
        """
        if self._directions is None:
            if time.monotonic() >= self._not_before and (self._preparing is None or self._preparing.done()):
                self._not_before = time.monotonic() + _REST
                self._preparing = asyncio.create_task(self._prepare(), name=PREPARING)
            raise NotReady(self._problem or "tools and layers are not embedded yet")
        asked = await self._embeddings.aembed_query(_text(text))
        # 160 tools take 3 ms with the local model's vectors, and 12 ms with OpenAI's
        return await asyncio.to_thread(self._compare, asked)

    def _compare(self, asked: Vector) -> list[float]:
        direction = _unit(asked)
        assert self._directions is not None  # noqa: S101 - narrows for the type checker
        return [
            (_cosine(direction, own) - usual) / self._spread
            for own, usual in zip(self._directions, self._usual, strict=True)
        ]

    async def _prepare(self) -> None:
        await asyncio.sleep(AFTER)
        try:
            parts = [part for route in self._routes for part in _parts(route)]
            texts = list(dict.fromkeys(text for text, _ in parts))
            vectors: dict[str, Vector] = {}
            for start in range(0, len(texts), _BATCH):
                batch = texts[start : start + _BATCH]
                made = await self._embeddings.aembed_documents(batch)
                vectors |= zip(batch, map(_unit, made), strict=True)
            questions: list[Vector] = []
            asked = await asyncio.to_thread(reference_questions)
            for start in range(0, len(asked), _AT_ONCE):
                batch = asked[start : start + _AT_ONCE]
                questions += await asyncio.gather(*map(self._embeddings.aembed_query, batch))
            directions = [_direction([(vectors[text], weight) for text, weight in _parts(r)]) for r in self._routes]
            await asyncio.to_thread(self._measure, directions, [_unit(vector) for vector in questions])
        except Exception as error:  # whatever the provider's client raises; a later turn tries again
            self._problem = f"tools and layers could not be embedded: {type(error).__name__}"
            log.warning("tools are found by their words only, and no layer is: %s", cause_of(error))
            self._not_before = time.monotonic() + _REST

    def _measure(self, directions: list[Vector], questions: Sequence[Vector]) -> None:
        cosines = [[_cosine(question, own) for question in questions] for own in directions]
        self._usual = [statistics.fmean(of_route) for of_route in cosines]
        around = (c - usual for of_route, usual in zip(cosines, self._usual, strict=True) for c in of_route)
        self._spread = math.sqrt(statistics.fmean(distance**2 for distance in around)) or 1.0
        self._directions = directions


def _parts(route: Route) -> list[tuple[str, float]]:
    """Return the texts of a route that are embedded, with what they count."""
    parts = [(route.description, 1.0), (route.title, _TITLE), (route.arguments, _ARGUMENTS)]
    return [(_text(text), weight) for text, weight in [*parts, *((e, _EXAMPLE) for e in route.examples)] if text]


def _text(text: str) -> str:
    return str(storable(text))[:MAX_INDEXED_CHARS]


def _direction(weighted: Sequence[tuple[Vector, float]]) -> Vector:
    return _unit([sum(weight * vector[i] for vector, weight in weighted) for i in range(len(weighted[0][0]))])


def _unit(vector: Sequence[float]) -> Vector:
    length = math.hypot(*vector)
    if not math.isfinite(length):
        raise ValueError("The embedding model returned a vector with a number that is not finite.")
    return [part / (length or 1.0) for part in vector]


def _cosine(one: Vector, other: Vector) -> float:
    return float(sum(map(mul, one, other)))
