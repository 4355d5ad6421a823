"""Candidate pairs of entity resolution: concepts alike by letters, initials or a part of a name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from react_mem.memory.language.names import (
    grams,
    is_initials,
    is_marked,
    is_part,
    joined,
    likeness,
    name_key,
    numbers,
    spelling,
)
from react_mem.memory.model.concepts import Alias, Concept

_ALIKE = 0.5
"""Schwarzenegger and Schwarzeneger: 0.75; Christina and Christine: 0.6; Katherine and Catherine Johnson: 0.6."""

_COMMON = 50
"""Names that may share three letters before these say nothing: more would be compared each with each."""


@dataclass(frozen=True)
class Candidate:
    """Two concepts that may be one.

    Args:
        one: A concept.
        other: Another one.
        strength: How much speaks for it, from 0 to 1.
    """

    one: Concept
    other: Concept
    strength: float


def candidates(concepts: Collection[Concept]) -> list[Candidate]:
    """Return the pairs about which there is doubt, the strongest first. Compute only: a second for thousands.

    Args:
        concepts: All concepts of a user.
    """
    found = {(pair.one.id, pair.other.id): pair for pair in initials(concepts)}
    for one, other in _pairs(concepts):
        if (one.id, other.id) not in found and (strength := _strength(one, other)) >= _ALIKE and may_be_one(one, other):
            found[one.id, other.id] = Candidate(one, other, strength)
    return sorted(found.values(), key=lambda pair: (-pair.strength, pair.one.id, pair.other.id))


def initials(concepts: Collection[Concept]) -> list[Candidate]:
    """Return the pairs of which a name of one is the initials of one of the other.

    Args:
        concepts: All concepts of a user.
    """
    short: defaultdict[str, list[tuple[Alias, Concept]]] = defaultdict(list)
    long: defaultdict[str, list[tuple[Alias, Concept]]] = defaultdict(list)
    for concept in concepts:
        for alias in concept.aliases:
            words = name_key(alias.name).split()
            if len(words) == 1:
                short[joined(words[0])].append((alias, concept))
            else:
                long["".join(word[0] for word in words)].append((alias, concept))
    found: dict[tuple[str, str], Candidate] = {}
    for letters, named in short.items():
        for (alias, concept), (other, whose) in product(named, long.get(letters, ())):
            one, two = sorted((concept, whose), key=lambda each: each.id)
            if one.id != two.id and is_initials(alias.name, other.name) and may_be_one(one, two):
                found[one.id, two.id] = Candidate(one, two, 1.0)
    return list(found.values())


def may_be_one(one: Concept, other: Concept) -> bool:
    """Return whether nothing speaks against two concepts being one: what was decided, their surnames."""
    ids = {alias.id for alias in one.aliases}, {alias.id for alias in other.aliases}
    if any({*pair} & ids[0] and {*pair} & ids[1] for pair in (*one.apart, *other.apart)):
        return False
    return not any(_contradict(a, b) for a, b in product(one.aliases, other.aliases))


def _pairs(concepts: Collection[Concept]) -> Iterable[tuple[Concept, Concept]]:
    sharing: defaultdict[str, dict[str, Concept]] = defaultdict(dict)
    for concept in concepts:
        for alias in concept.aliases:
            key = name_key(alias.name)
            for mark in {*grams(key), *(f"\x1f{word}" for word in key.split())}:
                sharing[mark][concept.id] = concept
    pairs = {
        (one, other): (members[one], members[other])
        for members in sharing.values()
        if len(members) <= _COMMON
        for one, other in combinations(sorted(members), 2)
    }
    return pairs.values()


def _strength(one: Concept, other: Concept) -> float:
    keys = ({name_key(alias.name) for alias in concept.aliases} for concept in (one, other))
    return max(max(_likeness(a, b), _likeness(b, a)) for a, b in product(*keys))


def _likeness(one: str, other: str) -> float:
    if numbers(one) != numbers(other):
        return 0.0
    return max(
        likeness(one, other), 0.8 * is_part(one, other), 0.9 * (one != other and spelling(one) == spelling(other))
    )


def _contradict(one: Alias, other: Alias) -> bool:
    """Return whether two names are of two: one first name with two surnames, the same letters with other marks."""
    a, b = name_key(one.name), name_key(other.name)
    if joined(a) != joined(b) and spelling(a) == spelling(b) and is_marked(a) and is_marked(b):
        return True
    first, second = a.split(), b.split()
    if min(len(first), len(second)) < 2:
        return False
    differ = _rest(first, second), _rest(second, first)
    return (
        all(differ) and len(differ[0]) < len(first) and likeness(" ".join(differ[0]), " ".join(differ[1])) < _ALIKE / 2
    )


def _rest(words: Sequence[str], other: Sequence[str]) -> list[str]:
    return [word for word in words if word not in other]
