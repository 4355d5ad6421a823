"""What was recalled, as it is shown: near-repetitions last, and a message with the one that belongs to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memory.interface import Fragment
from memory.retrieval.recall import Recalled
from memory.retrieval.words import fold, terms
from memory.statements import is_question

NEARLY_THE_SAME = 0.8
"""The share of words that two texts have in common from which the second says nothing new."""


_DENIES = re.compile(r"\b(?:no|not|never|none|nobody|nothing|neither|nor|without|cannot|khong|chua|chang)\b|n['’]t\b")


@dataclass(frozen=True)
class _Said:
    """What a text says: the words it shares with another, and what makes two with the same words say different things.

    "I like tea" neither repeats "Do I like tea?" nor "I don't like tea", nor does "at 5" repeat "at 6".
    """

    words: frozenset[str]
    numbers: frozenset[str]
    denies: bool
    asks: bool

    def repeats(self, other: _Said) -> bool:
        if (self.numbers, self.denies, self.asks) != (other.numbers, other.denies, other.asks):
            return False
        return len(self.words & other.words) > NEARLY_THE_SAME * len(self.words | other.words)


def distinct(found: Sequence[Recalled]) -> list[Recalled]:
    """Move what repeats something better behind everything that does not; nothing is dropped.

    Args:
        found: What was recalled, the best first.
    """
    kept: list[tuple[Recalled, _Said]] = []
    repeated: list[Recalled] = []
    for one in found:
        said = _said(one.text)
        if any(said.repeats(other) for _, other in kept):
            repeated.append(one)
        else:
            kept.append((one, said))
    return [*(one for one, _ in kept), *repeated]


def _said(text: str) -> _Said:
    found = frozenset(terms(text))
    numbers = frozenset(term for term in found if any(map(str.isdigit, term)))
    return _Said(found, numbers, denies=bool(_DENIES.search(fold(text))), asks=is_question(text))


def fragments(recalled: Recalled) -> tuple[Fragment, ...]:
    """Return the texts of a memory in the order in which they were said.

    Args:
        recalled: A message with its partner, or any other memory.
    """
    role = str(recalled.item.value.get("role", ""))
    own = Fragment(id=recalled.item.key, role=role, content=recalled.text)
    if recalled.partner is None:
        return (own,)
    other = Fragment(
        id=recalled.partner["id"], role=recalled.partner["role"] or "", content=recalled.partner["text"] or ""
    )
    return (own, other) if role == "user" else (other, own)
