"""Deduplication behind the turns: facts and entities that are the same become one, by a model's verdict.

Extraction already marks repetitions of the facts in its prompt; this finds the rest. Vectors and words only propose
pairs, since neither can tell a fact from its opposite. One small call a batch decides, and code refuses pairs whose
numbers or negations differ.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, cast

from langgraph.store.base import BaseStore, PutOp, SearchItem, SearchOp

from react_mem.memory.language import denial_of
from react_mem.memory.language.comparison import numbers, share
from react_mem.memory.llm.answers import object_schema
from react_mem.memory.llm.calls import Asker, ModelQuestion, as_lines, strings
from react_mem.memory.merging.concept_store import Verdict, judged, load_concepts, refresh_concepts
from react_mem.memory.merging.facts import fact_changes, load_facts
from react_mem.memory.merging.named_entities import Candidate, candidates
from react_mem.memory.merging.reconcile import is_put_anew, put_anew, retire, said_again
from react_mem.memory.merging.skill_life import sources_of
from react_mem.memory.model.concepts import Concept, Decider
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import FACT
from react_mem.memory.model.namespaces import meta_namespace, scope_namespace
from react_mem.memory.model.operations import Change, write
from react_mem.memory.model.records import Fact, now
from react_mem.memory.reflect.driver import Asked, Checked, D, Gathered, Report, Strategy, Values
from react_mem.memory.store.capabilities import WHOLE

# Questions about pairs, for deduplication and entity resolution: a model says which of them are two of the same.

MAX_PAIRS = 20  # Pairs of one model call; a run makes one


def question_about(
    prompt: str,
    pairs: Sequence[tuple[Any, Any]],
    verdicts: Sequence[str],
    drafts: Callable[[Mapping[str, set[int]]], Sequence[D]],
) -> ModelQuestion[Checked[D]]:
    """Return a question about numbered pairs; `drafts` makes drafts from the positions of the pairs by verdict."""
    places = {f"p{place + 1}": place for place in range(len(pairs))}
    named = {"type": "array", "items": {"type": "string", "enum": list(places)}}

    def read(said: Mapping[str, Any]) -> Checked[D]:
        told = {verdict: {places[one] for one in strings(said.get(verdict)) if one in places} for verdict in verdicts}
        return Checked(drafts(told))

    shown = [{"pair": name, "a": pairs[place][0], "b": pairs[place][1]} for name, place in places.items()]
    schema = object_schema(dict.fromkeys(verdicts, named), "pairs", "Which pairs are the same.")
    return ModelQuestion(prompt, as_lines("pairs", shown), schema, read)


def as_said(fact: Fact) -> str:
    """Return a fact's text, with its subject in front unless that is the user."""
    return fact.text if fact.about == "user" else f"about {fact.about}: {fact.text}"


_NEW = 50  # New facts of a run, the oldest first; the others wait for the next run
_NEIGHBOURS = 4
_ALIKE = 0.5  # Share of common words from which a pair is proposed, whatever its rank by vector
_LAST = "\uffff"  # An id behind all others, for a note without one
_BELIEVED = {"kind": FACT.name, "current": True}


@dataclass(frozen=True)
class Duplicate:
    """Two equal facts by id: first the one to keep (the owner's statement, else the earlier one), then the other."""

    source_ids: tuple[str, str]


@dataclass
class Deduplication(Strategy[Duplicate]):
    """Deduplication of a user's new facts against their nearest neighbours."""

    note_key = "deduplication"
    sources = (MemoryScope.SEMANTIC,)

    async def gather(self, noted: Mapping[str, Any], asker: Asker | None) -> Gathered[Duplicate]:
        """Pair new facts with possible duplicates."""
        if asker is None:
            return Gathered()
        since = (datetime.fromisoformat(noted["at"]), str(noted.get("id", _LAST))) if noted else None
        namespace = scope_namespace(self.user_id, MemoryScope.SEMANTIC)
        items = await self.store.asearch(namespace, filter=_BELIEVED, limit=WHOLE, refresh_ttl=False)
        facts = await asyncio.to_thread(lambda: [Fact.from_value(item.value) for item in items])
        since_then = (fact for fact in facts if not fact.verbatim and (since is None or _place(fact) > since))
        new: Sequence[Fact] = sorted(since_then, key=_place)[:_NEW]
        searches = [SearchOp(namespace, filter=_BELIEVED, limit=_NEIGHBOURS, query=fact.text) for fact in new]
        found = cast("list[list[SearchItem]]", await self.store.abatch(searches)) if searches else []
        near = [[Fact.from_value(item.value) for item in one] for one in found]
        new, pairs = await asyncio.to_thread(_alike, new, near)
        upto = {"at": new[-1].created_at.isoformat(), "id": new[-1].id} if new else None
        if not pairs:
            return Gathered(noted=lambda keys: upto)

        def named(told: Mapping[str, set[int]]) -> list[Duplicate]:
            return [Duplicate((pairs[place][0].id, pairs[place][1].id)) for place in sorted(told["same"])]

        shown = [(as_said(one), as_said(other)) for one, other in pairs]
        question = question_about("deduplicate_facts", shown, ["same"], named)
        return Gathered(questions=[Asked(question, ["pairs"])], noted=lambda keys: upto if keys else None)

    async def merge(self, drafts: Sequence[Duplicate], there: Values, report: Report) -> list[Change]:
        """Make one fact a wording of the other, unless either has changed meanwhile."""
        before = {id_: Fact.from_value(value) for id_, value in there.items()}
        needing = {id_ for fact in before.values() for id_ in fact.needed_by} - before.keys()
        before |= await load_facts(self.store, self.user_id, (), sorted(needing)) if needing else {}
        facts = dict(before)
        for draft in drafts:
            kept, other = (facts[id_] for id_ in draft.source_ids)
            if kept.current and _may_be_one(kept, other):
                facts |= _merged(kept, other, facts)
                report.retired.append(other.text)
        changed = [fact for id_, fact in facts.items() if fact != before[id_]]
        return await fact_changes(self.store, self.user_id, changed) if changed else []


def _place(fact: Fact) -> tuple[datetime, str]:
    return fact.created_at, fact.id


def _alike(new: Sequence[Fact], near: Sequence[Sequence[Fact]]) -> tuple[Sequence[Fact], list[tuple[Fact, Fact]]]:
    """Return the new facts that one call can cover, and their candidate pairs."""
    pairs: dict[frozenset[str], tuple[Fact, Fact]] = {}
    for looked, (fact, neighbours) in enumerate(zip(new, near, strict=True)):
        if len(pairs) + _NEIGHBOURS > MAX_PAIRS:
            # the others are left for the next run
            return new[:looked], list(pairs.values())
        # the nearest of all, and those that share words: a fact is nearest to itself
        others = [one for one in neighbours if one.id != fact.id]
        for place, other in enumerate(others):
            ways = [other.text, other.quote, other.reading, *(wording.text for wording in other.wordings)]
            if _may_be_one(fact, other) and (place == 0 or share(fact.text, ways) >= _ALIKE):
                earlier, later = sorted((fact, other), key=_place)
                kept_first = (later, earlier) if is_put_anew(earlier, later) else (earlier, later)
                pairs.setdefault(frozenset((fact.id, other.id)), kept_first)
    return new, list(pairs.values())


def _may_be_one(one: Fact, other: Fact) -> bool:
    """Return true if two facts may be equal: same numbers, same polarity, and no open doubt between them."""
    denied = {denial_of(one.text), denial_of(other.text)} - {None}
    return (
        not other.verbatim
        and other.current
        and (one.origin == other.origin or is_put_anew(one, other) or is_put_anew(other, one))
        and numbers(one.text) == numbers(other.text)
        and len(denied) < 2
        and other.id not in one.doubts
        and one.id not in other.doubts
        and (one.about == other.about or "user" in (one.about, other.about))
    )


def _merged(kept: Fact, other: Fact, facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return the changed facts after a merge; dependents of the retired fact move to the other."""
    if is_put_anew(other, kept):
        # what others say adds nothing to what its owner does but its wording
        whole = put_anew(kept, other)
    else:
        again = said_again(kept, other)
        whole = again.model_copy(update={"wordings": tuple(dict.fromkeys((*again.wordings, *other.wordings)))})
    more = {
        "needs": tuple(need for need in whole.needs if need not in (kept.id, other.id)),
        "needed_by": tuple(dict.fromkeys((*whole.needed_by, *other.needed_by))),
    }
    moved = {}
    for id_ in other.needed_by:
        if id_ in facts:
            needs = tuple(kept.id if need == other.id else need for need in facts[id_].needs)
            moved[id_] = facts[id_].model_copy(update={"needs": needs})
    gone = retire(other, other.said_at, now(), superseded_by=kept.id)
    return {**moved, kept.id: whole.model_copy(update=more), other.id: gone}


# Entity resolution behind the turns: a model decides the doubtful pairs.

_SHOWN = 3  # Latest facts of each concept in the prompt
_MADE = "concepts"  # Key, in the user's bookkeeping, for the time of the last rebuild

# Interval of rebuilds: writing a fact updates its concepts, so only imports and the like need one
_MADE_ANEW = timedelta(days=1)

_KEPT = 1_000  # Judged doubts in the note, the latest


@dataclass
class EntityResolution(Strategy[Verdict]):
    """Update of a user's concepts from the facts."""

    note_key = "doubts"

    async def gather(self, noted: Mapping[str, Any], asker: Asker | None) -> Gathered[Verdict]:
        """Pair concepts that may be one; a model is asked about new doubts only."""
        concepts = await _up_to_date(self.store, self.user_id)
        if asker is None:
            return Gathered()
        seen, known = noted.get("pairs", []), frozenset(noted.get("pairs", []))

        def doubted() -> list[Candidate]:
            # the strongest that no model has judged in their present form
            return list(islice((pair for pair in candidates(concepts) if _digest(pair) not in known), MAX_PAIRS))

        left = await asyncio.to_thread(doubted)
        if not left:
            return Gathered()

        def judged_by_model(told: Mapping[str, set[int]]) -> list[Verdict]:
            same, different = told["same"], told["different"]
            decided: list[tuple[set[int], Decider | None]] = [(different - same, None), (same - different, "model")]
            return [Verdict(left[n].one, left[n].other, by) for places, by in decided for n in sorted(places)]

        shown = await _shown(self.store, self.user_id, left)
        question = question_about("consolidate_concepts", shown, ["same", "different"], judged_by_model)
        asked = Asked(question, [_digest(pair) for pair in left])
        return Gathered(questions=[asked], noted=lambda keys: {"pairs": [*seen, *keys][-_KEPT:]} if keys else None)

    async def merge(self, drafts: Sequence[Verdict], there: Values, report: Report) -> list[Change]:
        """Merge and split concepts, unless later merges or facts contradict."""
        if not drafts:
            return []
        before = await load_concepts(self.store, self.user_id)
        return await asyncio.to_thread(judged, self.user_id, before, drafts)


async def _up_to_date(store: BaseStore, user_id: str) -> Collection[Concept]:
    """Return a user's concepts, rebuilt from all facts if the last rebuild is a day old."""
    item = await store.aget(meta_namespace(user_id), _MADE)
    if item is not None and now() - datetime.fromisoformat(item.value["at"]) < _MADE_ANEW:
        return (await load_concepts(store, user_id)).values()
    concepts = await refresh_concepts(store, user_id)
    await write(store, [PutOp(meta_namespace(user_id), _MADE, {"at": now().isoformat()}, index=False)])
    return concepts


def _digest(pair: Candidate) -> str:
    """Return the fingerprint of a doubt: of the two concepts and their facts."""
    told = "\x1f".join((pair.one.id, *pair.one.source_ids, "", pair.other.id, *pair.other.source_ids))
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


async def _shown(store: BaseStore, user_id: str, asked: Sequence[Candidate]) -> list[tuple[Any, Any]]:
    """Return the two sides of each pair for the prompt: the names, and the latest facts of each concept."""
    facts = {source for pair in asked for one in (pair.one, pair.other) for source in one.source_ids}
    found = await sources_of(store, user_id, facts, [MemoryScope.SEMANTIC])
    told = {id_: Fact.from_value(value) for id_, value in found.items()}

    def side(concept: Concept) -> dict[str, Any]:
        about = [told[id_] for id_ in concept.source_ids if id_ in told]
        latest = sorted(about, key=lambda fact: (fact.said_at, fact.id), reverse=True)[:_SHOWN]
        names = list(dict.fromkeys(alias.name for alias in concept.aliases))
        return {"names": names, "memories": [as_said(fact) for fact in latest]}

    return [(side(pair.one), side(pair.other)) for pair in asked]
