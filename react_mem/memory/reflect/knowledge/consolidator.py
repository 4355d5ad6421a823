"""Consolidation: generalisations over many memories become knowledge."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from react_mem.memory.language.text import normalise
from react_mem.memory.llm.asking import Asker
from react_mem.memory.merging.skill_life import SCOPES, load_knowledge, sources_of, without
from react_mem.memory.model.concepts import Knowledge, Reference, confidence
from react_mem.memory.model.kinds import KNOWLEDGE
from react_mem.memory.model.origins import lowest
from react_mem.memory.model.receipt import Change, delete, put
from react_mem.memory.model.records import Fact, now
from react_mem.memory.reflect.driver import Asked, Checked, Gathered, Report, Strategy
from react_mem.memory.reflect.knowledge.counting import Drawn, counted
from react_mem.memory.reflect.knowledge.memory_groups import Memories, digest, groups, read_memories
from react_mem.memory.reflect.knowledge.proposing import question_about

_MAX_LINKS = 8


@dataclass
class Consolidation(Strategy[Drawn]):
    """Knowledge from a user's facts and episodes; what was drawn before is put right.

    Args:
        agent_id: The agent in whose name it runs.
    """

    agent_id: str
    note_key = "consolidated"
    sources = SCOPES
    _memories: Memories = field(default_factory=Memories)

    async def gather(self, noted: Mapping[str, Any], asker: Asker | None) -> Gathered[Drawn]:
        """Count what recurs; a model is asked about groups of memories that it was not asked about as they are now."""
        self._memories = memories = await read_memories(self.store, self.user_id)
        # hundreds of facts take a tenth of a second
        found = Checked(await asyncio.to_thread(counted, memories.facts, memories.former, memories.episodes))
        if asker is None:
            return Gathered(found)
        wanted = {digest(group): group for group in await asyncio.to_thread(groups, memories.evidence)}
        seen = noted.get("groups", [])
        return Gathered(
            found,
            [Asked(question_about(group, asker.name), [key]) for key, group in wanted.items() if key not in seen],
            lambda keys: {"groups": [*(key for key in seen if key in wanted), *keys]},
        )

    async def merge(self, drafts: Sequence[Drawn], there: Mapping[str, dict[str, Any]], report: Report) -> list[Change]:
        """Redraw what was counted, keep what a model worded while it stands, and drop the rest."""
        known = await load_knowledge(self.store, self.user_id)
        cited = {source for one in known.values() for source in one.source_ids}
        values = {**there, **await sources_of(self.store, self.user_id, cited - there.keys())}
        ended = {id_: Fact.from_value(value) for id_, value in values.items() if value.get("current") is False}
        standing = {id_: str(value["text"]) for id_, value in values.items() if id_ not in ended}
        worded = [one for one in known.values() if one.made_by != "rules" and values.keys() >= {*one.source_ids}]
        after = {one.id: one for one in (without(one, ended, standing) for one in worded) if one is not None}
        for one in drafts:
            record = _record(one, self.agent_id, self._memories, standing, known)
            if record is not None and not _is_known(record, after.values()):
                after[record.id] = record
        changed = [one for id_, one in after.items() if one != known.get(id_)]
        gone = [id_ for id_ in known if id_ not in after]
        report.stored += [one.text for one in changed]
        changes = [put(self.user_id, one) for one in changed]
        return [*changes, *(delete(self.user_id, KNOWLEDGE, id_) for id_ in gone)]


def _record(
    drawn: Drawn, agent_id: str, memories: Memories, standing: Collection[str], known: Mapping[str, Knowledge]
) -> Knowledge | None:
    """Return what was drawn as a record; None where some of it stands no longer."""
    if not set(drawn.source_ids) <= set(standing):
        return None
    id_ = KNOWLEDGE.id(drawn.about, normalise(drawn.key or drawn.text))
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
