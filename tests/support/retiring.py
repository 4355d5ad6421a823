"""Facts that have ended, for tests of what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.facts import write_facts
from react_mem.memory.model.operations import Operation
from react_mem.memory.model.records import Fact, now


async def retire(memory: MemoryFacade, *ids: str, user_id: str = "ann", source_ids: Sequence[str] = ()) -> list[Fact]:
    """End facts as what is drawn from a turn ends them; return those that were current until now."""
    ends = [Operation("ends", "", target_id=id_, source_ids=tuple(source_ids)) for id_ in ids]
    changed = await write_facts(memory.store, user_id, ends, at=now(), session_id="then", agent_id="tester")
    return [fact for fact in changed if not fact.current]
