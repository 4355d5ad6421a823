"""What was recalled, as it is shown: near-repetitions last, and a message with the one that belongs to it."""

from __future__ import annotations

from collections.abc import Sequence

from memory.interface import Fragment
from memory.retrieval.recall import Recalled
from memory.retrieval.words import terms

NEARLY_THE_SAME = 0.8
"""The share of words that two texts have in common from which the second says nothing new."""


def distinct(found: Sequence[Recalled]) -> list[Recalled]:
    """Move what repeats something better behind everything that does not; nothing is dropped.

    Args:
        found: What was recalled, the best first.
    """
    kept: list[tuple[Recalled, frozenset[str]]] = []
    repeated: list[Recalled] = []
    for one in found:
        said = frozenset(terms(_text(one)))
        if said and any(len(said & other) > NEARLY_THE_SAME * len(said | other) for _, other in kept):
            repeated.append(one)
        else:
            kept.append((one, said))
    return [*(one for one, _ in kept), *repeated]


def fragments(recalled: Recalled) -> tuple[Fragment, ...]:
    """Return the texts of a memory in the order in which they were said.

    Args:
        recalled: A message with its partner, or any other memory.
    """
    role = str(recalled.item.value.get("role", ""))
    own = Fragment(id=recalled.item.key, role=role, content=_text(recalled))
    if recalled.partner is None:
        return (own,)
    other = Fragment(
        id=recalled.partner["id"], role=recalled.partner["role"] or "", content=recalled.partner["text"] or ""
    )
    return (own, other) if role == "user" else (other, own)


def _text(recalled: Recalled) -> str:
    return recalled.passage or str(recalled.item.value.get("text", ""))
