"""Cosines of texts with a question: roughly for all, exactly for those that they decide about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from react_mem.memory.index.half_precision import (
    Floats,
    Rows,
    cosines,
    in_half_precision,
    products_between,
    squared_lengths,
)
from react_mem.memory.index.texts import IndexedTexts

ROUNDING = 1e-5
"""More than a cosine in single precision is off, in whatever order it is added up."""

_TIED = 512
"""Texts that are compared exactly because they cannot be told from the last that is proposed; of more, any may be."""


_CROWD = 10
"""Neighbours of a text among those that are near to the question, by which its crowd is measured."""


class KnownCosines:
    """Cosines of texts with a question.

    Args:
        texts: The index.
        rough: By the text's number, with the rounding of single precision; NaN where there is none. None for none.
    """

    def __init__(self, texts: IndexedTexts, rough: Floats | None = None) -> None:
        self.texts = texts
        self.rough = np.full(texts.size, np.nan) if rough is None else rough

    def exact(self, wanted: Rows) -> Floats:
        """Return the cosines of some texts, the same for the same vectors."""
        return self.rough[wanted]

    def nearest(self, among: Rows, count: int, least: float = -np.inf) -> Rows:
        """Return the texts that are nearest, in the order in which they are given; those without a cosine come last.

        Args:
            among: The texts to choose from; of equals at the end the first.
            count: How many.
            least: The least cosine; where there is one, all have a cosine.
        """
        rough = lowest_unknown(self.rough[among])
        surely = least + ROUNDING
        if len(among) > count:
            last = np.partition(rough, len(rough) - count)[len(rough) - count]
            near = np.flatnonzero(rough >= last - 2 * ROUNDING)
            if len(near) > count + _TIED:
                near = near[highest(rough[near], count + _TIED)]
            among, rough = among[near], rough[near]
            if len(among) > count:
                surely = max(surely, last + 2 * ROUNDING)
        taken = rough > surely
        # roughly known, the others are on either side of what decides
        doubtful = np.flatnonzero(~taken)
        if len(doubtful):
            exact = self.exact(among[doubtful])
            far = exact < least
            doubtful, exact = doubtful[~far], lowest_unknown(exact[~far])
            taken[doubtful[np.argsort(-exact, kind="stable")[: count - np.count_nonzero(taken)]]] = True
        return among[taken]

    def crowding(self, wanted: Rows, near: Rows) -> Floats:
        """Return how near some texts are to what is near to the question, beside what those are to each other in the
        mean; nothing where the texts' own vectors are not known.

        Args:
            wanted: The texts.
            near: Those that are nearest to the question.
        """
        return np.zeros(len(wanted))


class VectorCosines(KnownCosines):
    """Cosines of texts with a vector, exact as the database has them; several recalls may ask for them in turn.

    Args:
        texts: The index.
        vector: The vector.
    """

    def __init__(self, texts: IndexedTexts, vector: Sequence[float] | NDArray[np.float32]) -> None:
        super().__init__(texts)
        self._vector = in_half_precision(vector)
        [self._square] = squared_lengths(self._vector[np.newaxis])
        self.rough = cosines(texts.products(self._vector), texts.squares, self._square)
        self._is_exact = np.zeros(texts.size, dtype=bool)

    def exact(self, wanted: Rows) -> Floats:
        """Return the cosines of some texts to the bit as the database has them, the same for the same vectors."""
        missing = wanted[~self._is_exact[wanted]]
        if len(missing):
            self.rough[missing] = self._compared(missing)
            self._is_exact[missing] = True
        return self.rough[wanted]

    def crowding(self, wanted: Rows, near: Rows) -> Floats:
        """Return how near some texts are to what is near to the question; nothing for one without a vector."""
        near = near[self.texts.squares[near] > 0]
        count = min(_CROWD, len(near) - 1)
        if count < 1:
            return np.zeros(len(wanted))
        rows = np.concatenate([wanted, near])
        products = products_between(self.texts.vectors(rows), self.texts.vectors(near))
        squares = self.texts.squares
        with np.errstate(invalid="ignore", divide="ignore"):
            between = products / np.sqrt(squares[rows][:, np.newaxis] * squares[near])
        between[rows[:, np.newaxis] == near] = -np.inf
        # rounded, since the place of a row decides the last bits
        found = np.round(np.partition(between, -count, axis=1)[:, -count:].mean(axis=1, dtype=np.float64), 5)
        found -= found[len(wanted) :].mean()
        return np.where(squares[wanted] > 0, found[: len(wanted)], 0.0)

    def _compared(self, wanted: Rows) -> Floats:
        products = self.texts.exact_products(wanted, self._vector)
        return cosines(products, self.texts.squares[wanted], self._square)


def highest(scores: Floats, count: int) -> Rows:
    """Return the places of the highest scores, in no order; of equals at the end the first.

    Args:
        scores: The scores.
        count: How many.
    """
    if len(scores) <= count:
        return np.arange(len(scores))
    last = np.partition(scores, len(scores) - count)[len(scores) - count]
    above = np.flatnonzero(scores > last)
    return np.concatenate([above, np.flatnonzero(scores == last)[: count - len(above)]])


def lowest_unknown(cosine: Floats) -> Floats:
    """Return cosines, and less than any where there is none."""
    return np.where(np.isnan(cosine), -np.inf, cosine)
