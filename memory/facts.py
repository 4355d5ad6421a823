"""Writing facts: whoever proposes them, a model or the agent's own tool, the same reconciling decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from langgraph.store.base import BaseStore, GetOp, Item, Op, SearchItem, SearchOp

from memory.changes import Change, put
from memory.concepts import concept_changes
from memory.consolidation import stale_knowledge
from memory.extraction import Operation
from memory.interface import MemoryScope
from memory.namespaces import scope_namespace
from memory.reconcile import Said, reconcile, slots, targets
from memory.records import Fact
from memory.transactions import transact

_SLOT_LIMIT = 1_000
"""Facts of one slot, such as all a user likes: beyond what one person says of one thing."""


async def load_facts(
    store: BaseStore,
    user_id: str,
    operations: Sequence[Operation],
    ids: Sequence[str] = (),
    *,
    verbatim_in: str | None = None,
) -> dict[str, Fact]:
    """Return the stored facts that these operations may change, and those with the given ids, in one round trip.

    Args:
        store: The store.
        user_id: The owner.
        operations: What is to be reconciled.
        ids: More facts to return.
        verbatim_in: A conversation of which the statements that are kept word for word are returned as well.
    """
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    ops: list[Op] = [
        SearchOp(namespace, filter={"slot": slot}, limit=_SLOT_LIMIT, refresh_ttl=False) for slot in slots(operations)
    ]
    ops += [GetOp(namespace, id_) for id_ in dict.fromkeys([*targets(operations), *ids])]
    if verbatim_in is not None:
        said = {"verbatim": True, "session_id": verbatim_in}
        ops.append(SearchOp(namespace, filter=said, limit=_SLOT_LIMIT, refresh_ttl=False))
    found: dict[str, Fact] = {}
    for answer in await store.abatch(ops) if ops else []:
        items = answer if isinstance(answer, list) else [answer]
        for item in cast("list[Item | SearchItem | None]", items):
            if item is not None and item.value.get("kind") == "fact":
                found[item.key] = Fact.from_value(item.value)
    return found


async def fact_changes(store: BaseStore, user_id: str, facts: Sequence[Fact]) -> list[Change]:
    """Return the writes of facts with what follows from them: who and what they name, knowledge that has lost a proof.

    The store is asked only where a fact uses a name or has ended.

    Args:
        store: The store.
        user_id: The owner.
        facts: Facts that are new or have changed.
    """
    return [
        *(put(user_id, MemoryScope.SEMANTIC, fact) for fact in facts),
        *await concept_changes(store, user_id, facts),
        *await stale_knowledge(store, user_id, facts),
    ]


async def write_facts(
    store: BaseStore,
    user_id: str,
    operations: Sequence[Operation],
    *,
    at: datetime,
    session_id: str,
    agent_id: str,
    said: Mapping[str, Said] | None = None,
) -> list[Fact]:
    """Reconcile operations with what is stored, and write what changes.

    Args:
        store: The store.
        user_id: The owner.
        operations: Additions, updates and retractions.
        at: When they are written.
        session_id: The conversation they come from.
        agent_id: The agent that heard them.
        said: The messages that are cited.

    Returns:
        The facts that are new or have changed.

    Raises:
        WriteConflict: If other writers of the owner were faster every time.
    """

    async def step() -> tuple[list[Fact], list[Change]]:
        stored = await load_facts(store, user_id, operations)
        changed = reconcile(operations, stored, at=at, session_id=session_id, agent_id=agent_id, said=said)
        return changed, await fact_changes(store, user_id, changed)

    return await transact(store, user_id, step)
