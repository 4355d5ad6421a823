"""Requests and routes compared by their words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from react_mem.memory.language import index_terms
from react_mem.tools.routing.routes import Route

_K1 = 0.8
_B = 0.4
"""Of BM25. Chosen with the requests that are kept for it (`benchmarks.routing`): descriptions are short, and it says
little how often a word is in them, or how long they are."""


class WordIndex:
    """The words of routes: names, descriptions, arguments and examples.

    Args:
        routes: The routes.

    >>> index = WordIndex([Route("play_music", "Play a song."), Route("lock_door", "Lock a door.")])
    >>> [score > 0 for score in index.scores("Which songs are there?")]
    [True, False]
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        texts = (" ".join([r.title, r.description, r.arguments, *r.examples]) for r in routes)
        documents = [Counter(index_terms(text)) for text in texts]
        self._size = len(documents)
        self._rarity = {term: self._idf(number) for term, number in Counter(t for d in documents for t in d).items()}
        self._found: dict[str, list[tuple[int, float]]] = {}
        average = sum(document.total() for document in documents) / max(self._size, 1) or 1.0
        for place, document in enumerate(documents):
            norm = _K1 * (1 - _B + _B * document.total() / average)
            for term, times in document.items():
                weight = self._rarity[term] * times * (_K1 + 1) / (times + norm)
                self._found.setdefault(term, []).append((place, weight))

    def scores(self, text: str) -> list[float]:
        """Return how much of a request each route has: about 1 for one that has all its words, 0 for none of them.

        Args:
            text: The request.
        """
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
