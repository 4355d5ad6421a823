"""Consolidation: behind the turns, in bounded work, what many memories come to becomes knowledge of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from langgraph.store.base import BaseStore, PutOp

from react_mem.errors import ExtractionError
from react_mem.memory.llm.asking import Asker
from react_mem.memory.merging.standing_knowledge import load_knowledge, sources_of, without
from react_mem.memory.model.changes import Change, delete, put
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.knowledge import Knowledge, Reference, confidence
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.model.origins import lowest
from react_mem.memory.model.records import Fact, now
from react_mem.memory.reflect.knowledge.counting import Drawn, counted
from react_mem.memory.reflect.knowledge.memory_groups import Memories, digest, groups, read_memories
from react_mem.memory.reflect.knowledge.proposing import propose
from react_mem.memory.store.transactions import transact

MAX_CALLS = 5
"""Groups that a model is asked about in one run; the others wait for the next."""

_MAX_LINKS = 8
_LOOKED_AT = "consolidated"
"""The key, among the bookkeeping of a user, of the groups that a model was asked about."""

log = logging.getLogger(__name__)


@dataclass
class ConsolidationReport:
    """What one run did.

    Args:
        drawn: The texts that are new or have changed.
        dropped: How many no longer stand.
        calls: How many model calls it took.
        refused: Why proposals of the model were not taken.
        problem: What went wrong, for the user; empty when nothing did.
    """

    drawn: list[str] = field(default_factory=list)
    dropped: int = 0
    calls: int = 0
    refused: list[str] = field(default_factory=list)
    problem: str = ""


async def consolidate(
    store: BaseStore, user_id: str, agent_id: str, *, asker: Asker | None = None
) -> ConsolidationReport:
    """Draw knowledge from a user's facts and episodes, and put right what was drawn before.

    Running it again changes nothing, and asks no model, until there is something new. Two workers may do so at once.

    Args:
        store: The store.
        user_id: The owner: what is drawn from one user's memories is kept for this one only.
        agent_id: The agent in whose name it runs.
        asker: Asks a model beyond what can be counted; None for counting alone. Where it fails, that is what is left.

    Returns:
        What changed.
    """
    memories = await read_memories(store, user_id)
    # hundreds of facts take a tenth of a second
    drawn = await asyncio.to_thread(counted, memories.facts, memories.former, memories.episodes)
    report = ConsolidationReport()
    looked_at: list[str] | None = None
    if asker is not None:
        proposed, looked_at = await _ask(store, user_id, asker, memories, report)
        drawn += proposed

    async def step() -> tuple[ConsolidationReport, list[Change]]:
        known = await load_knowledge(store, user_id)
        ids = {source for one in drawn for source in one.source_ids}
        ids |= {source for known_ in known.values() for source in known_.source_ids}
        values = await sources_of(store, user_id, ids)
        ended = {id_: Fact.from_value(value) for id_, value in values.items() if value.get("current") is False}
        standing = {id_: str(value["text"]) for id_, value in values.items() if id_ not in ended}
        # what was counted is counted again
        worded = [one for one in known.values() if one.made_by != "rules" and values.keys() >= {*one.source_ids}]
        after = {one.id: one for one in (without(one, ended, standing) for one in worded) if one is not None}
        for one in drawn:
            record = _record(one, agent_id, memories, standing, known)
            if record is not None and not _is_known(record, after.values()):
                after[record.id] = record
        changed = [one for id_, one in after.items() if one != known.get(id_)]
        gone = [id_ for id_ in known if id_ not in after]
        done = ConsolidationReport(
            [one.text for one in changed], len(gone), report.calls, report.refused, report.problem
        )
        changes = [put(user_id, one) for one in changed]
        changes += [delete(user_id, MemoryScope.SEMANTIC, id_) for id_ in gone]
        if looked_at is not None and looked_at != await _looked_at(store, user_id):
            changes.append(PutOp(meta_namespace(user_id), _LOOKED_AT, {"groups": looked_at}, index=False))
        return done, changes

    return await transact(store, user_id, step)


async def _ask(
    store: BaseStore, user_id: str, asker: Asker, memories: Memories, report: ConsolidationReport
) -> tuple[list[Drawn], list[str]]:
    """Ask about groups that nobody was asked about, and return what is said with the groups that are done."""
    wanted = {digest(group): group for group in await asyncio.to_thread(groups, memories.evidence)}
    seen = await _looked_at(store, user_id)
    done = [known for known in seen if known in wanted]
    drawn: list[Drawn] = []
    for key in [key for key in wanted if key not in seen][:MAX_CALLS]:
        report.calls += 1
        try:
            said = await propose(asker, wanted[key])
        except ExtractionError as error:
            log.warning("no knowledge is drawn with the model: %s", error)
            report.problem = str(error)
            break
        drawn += said.drawn
        report.refused += said.refused
        done.append(key)
    return drawn, done


async def _looked_at(store: BaseStore, user_id: str) -> list[str]:
    item = await store.aget(meta_namespace(user_id), _LOOKED_AT)
    return list(item.value["groups"]) if item is not None else []


def _record(
    drawn: Drawn, agent_id: str, memories: Memories, standing: Collection[str], known: Mapping[str, Knowledge]
) -> Knowledge | None:
    """Return what was drawn as a record; None where some of it stands no longer."""
    if not set(drawn.source_ids) <= set(standing):
        return None
    id_ = Knowledge.identity(drawn.about, drawn.key or drawn.text)
    before = known.get(id_)
    cited = {*drawn.source_ids}
    sources = [one for one in (*memories.facts, *memories.episodes) if one.id in cited]
    messages = [source for one in sources for source in one.source_ids]
    return Knowledge(
        id=id_,
        text=drawn.text,
        form=drawn.form,
        about=drawn.about,
        proofs=drawn.proofs,
        confidence=confidence(drawn.proofs, drawn.against),
        made_by=drawn.made_by,
        links=tuple(Reference(to=one) for one in memories.summaries_of(messages)[:_MAX_LINKS]),
        created_at=before.created_at if before is not None else now(),
        session_id="",
        agent_id=before.agent_id if before is not None else agent_id,
        source_ids=drawn.source_ids,
        origin=lowest(one.origin for one in sources),
    )


def _is_known(record: Knowledge, known: Iterable[Knowledge]) -> bool:
    """Return whether a model says once more, in other words, what it said of the same memories."""
    if record.made_by == "rules":
        return False
    return any(
        one.id != record.id and one.form == record.form and set(record.source_ids) <= set(one.source_ids)
        for one in known
        if one.made_by != "rules"
    )
