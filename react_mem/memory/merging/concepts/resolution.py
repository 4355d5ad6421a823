"""Entity resolution: names -> concepts. Pure, and independent of the order of the names.

Names are one by their letters only where nothing speaks against it; to take two people for one is worse than to know
one twice. What letters cannot decide is left apart, for what was said, the user or a model to decide.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations

from react_mem.memory.language.names import is_marked, joined, name_key, spelling
from react_mem.memory.model.concepts import Alias, Decider, Merge, Pair

_RANK: dict[Decider, int] = {"said": 0, "vector": 1, "model": 2}


def resolve(aliases: Mapping[str, Alias], merges: Collection[Merge], apart: Iterable[Pair]) -> list[frozenset[str]]:
    """Return the concepts, as the ids of their aliases.

    In turn, each only where nothing that is known keeps the two apart:

    1. the same name spelt without marks or as one word: Hà Nội, Ha Noi and Hanoi; but not Hoa, where there are Hoà
       and Hoá;
    2. what vectors and a model found;
    3. what the user decided, whatever speaks against it.

    Args:
        aliases: All names that may have to do with each other, by id.
        merges: What has been decided to be one.
        apart: Pairs of aliases that have been decided not to be.
    """
    groups = {id_: frozenset([id_]) for id_ in aliases}
    others: defaultdict[str, set[str]] = defaultdict(set)
    for one, other in apart:
        others[one].add(other)
        others[other].add(one)

    def join(one: str, other: str, *, forced: bool = False) -> None:
        a, b = groups.get(one), groups.get(other)
        if a is None or b is None or a is b:
            return
        if forced or all(b.isdisjoint(others.get(id_, ())) for id_ in a):
            groups.update(dict.fromkeys(whole := a | b, whole))

    def join_all(ids: Iterable[str]) -> None:
        for one, other in combinations(sorted(ids), 2):
            join(one, other)

    keys = {id_: name_key(alias.name) for id_, alias in aliases.items()}
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for id_ in sorted(keys):
        alike[spelling(keys[id_])].append(id_)
    for _, ids in sorted(alike.items()):
        marked = {joined(keys[id_]) for id_ in ids if is_marked(keys[id_])}
        for spelt in sorted(marked):
            join_all(id_ for id_ in ids if joined(keys[id_]) == spelt)
        join_all(id_ for id_ in ids if not is_marked(keys[id_]))
        if len(marked) == 1:
            join_all(ids)
    found = [merge for merge in merges if merge.by != "user"]
    for merge in sorted(found, key=lambda merge: (_RANK[merge.by], merge.kept, merge.moved)):
        for moved in sorted(merge.moved):
            join(merge.kept, moved)
    for merge in merges:
        if merge.by == "user":
            for moved in merge.moved:
                join(merge.kept, moved, forced=True)
    return sorted(set(groups.values()), key=min)


def related(aliases: Mapping[str, Alias], merges: Iterable[Merge], start: Iterable[str]) -> set[str]:
    """Return the ids of the names that what becomes of some names may depend on.

    Args:
        aliases: All names, by id.
        merges: All merges.
        start: The ids of names that are new or have changed.
    """
    sharing: defaultdict[str, set[str]] = defaultdict(set)
    for id_, alias in aliases.items():
        sharing[spelling(name_key(alias.name))].add(id_)
    for number, merge in enumerate(merges):
        sharing[f"\x1f{number}"] |= {merge.kept, *merge.moved} & aliases.keys()
    blocks: defaultdict[str, set[str]] = defaultdict(set)
    for block, ids in sharing.items():
        for id_ in ids:
            blocks[id_].add(block)
    found: set[str] = set()
    left = {id_ for id_ in start if id_ in aliases}
    while left:
        found |= left
        left = {other for id_ in left for block in blocks[id_] for other in sharing.pop(block, ())} - found
    return found
