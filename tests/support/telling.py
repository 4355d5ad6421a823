"""Facts that a user tells, written as an extraction writes them but without a model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from langgraph.store.base import BaseStore

from react_mem.memory.merging.facts import write_facts
from react_mem.memory.model.operations import Operation, Relation
from react_mem.memory.model.records import Fact, fact_id, now


async def tell(
    store: BaseStore,
    text: str,
    relation: Relation = "new",
    target: str | None = None,
    *,
    about: str = "user",
    needs: Sequence[str] = (),
    source_ids: Sequence[str] = (),
    user_id: str = "ann",
    session_id: str = "monday",
    agent_id: str = "assistant",
    at: datetime | None = None,
) -> list[Fact]:
    """Let a user tell something.

    Args:
        store: Where it is kept.
        text: The user's words.
        relation: How they stand to the target.
        target: The words of the fact that is meant.
        about: Whom it is about.
        needs: The words of the facts that it depends on.
        source_ids: The messages that say it.
        user_id: The owner.
        session_id: The conversation.
        agent_id: The agent that hears it.
        at: When; by default now.

    Returns:
        The facts that are new or have changed.
    """
    operation = Operation(
        relation,
        text,
        about=about,
        target_id=fact_id(about, target) if target else None,
        source_ids=tuple(source_ids),
        needs=tuple(fact_id(about, one) for one in needs),
    )
    return await write_facts(store, user_id, [operation], at=at or now(), session_id=session_id, agent_id=agent_id)
