"""Results of a search over an index: entries in order, each with what the arms contributed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from react_mem.memory.index.chunks import MAX_CHUNKS
from react_mem.memory.index.entries import mark, term_number
from react_mem.memory.index.half_precision import Floats, Rows
from react_mem.memory.index.segments import NO_PLACE
from react_mem.memory.index.texts import IndexedTexts
from react_mem.memory.model.arms import Arm
from react_mem.memory.model.records import Role

_PARTNER_PIECES = 2 * MAX_CHUNKS
"""Pieces within which the answer to a message is looked for, or its question: beyond the rest of a long message and
another one it belongs to something else."""

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
    """

    texts: Rows
    cosines: Floats
    vector: Floats
    lexical: Floats
    around: Floats
    speaker: Floats
    said: Floats


@dataclass(frozen=True)
class Hit:
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
    """

    def __init__(self, texts: IndexedTexts, parts: Parts | None = None) -> None:
        self._texts = texts
        self._parts = parts

    def __iter__(self) -> Iterator[Hit]:
        """Yield what was found; each costs some microseconds, and as many are wanted as are asked for."""
        if self._parts is None:
            return
        _, _, vector, lexical, around, speaker, said = self._parts
        scores = lexical + vector + around + speaker + said
        order = np.argsort(-scores, kind="stable")
        seen: set[str] = set()
        equals: list[Hit] = []
        for number in order.tolist():
            score = float(scores[number])
            if equals and equals[0].score != score:
                yield from _first_of_each(equals, seen)
                equals = []
            equals.append(self._hit(number, score))
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
            first = int(np.searchsorted(places, place, side="right"))
            end = int(np.searchsorted(places, place | _CONVERSATION, side="right"))
            numbers = range(first, min(end, first + _PARTNER_PIECES))
        else:
            last = int(np.searchsorted(places, place))
            start = int(np.searchsorted(places, place & ~_CONVERSATION))
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
        numbers = np.array([term_number(mark("role", role)) for role in _ROLES[1:]], dtype=np.int32)
        roles = np.zeros(self._texts.size, dtype=np.int8)
        for number, having in enumerate(self._texts.texts_with(numbers), start=1):
            roles[having] = number
        return roles

    def _hit(self, number: int, score: float) -> Hit:
        assert self._parts is not None  # noqa: S101 - its numbers are those of its parts
        parts = self._parts
        text, cosine = int(parts.texts[number]), float(parts.cosines[number])
        arms = {
            Arm.VECTOR: float(parts.vector[number]),
            Arm.LEXICAL: float(parts.lexical[number]),
            Arm.WINDOW: float(parts.around[number]),
            Arm.SPEAKER: float(parts.speaker[number]),
            Arm.TIME: float(parts.said[number]),
        }
        key, field_name = self._texts.key(text), self._texts.field_name(text)
        return Hit(text, key, field_name, score, arms, None if np.isnan(cosine) else cosine)


def _first_of_each(equals: list[Hit], seen: set[str]) -> Iterator[Hit]:
    for hit in sorted(equals, key=lambda hit: (hit.key, hit.field_name)):
        if hit.key not in seen:
            seen.add(hit.key)
            yield hit
