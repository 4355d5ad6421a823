"""Concepts in the store: their changes by facts and by verdicts of entity resolution."""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from langgraph.store.base import BaseStore, Item, SearchItem

from react_mem.memory.language import UNSPACED
from react_mem.memory.language.comparison import content_words, may_link, words
from react_mem.memory.language.folding import fold
from react_mem.memory.language.standing import preferred_in
from react_mem.memory.merging.named_entities import may_be_one, mentions, related, resolve
from react_mem.memory.model.concepts import Alias, Concept, Decider, Merge, Pair, alias_id, renewed
from react_mem.memory.model.kinds import CONCEPT, EPISODE, FACT, Kind
from react_mem.memory.model.namespaces import decode
from react_mem.memory.model.operations import Change, delete, put
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.records import Episode, Fact
from react_mem.memory.store.capabilities import WHOLE
from react_mem.memory.store.transactions import transact

# All names that a user's facts use, and what is known of which are one: what concepts are made of.


@dataclass
class Names:
    """All names in a user's facts by id, with the pairs decided to be one or apart: the source of the concepts."""

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
        """Return the names in all facts of a user, with the earlier decisions about them."""
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
        """Replace the names of a fact that is new or has changed, and return the ids of the changed aliases."""
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
        """Remove the traces of deleted records."""
        self._leave(gone)
        self._unsay(gone)
        self.prune()

    def prune(self) -> None:
        """Drop decisions about names that no longer exist."""
        kept = [_among(merge, self.aliases) for merge in self.merges]
        self.merges = [merge for merge in kept if merge is not None]
        self.apart = {pair for pair in self.apart if self.aliases.keys() >= {*pair}}

    def concepts(self, among: Collection[str] | None = None) -> list[Concept]:
        """Return the concepts of the names, or of the names with some ids, among which is all that these depend on."""
        aliases = self.aliases if among is None else {id_: self.aliases[id_] for id_ in among}
        groups = resolve(aliases, self.merges, self.apart)
        return [Concept.of((aliases[id_] for id_ in group), self.merges, self.apart) for group in groups]

    def _leave(self, facts: Collection[str], except_: Collection[str] = ()) -> set[str]:
        """Remove facts from the names that they no longer use."""
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
        """Remove facts from the merges read in their words; merges without a source are undone."""
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


# Themes: what several facts, or a fact and an episode, speak of that has no name, such as a taste or a matter at work.

MAX_THEMES = 50  # most themes of a user, the most frequent; each is a record
_MOST_WORDS = 3
_STEM = 5
"""Letters of a word that count: "climate" and "climates"."""

_LEAST, _LEAST_OF_A_WORD = 2, 3  # least memories of a theme, and of a single-word theme, which may be a coincidence
_MOST_SOURCES = 50  # most sources of a theme, the latest
_CLAUSE = re.compile(r"[.!?,;:()。！？、，；：]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")

_Key = tuple[str, ...]


def themes(facts: Iterable[Fact], episodes: Iterable[Episode], named: Iterable[Concept]) -> list[Concept]:
    """Return the themes of current facts and episodes' goals, beside named concepts: a second for thousands."""
    told: list[tuple[str, Fact | Episode]] = [
        *((fact.text, fact) for fact in facts if fact.current and not fact.verbatim),
        *((episode.goal, episode) for episode in episodes),
    ]
    uses: defaultdict[_Key, dict[str, str]] = defaultdict(dict)
    said: dict[str, Fact | Episode] = {}
    for text, record in told:
        said[record.id] = record
        for key, phrase in _phrases(text):
            uses[key].setdefault(record.id, phrase)
    stated = {key for text, record in told if isinstance(record, Fact) for key in _stated(text)}
    last = {fold(clause[-1])[:_STEM] for text, _ in told for clause in map(words, _CLAUSE.split(text)) if clause}
    names = {key for concept in named for alias in concept.aliases for key, _ in _phrases(alias.name)}
    chosen: list[_Key] = []
    for key in sorted(uses, key=lambda key: (-len(key), key)):
        facts_of_it = [id_ for id_ in uses[key] if isinstance(said[id_], Fact)]
        enough = key in stated or len(uses[key]) >= (_LEAST if len(key) > 1 else _LEAST_OF_A_WORD)
        # it ends a clause somewhere, or has the maximum length
        is_thing = len(key) == _MOST_WORDS or key[-1] in last
        if facts_of_it and enough and is_thing and key not in names and not _is_said_by(key, uses, chosen):
            chosen.append(key)
    chosen.sort(key=lambda key: (-len(uses[key]), key))
    return [_theme(key, uses[key], said) for key in chosen[:MAX_THEMES]]


def without(theme: Concept, gone: Collection[str]) -> Concept | None:
    """Return a theme without some memories; None if too few are left."""
    [alias] = theme.aliases
    left = alias.without(gone)
    if left == alias:
        return theme
    return None if left is None or len(left.source_ids) < _LEAST else _concept(theme.id, left)


def _phrases(text: str) -> Iterator[tuple[_Key, str]]:
    """Yield the phrases of neighbouring content words in a text, each with its key.

    >>> [phrase for _, phrase in _phrases("I prefer a cool climate.")]
    ['prefer', 'cool', 'cool climate', 'climate']
    """
    for telling, run in groupby(words(text), key=lambda word: bool(content_words(word))):
        side_by_side = list(run) if telling else []
        for start in range(len(side_by_side)):
            for end in range(start + 1, min(start + _MOST_WORDS, len(side_by_side)) + 1):
                phrase = side_by_side[start:end]
                if len(phrase) > 1 or may_link(phrase[0]):
                    space = "" if _UNSPACED.match(phrase[0]) else " "
                    yield tuple(fold(word)[:_STEM] for word in phrase), space.join(phrase)


def _stated(text: str) -> Iterator[_Key]:
    """Yield the theme of a stated preference, if it has two words or more.

    >>> list(_stated("I prefer a cool climate.")), list(_stated("The climate is cool.")), list(_stated("I like tea"))
    ([('cool', 'clima')], [], [])
    """
    found = ([key for key, _ in _phrases(part) if len(key) > 1] for part in preferred_in(text))
    if keys := next(filter(None, found), None):
        yield max(keys, key=len)


def _is_said_by(key: _Key, uses: Mapping[_Key, Mapping[str, str]], longer: Iterable[_Key]) -> bool:
    """Return true if a longer theme covers the same memories."""
    parts = {one for one in longer if any(one[at : at + len(key)] == key for at in range(len(one)))}
    return any(uses[key].keys() <= uses[one].keys() for one in parts)


def _theme(key: _Key, phrases: Mapping[str, str], said: Mapping[str, Fact | Episode]) -> Concept:
    latest = sorted(phrases, key=lambda id_: (said[id_].created_at, id_), reverse=True)[:_MOST_SOURCES]
    name = min(Counter(phrases.values()).items(), key=lambda used: (-used[1], used[0]))[0]
    origins = {id_: said[id_].origin for id_ in latest if said[id_].origin is not Origin.USER}
    since = min(said[id_].created_at for id_ in latest)
    alias = Alias(name=name, since=since, source_ids=tuple(sorted(latest)), origins=origins)
    return _concept(CONCEPT.id("theme", *key), alias)


def _concept(id_: str, alias: Alias) -> Concept:
    return Concept.of([alias]).model_copy(update={"id": id_, "theme": True})


async def load_concepts(store: BaseStore, user_id: str) -> dict[str, Concept]:
    """Return all named concepts of a user, by id; themes are left out."""
    found = await _kept(store, user_id, CONCEPT)
    # thousands take a tenth of a second
    return await asyncio.to_thread(
        lambda: {item.key: Concept.from_value(item.value) for item in found if not item.value.get("theme")}
    )


async def concept_changes(store: BaseStore, user_id: str, facts: Sequence[Fact]) -> list[Change]:
    """Return the changes of concepts that follow from facts, for their batch. Only names need the store."""
    if not any(mentions(fact) for fact in facts):
        return []
    before = await load_concepts(store, user_id)
    names = Names.of(before.values())
    changed: set[str] = set()
    for fact in facts:
        changed |= names.hear(fact)
    return _changes(user_id, before, names, changed)


async def refresh_concepts(store: BaseStore, user_id: str) -> list[Concept]:
    """Rebuild a user's concepts and themes from all facts, imported ones too; return the named concepts. Idempotent."""

    async def step() -> tuple[list[Concept], list[Change]]:
        concepts, facts, episodes = [await _kept(store, user_id, kind) for kind in (CONCEPT, FACT, EPISODE)]
        before = {item.key: Concept.from_value(item.value) for item in concepts}

        def anew() -> tuple[list[Concept], list[Concept]]:
            told = [Fact.from_value(item.value) for item in facts]
            decided = Names.of(concept for concept in before.values() if not concept.theme)
            named = Names.in_facts(told, decided).concepts()
            return named, themes(told, (Episode.from_value(item.value) for item in episodes), named)

        # thousands of facts take a second
        after, shared = await asyncio.to_thread(anew)
        return after, _difference(user_id, before, [*after, *shared])

    return await transact(store, user_id, step)


@dataclass(frozen=True)
class Verdict:
    """Verdict of entity resolution on two concepts: merged by a judge, or kept apart for good (None)."""

    one: Concept
    other: Concept
    by: Decider | None = None
    source_ids: tuple[()] = ()


def judged(user_id: str, before: Mapping[str, Concept], verdicts: Iterable[Verdict]) -> list[Change]:
    """Return the writes of verdicts in order, without those on lost concepts or against an earlier verdict."""
    names = Names.of(before.values())
    known = {alias.id: concept for concept in before.values() for alias in concept.aliases}
    changed: set[str] = set()
    for verdict in verdicts:
        one, other = (known.get(concept.aliases[0].id) for concept in (verdict.one, verdict.other))
        if one is None or other is None or one.id == other.id:
            continue
        parts = [one.aliases, other.aliases]
        if verdict.by is None:
            first, second = sorted((one.aliases[0].id, other.aliases[0].id))
            names.apart.add((first, second))
        elif may_be_one(one, other):
            kept, moved = min(alias.id for alias in one.aliases), sorted(alias.id for alias in other.aliases)
            names.merges.append(Merge(kept=kept, moved=tuple(moved), by=verdict.by))
            parts = [one.aliases + other.aliases]
        for aliases in parts:
            now_ = Concept.of(aliases, names.merges, names.apart)
            known |= {alias.id: now_ for alias in aliases}
            changed |= {alias.id for alias in aliases}
    return _changes(user_id, before, names, changed)


def concepts_without(items: Sequence[Item], gone: Collection[str]) -> list[Change]:
    """Return the changes of an owner's concepts when facts are deleted: as if the facts had never been known."""
    before = {item.key: Concept.from_value(item.value) for item in items}
    if not any(set(gone).intersection(concept.source_ids) for concept in before.values()):
        return []
    names = Names.of(concept for concept in before.values() if not concept.theme)
    names.forget(gone)
    shared = [without(concept, gone) for concept in before.values() if concept.theme]
    [(_, user, *_)] = {item.namespace for item in items}
    after = [concept for concept in (*names.concepts(), *shared) if concept is not None]
    return _difference(decode(user), before, after)


def _changes(user_id: str, before: Mapping[str, Concept], names: Names, changed: Collection[str]) -> list[Change]:
    if not changed:
        return []
    known = Names.of(before.values())
    # with the names and merges that there were: what one leaves may go with others now
    among = related(known.aliases | names.aliases, [*known.merges, *names.merges], changed)
    touched = {id_: c for id_, c in before.items() if any(alias.id in among for alias in c.aliases)}
    return _difference(user_id, touched, names.concepts(among & names.aliases.keys()))


def _difference(user_id: str, before: Mapping[str, Concept], after: Iterable[Concept]) -> list[Change]:
    now_ = {concept.id: concept for concept in after}
    gone = [delete(user_id, CONCEPT, id_) for id_ in before if id_ not in now_]
    written = [concept for id_, concept in now_.items() if before.get(id_) != concept]
    return [*gone, *(put(user_id, concept, indexed=False) for concept in written)]


async def _kept(store: BaseStore, user_id: str, kind: Kind) -> list[SearchItem]:
    return await store.asearch(kind.namespace(user_id), filter={"kind": kind.name}, limit=WHOLE, refresh_ttl=False)
