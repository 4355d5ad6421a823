"""Ranking of tools and layers of memory for a request."""

from __future__ import annotations

import asyncio
import logging
import math
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore
from numpy.typing import NDArray

from react_mem.memory.language import MAX_INDEXED_CHARS, index_terms
from react_mem.memory.records import storable
from react_mem.memory.runtime import StepExperience, reference_questions
from react_mem.memory.turns import cause_of
from react_mem.tools.routing.routes import Route

# Requests and routes compared by their vectors, on a scale that is measured for each route.

_TITLE = 1.0
_ARGUMENTS = 0.3
_EXAMPLE = 0.25
"""Weights of a route's parts in its vector; the description has 1. Chosen with `benchmarks.routing`. Comparing each
example by itself, with the nearest one counting, costs 15 points of accuracy: short texts are near to every request,
above all in its language.
"""

_BATCH = 8
"""Texts of one embedding call: short ones, far within any provider's limit."""

PREPARING = "memory:routes"
"""Name of the task that embeds the routes."""

AFTER = 1.0
"""Seconds before embedding: the turn that starts it embeds its own question first."""

_AT_ONCE = 8
"""Concurrent embedding calls, one question each; more run into rate limits."""

_REST = 60.0
"""Seconds until a failed embedding is tried again."""

Vectors = NDArray[np.float64]
"""A unit vector a row."""

log = logging.getLogger(__name__)


class NotReady(Exception):  # noqa: N818 - nothing is wrong: the vectors are being made
    """The routes have no vectors yet."""


class RouteVectors:
    """Vectors of routes, made once, in the background.

    A score is the similarity of a request to a route above the similarity of other questions, in standard deviations,
    and so comparable for every embedder and route.
    """

    def __init__(self, routes: Sequence[Route], embeddings: Embeddings) -> None:
        self._routes = routes
        self._embeddings = embeddings
        self._compare: Callable[[Vectors], Vectors] | None = None
        self._not_before = 0.0
        self._problem = "tools and layers are not embedded yet"
        self._preparing: asyncio.Task[None] | None = None

    async def scores(self, text: str) -> list[float]:
        """Return a score for each route.

        Raises NotReady if there are no vectors yet, and starts their making; else any error of the embedder.
        """
        if self._compare is None:
            if time.monotonic() >= self._not_before and (self._preparing is None or self._preparing.done()):
                self._not_before = time.monotonic() + _REST
                self._preparing = asyncio.create_task(self._prepare(), name=PREPARING)
            raise NotReady(self._problem)
        [asked] = _units([await self._embeddings.aembed_query(_text(text))])
        scores: list[float] = self._compare(asked).tolist()
        return scores

    async def _prepare(self) -> None:
        await asyncio.sleep(AFTER)
        try:
            parts = [_parts(route) for route in self._routes]
            texts = list(dict.fromkeys(text for of_route in parts for text, _ in of_route))
            vectors: dict[str, Vectors] = {}
            for start in range(0, len(texts), _BATCH):
                batch = texts[start : start + _BATCH]
                vectors |= zip(batch, _units(await self._embeddings.aembed_documents(batch)), strict=True)
            questions: list[list[float]] = []
            asked = await asyncio.to_thread(reference_questions)
            for start in range(0, len(asked), _AT_ONCE):
                batch = asked[start : start + _AT_ONCE]
                questions += await asyncio.gather(*map(self._embeddings.aembed_query, batch))
            directions = _units([sum(weight * vectors[text] for text, weight in of_route) for of_route in parts])
            cosines = _units(questions) @ directions.T
            usual = cosines.mean(axis=0)
            spread = float(np.sqrt(np.square(cosines - usual).mean())) or 1.0
            self._compare = lambda asked: (directions @ asked - usual) / spread
        except Exception as error:  # whatever the provider's client raises; a later turn tries again
            self._problem = f"tools and layers could not be embedded: {type(error).__name__}"
            log.warning("tools are found by their words only, and no layer is: %s", cause_of(error))
            self._not_before = time.monotonic() + _REST


def _parts(route: Route) -> list[tuple[str, float]]:
    parts = [(route.description, 1.0), (route.title, _TITLE), (route.arguments, _ARGUMENTS)]
    return [(_text(text), weight) for text, weight in [*parts, *((e, _EXAMPLE) for e in route.examples)] if text]


def _text(text: str) -> str:
    return str(storable(text))[:MAX_INDEXED_CHARS]


def _units(vectors: Sequence[Any]) -> Vectors:
    found = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise ValueError("The embedding model returned a vector with a number that is not finite.")
    return found / np.where(lengths == 0, 1.0, lengths)


_K1 = 0.8
_B = 0.4
"""Parameters of BM25, chosen with `benchmarks.routing`: descriptions are short, so that term frequency and length say
little.
"""


class WordIndex:
    """BM25 index of the routes' names, descriptions, arguments and examples.

    >>> index = WordIndex([Route("play_music", "Play a song."), Route("lock_door", "Lock a door.")])
    >>> [score > 0 for score in index.scores("Which songs are there?")]
    [True, False]
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        texts = (" ".join([r.title, r.description, r.arguments, *r.examples]) for r in routes)
        documents = [Counter(index_terms(text)) for text in texts]
        self._size = len(documents)
        self._rarity = {term: self._idf(number) for term, number in Counter(chain.from_iterable(documents)).items()}
        self._found: dict[str, list[tuple[int, float]]] = {}
        average = sum(document.total() for document in documents) / max(self._size, 1) or 1.0
        for place, document in enumerate(documents):
            norm = _K1 * (1 - _B + _B * document.total() / average)
            for term, times in document.items():
                weight = self._rarity[term] * times * (_K1 + 1) / (times + norm)
                self._found.setdefault(term, []).append((place, weight))

    def scores(self, text: str) -> list[float]:
        """Return a score for each route: about 1 for all words of the request, 0 for none."""
        scores = [0.0] * self._size
        asked = set(index_terms(text))
        # a word that no route has counts as well: of a long request one word in common says little
        whole = sum(self._rarity.get(term) or self._idf(0) for term in asked)
        for term in asked:
            for place, weight in self._found.get(term, ()):
                scores[place] += weight / whole
        return scores

    def _idf(self, documents: int) -> float:
        return math.log(1 + (self._size - documents + 0.5) / (documents + 0.5))


VECTOR = "vector"
"""Key in `Ranking.missing` of a ranking by words alone."""

_WORDS = 2.0
"""Weight of words beside vectors: all words of a request are worth two standard deviations. Chosen with
`benchmarks.routing`, where 1 to 3 differ by a point.
"""

_LAYER_STANDS_OUT = 1.6
"""Standard deviations from which a request asks for a layer: nine in ten requests for a tool stay below."""


@dataclass(frozen=True)
class Ranking:
    """Tools with their scores, the best first, the needed layers, and failures: then scores are by words alone."""

    tools: Sequence[tuple[Route, float]]
    layers: tuple[str, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)


class Router:
    """Ranker of tools and layers of memory."""

    def __init__(self, tools: Sequence[Route], layers: Sequence[Route] = ()) -> None:
        self._tools = tools
        self._layers = layers
        self._words = WordIndex(tools)
        # an agent's graph may be given another store, and with it another embedder
        self._vectors: weakref.WeakKeyDictionary[BaseStore, RouteVectors] = weakref.WeakKeyDictionary()

    async def rank(self, text: str, store: BaseStore | None, seconds: float) -> Ranking:
        """Rank the tools and the layers for a request; never raises. Without a store, or in time, words decide."""
        words = self._words.scores(text)
        # a store with an embedder names it, as LangGraph's stores do
        embeddings: Embeddings | None = getattr(store, "embeddings", None)
        if store is None or embeddings is None:
            return Ranking(self._sorted(words), missing={VECTOR: "there is no embedding model"})
        if store not in self._vectors:
            self._vectors[store] = RouteVectors([*self._tools, *self._layers], embeddings)
        try:
            async with asyncio.timeout(seconds):
                vectors = await self._vectors[store].scores(text)
        except TimeoutError:
            cause = f"the embedding model did not answer within {seconds:.3g} seconds"
        except NotReady as error:
            cause = str(error)
        except Exception as error:  # whatever the provider's client raises
            cause = f"the request could not be embedded: {type(error).__name__}"
        else:
            scores = [vector + _WORDS * word for vector, word in zip(vectors, words, strict=False)]
            best = max(zip(vectors[len(words) :], self._layers, strict=True), key=itemgetter(0), default=None)
            layers = (best[1].name,) if best is not None and best[0] >= _LAYER_STANDS_OUT else ()
            return Ranking(self._sorted(scores), layers)
        return Ranking(self._sorted(words), missing={VECTOR: cause})

    def _sorted(self, scores: Sequence[float]) -> list[tuple[Route, float]]:
        return sorted(zip(self._tools, scores, strict=False), key=lambda pair: -pair[1])


MIN_FOLLOWED = 2
"""Minimal count of a succession; once may be chance."""

_DECLARED = 2
"""Count of a declared relation: contrary experience comes first."""

Follows = Mapping[str, Mapping[str, int]]
"""By tool: the tools called next in the same turn, with their counts."""


@dataclass(frozen=True)
class Suggestion:
    """A suggested next step after another tool; `times` is 0 for a declared relation alone."""

    tool: str
    text: str
    after: str
    times: int


def what_followed(steps: Iterable[StepExperience]) -> Follows:
    """Count the successions of tools in an agent's steps, in order; a failed step has no successor or predecessor."""
    found: dict[str, Counter[str]] = {}
    before: StepExperience | None = None
    for step in steps:
        same = before is not None and (before.session_id, before.source_ids) == (step.session_id, step.source_ids)
        if before is not None and same and step.tool != before.tool and before.success and step.success:
            found.setdefault(before.tool, Counter())[step.tool] += 1
        before = step
    return found


class Relations:
    """The relations of tools; relations to unknown tools are ignored."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = {route.name: route for route in routes}
        self._declared = {
            (before, route.name): _DECLARED for route in routes for before in route.after if before in self._routes
        }

    def required(self, names: Iterable[str]) -> list[str]:
        """Return the requirements of tools, indirect ones included."""
        found: dict[str, None] = {}
        waiting = list(names)
        while waiting:
            new = [n for n in self._routes[waiting.pop(0)].requires if n in self._routes and n not in found]
            found |= dict.fromkeys(new)
            waiting += new
        return list(found)

    def suggestions(self, names: Sequence[str], follows: Follows, limit: int) -> list[Suggestion]:
        """Return next steps after some tools, without these."""
        found: dict[str, Suggestion] = {}
        counted = sorted(self._counted(follows), key=lambda pair: -pair[1])
        for name in names:
            for tool in (later for (earlier, later), _ in counted if earlier == name):
                if tool not in names and tool not in found:
                    times = follows.get(name, {}).get(tool, 0)
                    about = first_sentence(self._routes[tool].description)
                    found[tool] = Suggestion(tool, about, name, times if times >= MIN_FOLLOWED else 0)
        return sorted(found.values(), key=lambda one: -one.times)[:limit]

    def _counted(self, follows: Follows) -> Iterable[tuple[tuple[str, str], int]]:
        """Return pairs of a tool and the next one, with their counts."""
        pairs = ((earlier, later, times) for earlier, found in follows.items() for later, times in found.items())
        known = self._routes.keys()
        seen = {(a, b): times for a, b, times in pairs if times >= MIN_FOLLOWED and {a, b} <= known}
        return (self._declared | seen).items()


def first_sentence(text: str) -> str:
    """Return the first sentence of a description.

    >>> first_sentence("Look up a word. Use it for rare ones.")
    'Look up a word.'
    """
    line = text.strip().partition("\n")[0]
    end = line.find(". ")
    return (line[: end + 1] if end >= 0 else line)[:200]
