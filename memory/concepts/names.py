"""All names that a user's facts use, and what is known of which are one: what concepts are made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from memory.concepts.mentions import Mention, mentions, same_names
from memory.concepts.records import Alias, Concept, Merge, Pair, alias_id
from memory.concepts.resolution import Decisions, resolve
from memory.records import Fact


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
            self._index(id_, alias)

    @classmethod
    def of(cls, concepts: Iterable[Concept]) -> Names:
        """Return the names of concepts."""
        known = list(concepts)
        return cls(
            {alias.id: alias for concept in known for alias in concept.aliases},
            [merge for concept in known for merge in concept.merged_from],
            {pair for concept in known for pair in concept.apart},
        )

    @classmethod
    def in_facts(cls, facts: Iterable[Fact], decided: Names) -> Names:
        """Return the names of facts, with what has been decided of those among them.

        Args:
            facts: All facts of a user.
            decided: What was known before; what facts said is read from them again.
        """
        names = cls(merges=[merge for merge in decided.merges if merge.by != "said"], apart=set(decided.apart))
        for fact in facts:
            names.hear(fact)
        names.prune()
        return names

    def hear(self, fact: Fact) -> set[str]:
        """Take in the names that a fact uses, in place of those that it used when it was last heard.

        Args:
            fact: A fact that is new or has changed.

        Returns:
            The ids of the aliases that are new or have changed.
        """
        used = {alias_id(mention.name, mention.type): mention for mention in mentions(fact)}
        changed = self._leave({fact.id}, except_=used)
        for id_, mention in used.items():
            after = _heard(self.aliases.get(id_), mention, fact)
            if after != self.aliases.get(id_):
                self.aliases[id_] = after
                self._using[fact.id].add(id_)
                changed.add(id_)
        if said := same_names(fact):
            changed |= self._say(tuple(sorted(alias_id(name.name, name.type) for name in said)), fact)
        return changed

    def forget(self, gone: Collection[str]) -> set[str]:
        """Take out what only these facts say.

        Args:
            gone: Ids of facts, and of whatever else is deleted.

        Returns:
            The ids of the aliases that have changed, or that there are no longer.
        """
        changed = self._leave(gone)
        self.prune()
        return changed

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
        groups = resolve(aliases, Decisions(self.merges, self.apart))
        return [Concept.of((aliases[id_] for id_ in group), self.merges, self.apart) for group in groups]

    def _leave(self, facts: Collection[str], except_: Collection[str] = ()) -> set[str]:
        """Take facts out of the names that they no longer use."""
        gone = set(facts)
        changed: set[str] = set()
        for id_ in {id_ for fact in gone for id_ in self._using.get(fact, ())} - set(except_):
            alias = self.aliases[id_]
            changed.add(id_)
            if left := tuple(source for source in alias.source_ids if source not in gone):
                self.aliases[id_] = alias.model_copy(update={"source_ids": left})
            else:
                del self.aliases[id_]
        for fact in gone:
            self._using[fact] &= set(except_)
        for place, merge in enumerate(self.merges):
            if not gone.isdisjoint(merge.source_ids):
                changed |= {merge.kept, *merge.moved}
                left = tuple(source for source in merge.source_ids if source not in gone)
                self.merges[place] = merge.model_copy(update={"source_ids": left})
        self.merges = [merge for merge in self.merges if merge.by != "said" or merge.source_ids]
        return changed

    def _index(self, id_: str, alias: Alias) -> None:
        for fact in alias.source_ids:
            self._using[fact].add(id_)

    def _say(self, pair: tuple[str, ...], fact: Fact) -> set[str]:
        kept, *moved = pair
        said = Merge(kept=kept, moved=tuple(moved), by="said", at=fact.said_at, source_ids=(fact.id,))
        for place, merge in enumerate(self.merges):
            if (merge.kept, merge.moved, merge.by) == (said.kept, said.moved, said.by):
                sources = tuple(sorted({*merge.source_ids, fact.id}))
                self.merges[place] = merge.model_copy(update={"source_ids": sources, "at": min(merge.at, said.at)})
                return set(pair)
        self.merges.append(said)
        return set(pair)


def _heard(known: Alias | None, mention: Mention, fact: Fact) -> Alias:
    if known is None:
        return Alias(name=mention.name, type=mention.type, since=fact.created_at, source_ids=(fact.id,))
    return Alias(
        name=max(known.name, mention.name, key=_writing),
        type=known.type,
        since=min(known.since, fact.created_at),
        source_ids=tuple(sorted({*known.source_ids, fact.id})),
    )


def _writing(name: str) -> tuple[bool, str]:
    # one that is not shouted
    return (name != name.upper(), name)


def _among(merge: Merge, aliases: Mapping[str, Alias]) -> Merge | None:
    moved = tuple(id_ for id_ in merge.moved if id_ in aliases)
    if merge.kept not in aliases or not moved:
        return None
    return merge.model_copy(update={"moved": moved})
