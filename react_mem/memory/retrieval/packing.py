"""Order of what was recalled: near-duplicates last, and a message with the one that belongs to it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from react_mem.memory.index.recall import RecallHit
from react_mem.memory.language import denial_of
from react_mem.memory.language.statements import is_question
from react_mem.memory.language.terms import index_terms
from react_mem.memory.language.text import normalise
from react_mem.memory.model.interface import Fragment

NEARLY_THE_SAME = 0.8
"""The share of words that two texts have in common from which the second says nothing new."""


class _Features:
    """Features of a text for deduplication: its words, and what makes two with the same words say different things.

    "I like tea" neither repeats "Do I like tea?" nor "I don't like tea", nor does "at 5" repeat "at 6". What is about
    one person does not repeat what is about another.
    """

    def __init__(self, found: RecallHit) -> None:
        self._text = text = found.text
        self._about = normalise(str(found.item.value.get("about") or ""))
        self._words = frozenset(index_terms(text))

    @cached_property
    def _kind(self) -> tuple[frozenset[str], bool, bool]:
        # only few texts share so many words that this has to be known
        numbers = frozenset(term for term in self._words if any(map(str.isdigit, term)))
        return numbers, bool(denial_of(self._text)), is_question(self._text)

    def repeats(self, other: _Features) -> bool:
        if self._about and other._about and self._about != other._about:
            return False
        shared = len(self._words & other._words)
        if shared <= NEARLY_THE_SAME * (len(self._words) + len(other._words) - shared):
            return False
        return self._kind == other._kind


def distinct(found: Sequence[RecallHit], wanted: int) -> list[RecallHit]:
    """Move what repeats something better behind everything that does not; nothing is dropped.

    Args:
        found: What was recalled, the best first.
        wanted: How many are looked at, at most: once there are so many that repeat nothing, the rest stays as it is.
    """
    kept: list[tuple[RecallHit, _Features]] = []
    repeated: list[RecallHit] = []
    for place, one in enumerate(found):
        if len(kept) == wanted:
            return [*(one for one, _ in kept), *found[place:], *repeated]
        said = _Features(one)
        if any(said.repeats(other) for _, other in kept):
            repeated.append(one)
        else:
            kept.append((one, said))
    return [*(one for one, _ in kept), *repeated]


def fragments(recalled: RecallHit) -> tuple[Fragment, ...]:
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
