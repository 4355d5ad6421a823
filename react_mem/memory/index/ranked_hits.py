"""Results of a search over an index: entries in order, each with what the arms contributed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import isnan
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from react_mem.memory.index.entries import MAX_CHUNKS, mark, term_number
from react_mem.memory.index.half_precision import (
    Floats,
    Rows,
    cosines,
    in_half_precision,
    products_between,
    squared_lengths,
)
from react_mem.memory.index.segments import NO_PLACE
from react_mem.memory.index.texts import IndexedTexts
from react_mem.memory.model.interface import Arm
from react_mem.memory.model.records import Role

_PARTNER_PIECES = 2 * MAX_CHUNKS
"""Pieces within which the answer to a message is looked for, or its question: beyond the rest of a long message and
another one it belongs to something else."""

_ARMS = (Arm.VECTOR, Arm.LEXICAL, Arm.WINDOW, Arm.SPEAKER, Arm.TIME, Arm.STANDING, Arm.HUB)
"""The arms that contribute, in the order of the columns that say what."""

_ROLES = ("", *get_args(Role))
_USER = _ROLES.index("user")

_CONVERSATION = 0xFFFF_FFFF
"""The bits of a place that are within one conversation."""


class Parts(NamedTuple):
    """Texts that are scored, and what each arm contributes, as columns.

    Args:
        texts: Their numbers.
        cosines: Their cosines; NaN where there is none.
        vector: What the vector arm contributes.
        lexical: What words do.
        around: What the neighbours do.
        speaker: What being said by somebody does.
        said: What the time does.
        standing: What being a standing instruction or preference does.
        hub: What being near to much else that was proposed takes away.
    """

    texts: Rows
    cosines: Floats
    vector: Floats
    lexical: Floats
    around: Floats
    speaker: Floats
    said: Floats
    standing: Floats
    hub: Floats


class Hit(NamedTuple):
    """The best entry of an item that was found.

    Args:
        text: Its number in the index.
        key: The item's key.
        field_name: Which of the item's texts it is, and which piece of it.
        score: The sum of the arms' parts.
        arms: What each arm contributed.
        cosine: The cosine of its vector and the question's; None where there is none.
    """

    text: int
    key: str
    field_name: str
    score: float
    arms: dict[Arm, float]
    cosine: float | None


class RankedHits:
    """Items that were found, the best first: each once, with its best entry; of equals the first by key.

    Args:
        texts: The index.
        parts: What was scored; None where there is nothing.

    Attributes:
        parts: The same.
    """

    def __init__(self, texts: IndexedTexts, parts: Parts | None = None) -> None:
        self._texts = texts
        self.parts = parts

    def __iter__(self) -> Iterator[Hit]:
        """Yield what was found; each costs some microseconds, and as many are wanted as are asked for."""
        if self.parts is None:
            return
        _, _, *parts = self.parts
        scores = np.sum(parts, axis=0)
        order = np.argsort(-scores, kind="stable")
        seen: set[str] = set()
        equals: list[Hit] = []
        for score, *row in zip(*(column[order].tolist() for column in (scores, *self.parts)), strict=True):
            if equals and equals[0].score != score:
                yield from _first_of_each(equals, seen)
                equals = []
            equals.append(self._hit(score, *row))
        yield from _first_of_each(equals, seen)

    def partners(self, hit: Hit) -> list[str]:
        """Return the keys of what may belong to a message: the answer to the user's, what anybody else's answers.

        The first whose record has another role is the one. Mostly there is one; what the index does not know the role
        of comes before it.

        Args:
            hit: The message's entry.
        """
        texts, roles, place = self._texts, self._roles, int(self._texts.places[hit.text])
        role = int(roles[hit.text])
        if not role or place == NO_PLACE:
            return []
        places = texts.ordered_places
        if role == _USER:
            first, end = places.searchsorted((place, place | _CONVERSATION), side="right").tolist()
            numbers = range(first, min(end, first + _PARTNER_PIECES))
        else:
            start, last = places.searchsorted((place & ~_CONVERSATION, place)).tolist()
            numbers = range(last - 1, max(start, last - _PARTNER_PIECES) - 1, -1)
        found: dict[str, None] = {}
        for number in numbers:
            other = int(texts.order[number])
            if roles[other] != role:
                found[texts.key(other)] = None
                if roles[other]:
                    break
        return list(found)

    @cached_property
    def _roles(self) -> NDArray[np.int8]:
        """The role of each text, by its number in `_ROLES`; 0 where it is not known."""
        roles = np.zeros(self._texts.size, dtype=np.int8)
        for number, role in enumerate(_ROLES[1:], start=1):
            roles[self._texts.marked(term_number(mark("role", role)))] = number
        return roles

    def _hit(self, score: float, text: int, cosine: float, *parts: float) -> Hit:
        key, field_name = self._texts.key(text), self._texts.field_name(text)
        return Hit(
            text, key, field_name, score, dict(zip(_ARMS, parts, strict=True)), None if isnan(cosine) else cosine
        )


def _first_of_each(equals: list[Hit], seen: set[str]) -> Iterator[Hit]:
    if len(equals) > 1:
        equals.sort(key=lambda hit: (hit.key, hit.field_name))
    for hit in equals:
        if hit.key not in seen:
            seen.add(hit.key)
            yield hit


# Cosines of texts with a question: roughly for all, exactly for those that they decide about.

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
