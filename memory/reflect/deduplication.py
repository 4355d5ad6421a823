"""Deduplication behind the turns: facts that say the same in other words become one, where a model says that they do.

An extraction names what repeats a fact that it was shown; what it misses is found here. Vectors and words only propose
pairs, since neither can tell a fact from its opposite; one small call a batch decides, and code refuses pairs whose
numbers or denials differ.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from langgraph.store.base import BaseStore, PutOp, SearchItem, SearchOp

from react_mem.errors import ExtractionError
from react_mem.memory.language import denial_of
from react_mem.memory.language.comparison import numbers, share
from react_mem.memory.llm.asking import Asker, as_lines
from react_mem.memory.llm.schema import object_schema
from react_mem.memory.merging.facts import fact_changes, load_facts
from react_mem.memory.merging.reconcile import retire, said_again
from react_mem.memory.model.changes import Change, write
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import meta_namespace, scope_namespace
from react_mem.memory.model.records import Fact, now
from react_mem.memory.store.transactions import transact

_MAX_PAIRS = 20
"""Pairs of one model call; a run makes one."""

_NEW = 50
"""New facts looked at in a run, the oldest first; the others are left for the next."""

_NEIGHBOURS = 4
_ALIKE = 0.5
"""Share of words in common from which two facts are asked about, whatever place vectors give them."""

_LAST = "\uffff"
"""An id behind all others, for a note that has none."""

_LOOKED = "deduplication"
"""The key, among the bookkeeping of a user, of how far the facts have been looked at."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Deduplicated:
    """What one run did.

    Args:
        merged: The texts that became wordings of other facts.
        calls: How many model calls it took.
        problem: What went wrong, for the user; empty when nothing did.
    """

    merged: Sequence[str] = ()
    calls: int = 0
    problem: str = ""


async def deduplicate(store: BaseStore, user_id: str, *, asker: Asker) -> Deduplicated:
    """Merge a user's facts that say the same, of those that are new since the last run and their neighbours.

    Where nothing is new, nobody is asked anything.

    Args:
        store: The store.
        user_id: The owner.
        asker: Asks a model.
    """
    item = await store.aget(meta_namespace(user_id), _LOOKED)
    since = (datetime.fromisoformat(item.value["at"]), str(item.value.get("id", _LAST))) if item is not None else None
    new, pairs = await _pairs(store, user_id, await _new_facts(store, user_id, since))
    if not pairs:
        await _note(store, user_id, new)
        return Deduplicated()
    shown = [{"pair": f"p{n}", "a": _told(one), "b": _told(other)} for n, (one, other) in enumerate(pairs, 1)]
    try:
        said = await asker.ask("deduplicate_facts", as_lines("pairs", shown), _schema(len(pairs)))
    except ExtractionError as error:
        log.warning("facts are left apart, the model did not say whether they are the same: %s", error)
        return Deduplicated((), 1, str(error))
    named = said.get("same")
    merged: list[str] = []
    for number, (one, other) in enumerate(pairs, 1):
        if isinstance(named, list) and f"p{number}" in named:
            merged += await _merge(store, user_id, one.id, other.id)
    await _note(store, user_id, new)
    return Deduplicated(merged, 1)


async def _new_facts(store: BaseStore, user_id: str, since: tuple[datetime, str] | None) -> list[Fact]:
    """Return the believed facts that came since the last run, the oldest first; what was written together by id."""
    found: list[Fact] = []
    page: list[SearchItem] = []
    while not found or len(page) == _PAGE:
        page = await store.asearch(
            scope_namespace(user_id, MemoryScope.SEMANTIC),
            filter=_BELIEVED,
            limit=_PAGE,
            offset=len(found),
            refresh_ttl=False,
        )
        if not page:
            break
        found += [Fact.from_value(item.value) for item in page]
    new = [fact for fact in found if not fact.verbatim and (since is None or _place(fact) > since)]
    return sorted(new, key=_place)[:_NEW]


def _place(fact: Fact) -> tuple[datetime, str]:
    return fact.created_at, fact.id


_PAGE = 500
_BELIEVED = {"kind": "fact", "current": True}


async def _pairs(store: BaseStore, user_id: str, new: Sequence[Fact]) -> tuple[Sequence[Fact], list[tuple[Fact, Fact]]]:
    """Return the new facts for whose pairs there is room, and the pairs of an earlier fact and one of them."""
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    searches = [SearchOp(namespace, filter=_BELIEVED, limit=_NEIGHBOURS, query=fact.text) for fact in new]
    answers = cast("list[list[SearchItem]]", await store.abatch(searches)) if searches else []
    return await asyncio.to_thread(_alike, new, [[Fact.from_value(item.value) for item in one] for one in answers])


def _alike(new: Sequence[Fact], near: Sequence[Sequence[Fact]]) -> tuple[Sequence[Fact], list[tuple[Fact, Fact]]]:
    pairs: dict[frozenset[str], tuple[Fact, Fact]] = {}
    for looked, (fact, neighbours) in enumerate(zip(new, near, strict=True)):
        if len(pairs) + _NEIGHBOURS > _MAX_PAIRS:
            # the others are left for the next run
            return new[:looked], list(pairs.values())
        # the nearest of all, and those that share words: a fact is nearest to itself
        others = [one for one in neighbours if one.id != fact.id]
        for place, other in enumerate(others):
            if _may_be_one(fact, other) and (place == 0 or share(fact.text, _ways(other)) >= _ALIKE):
                earlier, later = sorted((fact, other), key=_place)
                pairs.setdefault(frozenset((fact.id, other.id)), (earlier, later))
    return new, list(pairs.values())


def _ways(fact: Fact) -> list[str]:
    return [fact.text, fact.quote, fact.reading, *(wording.text for wording in fact.wordings)]


def _may_be_one(one: Fact, other: Fact) -> bool:
    """Return whether two facts may say the same: not where their numbers differ, one denies, or they are in doubt."""
    denied = {denial_of(one.text), denial_of(other.text)} - {None}
    return (
        not other.verbatim
        and other.current
        and one.origin == other.origin
        and numbers(one.text) == numbers(other.text)
        and len(denied) < 2
        and other.id not in one.doubts
        and one.id not in other.doubts
        and (one.about == other.about or "user" in (one.about, other.about))
    )


async def _merge(store: BaseStore, user_id: str, kept_id: str, other_id: str) -> list[str]:
    """Let the later of two facts become a wording of the earlier one, unless either has changed its state meanwhile."""

    async def step() -> tuple[list[str], list[Change]]:
        stored = await load_facts(store, user_id, (), [kept_id, other_id])
        kept, other = stored.get(kept_id), stored.get(other_id)
        if kept is None or other is None or not _may_be_one(kept, other) or not kept.current:
            return [], []
        whole = said_again(kept, other)
        more = {
            "wordings": tuple(dict.fromkeys((*whole.wordings, *other.wordings))),
            "needed_by": tuple(dict.fromkeys((*whole.needed_by, *other.needed_by))),
        }
        gone = retire(other, other.said_at, now(), superseded_by=kept.id)
        dependants = await load_facts(store, user_id, (), other.needed_by) if other.needed_by else {}
        moved = [
            fact.model_copy(update={"needs": tuple(kept_id if id_ == other_id else id_ for id_ in fact.needs)})
            for fact in dependants.values()
            if other_id in fact.needs
        ]
        return [other.text], await fact_changes(store, user_id, [whole.model_copy(update=more), gone, *moved])

    return await transact(store, user_id, step)


async def _note(store: BaseStore, user_id: str, new: Sequence[Fact]) -> None:
    """Note how far the facts have been looked at."""
    if new:
        at = {"at": new[-1].created_at.isoformat(), "id": new[-1].id}
        await write(store, [PutOp(meta_namespace(user_id), _LOOKED, at, index=False)])


def _told(fact: Fact) -> str:
    return fact.text if fact.about == "user" else f"about {fact.about}: {fact.text}"


def _schema(pairs: int) -> dict[str, Any]:
    named = {"type": "array", "items": {"type": "string", "enum": [f"p{number}" for number in range(1, pairs + 1)]}}
    return object_schema({"same": named}, "duplicates", "The pairs that say the same.")
