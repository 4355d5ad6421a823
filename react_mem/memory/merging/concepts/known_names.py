"""All names that a user's facts use, and what is known of which are one: what concepts are made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from react_mem.memory.merging.concepts.named_entities import mentions
from react_mem.memory.merging.concepts.resolution import resolve
from react_mem.memory.model.concepts import Alias, Concept, Merge, Pair, alias_id, renewed
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Fact


@dataclass
class Names:
    """The names, by id, with every decision about them.

    Args:
        aliases: The names.
        merges: What has been found to be one.
        apart: What has been found not to be.
    """

    aliases: dict[str, Alias] = field(default_factory=dict)
    merges: list[Merge] = field(default_factory=list)
    apart: set[Pair] = field(default_factory=set)
    _using: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        for id_, alias in self.aliases.items():
            for fact in alias.source_ids:
                self._using[fact].add(id_)

    @classmethod
    def of(cls, concepts: Iterable[Concept]) -> Names:
        """Return the names of concepts."""
        known = list(concepts)
        aliases: dict[str, Alias] = {}
        for alias in (alias for concept in known for alias in concept.aliases):
            # one name of a person and of a place was two, when names had types
            aliases[alias.id] = aliases[alias.id].together(alias) if alias.id in aliases else alias
        merges = [merge for concept in known for merge in concept.merged_from]
        apart = {pair for concept in known for pair in concept.apart}
        about = {id_ for merge in merges for id_ in (merge.kept, *merge.moved)}.union(*apart)
        if new := renewed(aliases.values(), about):
            merges = [one for merge in merges if (one := _renewed(merge, new)) is not None]
            pairs = ((new.get(one, one), new.get(other, other)) for one, other in apart)
            apart = {(min(pair), max(pair)) for pair in pairs if len({*pair}) == 2}
        return cls(aliases, merges, apart)

    @classmethod
    def in_facts(cls, facts: Iterable[Fact], decided: Names) -> Names:
        """Return the names of facts, with what has been decided of those among them.

        Args:
            facts: All facts of a user.
            decided: What was known before.
        """
        uses: defaultdict[str, dict[str, Alias]] = defaultdict(dict)
        current = set()
        for fact in facts:
            for id_, alias in _heard(fact).items():
                uses[id_][fact.id] = alias
            if fact.current:
                current.add(fact.id)
        # thousands of facts may use one name
        names = cls({id_: Alias.used(by) for id_, by in uses.items()}, list(decided.merges), set(decided.apart))
        names._unsay({source for merge in names.merges for source in merge.source_ids} - current)
        names.prune()
        return names

    def hear(self, fact: Fact) -> set[str]:
        """Take in the names that a fact uses, in place of those that it used when it was last heard.

        Args:
            fact: A fact that is new or has changed.

        Returns:
            The ids of the aliases that are new or have changed.
        """
        heard = _heard(fact)
        changed = self._leave({fact.id}, except_=heard)
        for id_, alias in heard.items():
            known = self.aliases.get(id_)
            after = alias if known is None else known.together(alias)
            if after != known:
                self.aliases[id_] = after
                self._using[fact.id].add(id_)
                changed.add(id_)
        if not fact.current:
            changed |= self._unsay({fact.id})
        return changed

    def forget(self, gone: Collection[str]) -> None:
        """Take out what only these facts say.

        Args:
            gone: Ids of facts, and of whatever else is deleted.
        """
        self._leave(gone)
        self._unsay(gone)
        self.prune()

    def prune(self) -> None:
        """Take out decisions about names that there are no longer."""
        kept = [_among(merge, self.aliases) for merge in self.merges]
        self.merges = [merge for merge in kept if merge is not None]
        self.apart = {pair for pair in self.apart if self.aliases.keys() >= {*pair}}

    def concepts(self, among: Collection[str] | None = None) -> list[Concept]:
        """Return the concepts that the names are of.

        Args:
            among: The ids of names; with all that these depend on, or all of them.
        """
        aliases = self.aliases if among is None else {id_: self.aliases[id_] for id_ in among}
        groups = resolve(aliases, self.merges, self.apart)
        return [Concept.of((aliases[id_] for id_ in group), self.merges, self.apart) for group in groups]

    def _leave(self, facts: Collection[str], except_: Collection[str] = ()) -> set[str]:
        """Take facts out of the names that they no longer use."""
        gone = set(facts)
        changed: set[str] = set()
        for id_ in {id_ for fact in gone for id_ in self._using.get(fact, ())} - set(except_):
            changed.add(id_)
            if left := self.aliases[id_].without(gone):
                self.aliases[id_] = left
            else:
                del self.aliases[id_]
        for fact in gone:
            self._using[fact] &= set(except_)
        return changed

    def _unsay(self, facts: Collection[str]) -> set[str]:
        """Take facts out of the merges that were read in their words; those that no other says are undone."""
        gone = set(facts)
        changed: set[str] = set()
        for place, merge in enumerate(self.merges):
            if not gone.isdisjoint(merge.source_ids):
                changed |= {merge.kept, *merge.moved}
                left = tuple(source for source in merge.source_ids if source not in gone)
                self.merges[place] = merge.model_copy(update={"source_ids": left})
        self.merges = [merge for merge in self.merges if merge.by != "said" or merge.source_ids]
        return changed


def _heard(fact: Fact) -> dict[str, Alias]:
    """Return the names that a fact uses, by their ids."""
    origins = {} if fact.origin is Origin.USER else {fact.id: fact.origin}
    return {
        alias_id(name): Alias(name=name, since=fact.created_at, source_ids=(fact.id,), origins=origins)
        for name in mentions(fact)
    }


def _among(merge: Merge, aliases: Mapping[str, Alias]) -> Merge | None:
    moved = tuple(id_ for id_ in merge.moved if id_ in aliases)
    if merge.kept not in aliases or not moved:
        return None
    return merge.model_copy(update={"moved": moved})


def _renewed(merge: Merge, new: Mapping[str, str]) -> Merge | None:
    kept = new.get(merge.kept, merge.kept)
    moved = tuple(sorted({new.get(id_, id_) for id_ in merge.moved} - {kept}))
    return merge.model_copy(update={"kept": kept, "moved": moved}) if moved else None
