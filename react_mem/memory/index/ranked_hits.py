"""Ranked results of an index search, each with the contribution of every arm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import isnan
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from react_mem.memory.index.entries import MAX_CHUNKS, mark, term_number
from react_mem.memory.index.texts import (
    NO_PLACE,
    Floats,
    IndexedTexts,
    Rows,
    cosines,
    in_half_precision,
    products_between,
    squared_lengths,
)
from react_mem.memory.model.interface import Arm
from react_mem.memory.model.records import Role

_PARTNER_PIECES = 2 * MAX_CHUNKS
"""Pieces between a message and its partner: beyond a long rest of each, the other message belongs elsewhere."""

_ROLES = ("", *get_args(Role))
_USER = _ROLES.index("user")

_CONVERSATION = 0xFFFF_FFFF
"""Bits of a place within one conversation."""


class Parts(NamedTuple):
    """Scored texts by number, with their cosines (NaN for none) and the contributions of each arm."""

    texts: Rows
    cosines: Floats
    arms: dict[Arm, Floats]


class Hit(NamedTuple):
    """The best entry of a found item: its number in the index, and the score as the sum of the arms."""

    text: int
    key: str
    field_name: str
    score: float
    arms: dict[Arm, float]
    cosine: float | None


class RankedHits:
    """Found items in descending order, each once by its best entry, ties by key; of no parts none."""

    def __init__(self, texts: IndexedTexts, parts: Parts | None = None) -> None:
        self._texts = texts
        self.parts = parts

    def __iter__(self) -> Iterator[Hit]:
        """Yield the hits lazily; each costs some microseconds."""
        if self.parts is None:
            return
        texts, cosines, arms = self.parts
        scores = np.sum(list(arms.values()), axis=0)
        order = np.argsort(-scores, kind="stable")
        seen: set[str] = set()
        equals: list[Hit] = []
        columns = (column[order].tolist() for column in (scores, texts, cosines, *arms.values()))
        for score, text, cosine, *parts in zip(*columns, strict=True):
            if equals and equals[0].score != score:
                yield from _first_of_each(equals, seen)
                equals = []
            key, field_name = self._texts.key(text), self._texts.field_name(text)
            made = dict(zip(arms, parts, strict=True))
            equals.append(Hit(text, key, field_name, score, made, None if isnan(cosine) else cosine))
        yield from _first_of_each(equals, seen)

    def partners(self, hit: Hit) -> list[str]:
        """Return candidate keys for a message's partner: the answer to the user's, or else the question before.

        The first candidate with another role is the partner. Mostly there is one; candidates of unknown role come
        before it.
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
        """The role of each text, as an index into `_ROLES`; 0 for unknown."""
        roles = np.zeros(self._texts.size, dtype=np.int8)
        for number, role in enumerate(_ROLES[1:], start=1):
            roles[self._texts.marked(term_number(mark("role", role)))] = number
        return roles


def _first_of_each(equals: list[Hit], seen: set[str]) -> Iterator[Hit]:
    if len(equals) > 1:
        equals.sort(key=lambda hit: (hit.key, hit.field_name))
    for hit in equals:
        if hit.key not in seen:
            seen.add(hit.key)
            yield hit


# Cosines of texts with a question.

_CROWD = 10
"""Neighbours of a text, among those near the question, in its hubness."""


class KnownCosines:
    """Given cosines of texts with a question, by text number in single precision; NaN, or None for all, is none."""

    def __init__(self, texts: IndexedTexts, cosines: Floats | None = None) -> None:
        self.texts = texts
        self.cosines = np.full(texts.size, np.nan) if cosines is None else cosines

    def nearest(self, among: Rows, count: int) -> Rows:
        """Return the nearest texts in their given order, those without a cosine last; of ties the first."""
        return among[np.sort(highest(lowest_unknown(self.cosines[among]), count))]

    def crowding(self, wanted: Rows, near: Rows) -> Floats:
        """Return the hubness of texts: zero without their vectors."""
        return np.zeros(len(wanted))


class VectorCosines(KnownCosines):
    """Cosines of texts with a vector; several recalls may share them, in turn."""

    def __init__(self, texts: IndexedTexts, vector: Sequence[float] | NDArray[np.float32]) -> None:
        asked = in_half_precision(vector)
        [square] = squared_lengths(asked[np.newaxis])
        super().__init__(texts, cosines(texts.products(asked), texts.squares, square))

    def crowding(self, wanted: Rows, near: Rows) -> Floats:
        """Return the hubness of texts: their mean cosine with their nearest neighbours among `near`, above the mean
        hubness of `near` itself; zero without a vector.
        """
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


def highest(scores: Floats, count: int) -> Rows:
    """Return the positions of the highest scores, unordered; ties at the cut keep the first."""
    if len(scores) <= count:
        return np.arange(len(scores))
    last = np.partition(scores, len(scores) - count)[len(scores) - count]
    above = np.flatnonzero(scores > last)
    return np.concatenate([above, np.flatnonzero(scores == last)[: count - len(above)]])


def lowest_unknown(cosine: Floats) -> Floats:
    return np.where(np.isnan(cosine), -np.inf, cosine)
