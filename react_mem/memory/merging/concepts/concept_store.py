"""Concepts in the store: what facts and verdicts change of them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from langgraph.store.base import BaseStore, Item, SearchItem

from react_mem.memory.merging.concepts.candidate_pairs import may_be_one
from react_mem.memory.merging.concepts.known_names import Names
from react_mem.memory.merging.concepts.named_entities import mentions
from react_mem.memory.merging.concepts.resolution import related
from react_mem.memory.merging.concepts.themes import themes, without
from react_mem.memory.model.changes import Change, delete, put
from react_mem.memory.model.concepts import Concept, Decider, Merge
from react_mem.memory.model.kinds import CONCEPT, EPISODE, FACT, Kind
from react_mem.memory.model.namespaces import decode
from react_mem.memory.model.records import Episode, Fact
from react_mem.memory.store.owned import WHOLE
from react_mem.memory.store.transactions import transact


async def load_concepts(store: BaseStore, user_id: str) -> dict[str, Concept]:
    """Return all concepts of a user that have names, by id: see `themes` for the others.

    Args:
        store: The store.
        user_id: The owner.
    """
    found = await _kept(store, user_id, CONCEPT)
    # thousands take a tenth of a second
    return await asyncio.to_thread(_read, found)


async def concept_changes(store: BaseStore, user_id: str, facts: Sequence[Fact]) -> list[Change]:
    """Return what facts that are new or have changed change of the concepts, for the batch that writes the facts.

    No model and no embedder is asked, and the store only where a fact uses a name.

    Args:
        store: The store.
        user_id: The owner.
        facts: The facts, as they are about to be written.
    """
    if not any(mentions(fact) for fact in facts):
        return []
    before = await load_concepts(store, user_id)
    names = Names.of(before.values())
    changed: set[str] = set()
    for fact in facts:
        changed |= names.hear(fact)
    return _changes(user_id, before, names, changed)


async def refresh_concepts(store: BaseStore, user_id: str) -> list[Concept]:
    """Rebuild a user's concepts from all facts, keeping what was decided about them; and the themes.

    It takes up facts that were written without them, such as imported ones; where nothing is missing, nothing changes.

    Args:
        store: The store.
        user_id: The owner.

    Returns:
        All concepts that have names.
    """

    async def step() -> tuple[list[Concept], list[Change]]:
        concepts, facts, episodes = [await _kept(store, user_id, kind) for kind in (CONCEPT, FACT, EPISODE)]
        # thousands of facts take a second
        after, shared = await asyncio.to_thread(_anew, _read(concepts), facts, episodes)
        before = {item.key: Concept.from_value(item.value) for item in concepts}
        return after, _difference(user_id, before, [*after, *shared])

    return await transact(store, user_id, step)


@dataclass(frozen=True)
class Verdict:
    """Verdict on two concepts.

    Args:
        one: A concept, as it was then.
        other: Another one.
        by: Who says that they are one; None where they are not, and nobody is to ask again.
    """

    one: Concept
    other: Concept
    by: Decider | None = None
    source_ids: tuple[()] = ()


def judged(user_id: str, before: Mapping[str, Concept], verdicts: Iterable[Verdict]) -> list[Change]:
    """Return the writes that follow when concepts become one, or are kept apart, by verdicts. Compute only.

    A verdict about what there is no longer, or that another one speaks against, is passed over.

    Args:
        user_id: The owner.
        before: All concepts of the user, by id.
        verdicts: What was found, in turn.
    """
    names = Names.of(before.values())
    known = {alias.id: concept for concept in before.values() for alias in concept.aliases}
    changed: set[str] = set()
    for verdict in verdicts:
        one, other = (known.get(concept.aliases[0].id) for concept in (verdict.one, verdict.other))
        if one is None or other is None or one.id == other.id:
            continue
        parts = [one.aliases, other.aliases]
        if verdict.by is None:
            names.apart |= _pairs({one.aliases[0].id}, {other.aliases[0].id})
        elif may_be_one(one, other):
            names.merges.append(_merge(one, other, verdict.by))
            parts = [one.aliases + other.aliases]
        for aliases in parts:
            now_ = Concept.of(aliases, names.merges, names.apart)
            known |= {alias.id: now_ for alias in aliases}
            changed |= {alias.id for alias in aliases}
    return _changes(user_id, before, names, changed)


def _merge(kept: Concept, moved: Concept, by: Decider) -> Merge:
    return Merge(kept=min(one.id for one in kept.aliases), moved=tuple(sorted(one.id for one in moved.aliases)), by=by)


def concepts_without(items: Sequence[Item], gone: Collection[str]) -> list[Change]:
    """Return what deleting facts changes of concepts: they are then as if these facts had never been known.

    Args:
        items: All concepts of an owner, as the store has them.
        gone: The ids of what is deleted.
    """
    before = {item.key: Concept.from_value(item.value) for item in items}
    if not any(set(gone).intersection(concept.source_ids) for concept in before.values()):
        return []
    names = Names.of(concept for concept in before.values() if not concept.theme)
    names.forget(gone)
    shared = [without(concept, gone) for concept in before.values() if concept.theme]
    [(_, user, *_)] = {item.namespace for item in items}
    after = [concept for concept in (*names.concepts(), *shared) if concept is not None]
    return _difference(decode(user), before, after)


def _anew(
    before: Mapping[str, Concept], facts: Iterable[Item], episodes: Iterable[Item]
) -> tuple[list[Concept], list[Concept]]:
    told = [Fact.from_value(item.value) for item in facts]
    named = Names.in_facts(told, Names.of(before.values())).concepts()
    return named, themes(told, (Episode.from_value(item.value) for item in episodes), named)


def _changes(user_id: str, before: Mapping[str, Concept], names: Names, changed: Collection[str]) -> list[Change]:
    """Return the writes that follow from changes of some names."""
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


def _read(items: Iterable[Item]) -> dict[str, Concept]:
    return {item.key: Concept.from_value(item.value) for item in items if not item.value.get("theme")}


def _pairs(one: Iterable[str], other: Iterable[str]) -> set[tuple[str, str]]:
    others = list(other)
    return {(min(a, b), max(a, b)) for a in one for b in others if a != b}


async def _kept(store: BaseStore, user_id: str, kind: Kind) -> list[SearchItem]:
    return await store.asearch(kind.namespace(user_id), filter={"kind": kind.name}, limit=WHOLE, refresh_ttl=False)
