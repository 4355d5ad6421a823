"""Which names are one concept. Pure, and the same whatever the order in which they came.

Names are one by their letters only where nothing speaks against it; to take two people for one is worse than to know
one twice. What letters cannot decide is left apart, for what was said, the user or a model to decide.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from react_mem.memory.language.names import is_marked, joined, name_key, spelling
from react_mem.memory.model.concepts import Alias, Decider, Merge

_Group = frozenset[str]

_RANK: dict[Decider, int] = {"said": 0, "vector": 1, "model": 2}


@dataclass(frozen=True)
class Decisions:
    """What has been decided of names, beside what follows from their letters.

    Args:
        merges: What is one.
        apart: Pairs of aliases that are not.
    """

    merges: Collection[Merge] = ()
    apart: Collection[tuple[str, str]] = ()


def resolve(aliases: Mapping[str, Alias], decisions: Decisions) -> list[frozenset[str]]:
    """Return the concepts, as the ids of their aliases.

    In turn, each only where nothing that is known keeps the two apart:

    1. the same name spelt without marks or as one word: Hà Nội, Ha Noi and Hanoi; but not Hoa, where there are Hoà
       and Hoá;
    2. what vectors and a model found;
    3. what the user decided, whatever speaks against it.

    Args:
        aliases: All names that may have to do with each other, by id.
        decisions: What has been decided.
    """
    groups = _Groups(aliases, decisions.apart)
    keys = {id_: name_key(alias.name) for id_, alias in aliases.items()}
    for ids in _by(keys, spelling):
        marked = {joined(keys[id_]) for id_ in ids if is_marked(keys[id_])}
        for spelt in sorted(marked):
            groups.join_all([id_ for id_ in ids if joined(keys[id_]) == spelt])
        groups.join_all([id_ for id_ in ids if not is_marked(keys[id_])])
        if len(marked) == 1:
            groups.join_all(ids)
    found = [merge for merge in decisions.merges if merge.by != "user"]
    for merge in sorted(found, key=lambda merge: (_RANK[merge.by], merge.kept, merge.moved)):
        for moved in sorted(merge.moved):
            groups.join(merge.kept, moved)
    for merge in decisions.merges:
        if merge.by == "user":
            for moved in merge.moved:
                groups.join(merge.kept, moved, forced=True)
    return groups.all


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


@dataclass
class _Groups:
    """Names that are one so far.

    Args:
        aliases: All names, by id.
        apart: Pairs that must not come together.
    """

    aliases: Mapping[str, Alias]
    apart: Collection[tuple[str, str]]
    _of: dict[str, _Group] = field(default_factory=dict)
    _apart: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._of = {id_: frozenset([id_]) for id_ in self.aliases}
        for one, other in self.apart:
            self._apart.setdefault(one, set()).add(other)
            self._apart.setdefault(other, set()).add(one)

    @property
    def all(self) -> list[_Group]:
        return sorted(set(self._of.values()), key=min)

    def join(self, one: str, other: str, *, forced: bool = False) -> None:
        if one not in self._of or other not in self._of or self._of[one] is self._of[other]:
            return
        a, b = self._of[one], self._of[other]
        if not forced and any(self._apart.get(id_, set()) & b for id_ in a):
            return
        whole = a | b
        self._of |= dict.fromkeys(whole, whole)

    def join_all(self, ids: Sequence[str]) -> None:
        """Join names that look the same."""
        for one, other in combinations(sorted(ids), 2):
            self.join(one, other)


def _by(keys: Mapping[str, str], form: Callable[[str], str]) -> list[list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for id_ in sorted(keys):
        found[form(keys[id_])].append(id_)
    return [ids for _, ids in sorted(found.items()) if len(ids) > 1]
