"""Which names are one concept. Pure, and the same whatever the order in which they came.

Names are one by their letters only where nothing speaks against it; to take two people for one is worse than to know
one twice. What letters cannot decide is left apart, for what was said, the user or a model to decide.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from memory.concepts.naming import is_marked, is_part, joined, name_key, spelling
from memory.concepts.records import Alias, Decider, Merge

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

    1. the same name; of a person and of a place with one name, each keeps its own, and nobody knows whose a third is;
    2. the same name spelt without marks or as one word: Hà Nội, Ha Noi and Hanoi; but not Hoa, where there are Hoà
       and Hoá;
    3. a first or last name, and the only person with it;
    4. what facts say, vectors and a model found; whose a first name is, may follow from that;
    5. what the user decided, whatever speaks against it.

    Args:
        aliases: All names that may have to do with each other, by id.
        decisions: What has been decided.
    """
    groups = _Groups(aliases, decisions.apart)
    keys = {id_: name_key(alias.name) for id_, alias in aliases.items()}
    for ids in _by(keys, lambda key: key):
        groups.join_all(ids)
    for ids in _by(keys, spelling):
        marked = {joined(keys[id_]) for id_ in ids if is_marked(keys[id_])}
        for spelt in sorted(marked):
            groups.join_all([id_ for id_ in ids if joined(keys[id_]) == spelt])
        groups.join_all([id_ for id_ in ids if not is_marked(keys[id_])])
        if len(marked) == 1:
            groups.join_all(ids)
    _join_people(groups, keys)
    found = [merge for merge in decisions.merges if merge.by != "user"]
    for merge in sorted(found, key=lambda merge: (_RANK[merge.by], merge.kept, merge.moved)):
        for moved in sorted(merge.moved):
            # it is known better from this than from the predicates of facts what something is
            groups.join(merge.kept, moved, typed=False)
    if found:
        _join_people(groups, keys)
    for merge in decisions.merges:
        if merge.by == "user":
            for moved in merge.moved:
                groups.join(merge.kept, moved, typed=False, forced=True)
    return groups.all


def related(aliases: Mapping[str, Alias], merges: Iterable[Merge], start: Iterable[str]) -> set[str]:
    """Return the ids of the names that what becomes of some names may depend on.

    Args:
        aliases: All names, by id.
        merges: All merges.
        start: The ids of names that are new or have changed.
    """
    sharing: defaultdict[str, set[str]] = defaultdict(set)
    whole: set[str] = set()
    for id_, alias in aliases.items():
        key = name_key(alias.name)
        whole |= {key, spelling(key)}
        for block in _blocks(key, alias.type):
            sharing[block].add(id_)
    # a word that many names have, such as Nguyễn, says nothing where nobody is called just that
    sharing = defaultdict(set, {block: ids for block, ids in sharing.items() if block in whole})
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


def clash(types: Iterable[str]) -> bool:
    """Return whether nothing is of all these types: a company is where it is, but a person is no place."""
    return len({"place" if type_ == "organisation" else type_ for type_ in types if type_}) > 1


def _blocks(key: str, type_: str) -> set[str]:
    words = key.split() if type_ in {"", "person"} else []
    # a person is also known by a part of the name
    parts = {" ".join(part) for cut in range(1, len(words)) for part in (words[:cut], words[cut:])}
    return {key, spelling(key), *parts}


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

    def types(self, group: Iterable[str]) -> set[str]:
        return {str(self.aliases[id_].type) for id_ in group} - {""}

    def join(self, one: str, other: str, *, typed: bool = True, forced: bool = False) -> None:
        if one not in self._of or other not in self._of or self._of[one] is self._of[other]:
            return
        a, b = self._of[one], self._of[other]
        if typed and clash(self.types(a) | self.types(b)):
            return
        if not forced and any(self._apart.get(id_, set()) & b for id_ in a):
            return
        whole = a | b
        self._of |= dict.fromkeys(whole, whole)

    def join_all(self, ids: Iterable[str]) -> None:
        """Join names that look the same, unless they are of things that cannot be one: then only those alike."""
        sets = sorted({self._of[id_] for id_ in ids}, key=min)
        typed = [group for group in sets if self.types(group)]
        whole = not clash(self.types(id_ for group in typed for id_ in group))
        for place, one in enumerate(sets):
            for other in sets[place + 1 :]:
                if whole or (one in typed and other in typed):
                    self.join(min(one), min(other))


def _join_people(groups: _Groups, keys: Mapping[str, str]) -> None:
    """Join a part of a name with the one person who has it."""
    people = [group for group in groups.all if groups.types(group) == {"person"}]
    names = {group: {keys[id_] for id_ in group} for group in people}
    holding: defaultdict[str, set[_Group]] = defaultdict(set)
    for group, spelt in names.items():
        for part in {part for key in spelt for part in _blocks(key, "person")}:
            holding[part].add(group)
    longer = {
        group: {
            other
            for key in spelt
            for other in holding[key]
            if other is not group and any(is_part(key, name) for name in names[other])
        }
        for group, spelt in names.items()
    }
    for group in people:
        # Anna, Anna Maria, Anna Maria Schmidt: the longest is who they all are
        last = [one for one in longer[group] if not longer[one] & longer[group]]
        if len(last) == 1:
            groups.join(min(group), min(last[0]))


def _by(keys: Mapping[str, str], form: Callable[[str], str]) -> list[list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for id_ in sorted(keys):
        found[form(keys[id_])].append(id_)
    return [ids for _, ids in sorted(found.items()) if len(ids) > 1]
