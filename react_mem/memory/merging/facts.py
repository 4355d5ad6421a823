"""Writes of facts: proposals of a model and of the agent's tools go through the same reconciliation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, cast

from langgraph.store.base import BaseStore, GetOp, Item, Op, SearchItem, SearchOp

from react_mem.memory.merging.concepts.concept_store import concept_changes
from react_mem.memory.merging.reconcile import doubted, reconcile, wanted
from react_mem.memory.merging.skill_life import stale_knowledge
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import FACT
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.operations import Operation
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.receipt import Change, put
from react_mem.memory.model.records import Fact, Message
from react_mem.memory.store.transactions import transact

_VERBATIM = 1_000
"""Verbatim statements of one conversation that are looked at: more than one person makes in one."""

_HEIRS = 5
"""Successors followed from a fact that was replaced after it was shown."""


async def load_facts(
    store: BaseStore,
    user_id: str,
    operations: Sequence[Operation],
    ids: Sequence[str] = (),
    *,
    verbatim_in: str | None = None,
) -> dict[str, Fact]:
    """Return the stored facts that operations may change, and those with the given ids, by id.

    One round trip; more only if a fact has been superseded since, or is in doubt about another.
    `verbatim_in` is a conversation whose verbatim statements are returned too.
    """
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    ops: list[Op] = [GetOp(namespace, id_) for id_ in dict.fromkeys([*wanted(operations), *ids])]
    if verbatim_in is not None:
        said = {"verbatim": True, "session_id": verbatim_in}
        ops.append(SearchOp(namespace, filter=said, limit=_VERBATIM, refresh_ttl=False))
    found: dict[str, Fact] = {}
    for _ in range(_HEIRS):
        for answer in await store.abatch(ops) if ops else []:
            items = answer if isinstance(answer, list) else [answer]
            for item in cast("list[Item | SearchItem | None]", items):
                if item is not None and FACT.matches(item.value):
                    found[item.key] = Fact.from_value(item.value)
        named = {id_ for fact in found.values() for id_ in (fact.superseded_by or "", *fact.doubts) if id_}
        # what needs a fact that others vouch for needs the one that takes its place, should the user say it now
        named |= {id_ for fact in found.values() if fact.origin is not Origin.USER for id_ in fact.needed_by}
        more = named - set(found)
        asked = {op.key for op in ops if isinstance(op, GetOp)}
        ops = [GetOp(namespace, id_) for id_ in sorted(more - asked)]
        if not ops:
            break
    return found


async def fact_changes(store: BaseStore, user_id: str, facts: Sequence[Fact]) -> list[Change]:
    """Return the writes of facts and their consequences: doubts, concepts, and knowledge that lost a proof.

    The store is asked only if a fact has a name or has ended.
    """
    ended = {id_ for fact in facts if not fact.current for id_ in fact.needed_by}
    dependants = await load_facts(store, user_id, (), sorted(ended - {fact.id for fact in facts})) if ended else {}
    in_batch = {fact.id: fact for fact in facts}
    in_doubt = doubted([*dependants.values(), *facts], facts)
    written = list({**in_batch, **{fact.id: fact for fact in in_doubt}}.values())
    return [
        *(put(user_id, fact) for fact in written),
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
    said: Mapping[str, Message] | None = None,
    told: Mapping[str, Any] = MappingProxyType({}),
) -> list[Fact]:
    """Reconcile operations with the stored facts, write the changes, and return them, or raise `WriteConflict`."""

    async def step() -> tuple[list[Fact], list[Change]]:
        stored = await load_facts(store, user_id, operations)
        changed = reconcile(operations, stored, at=at, session_id=session_id, agent_id=agent_id, said=said)
        stated = {operation.id for operation in operations}
        changed = [fact.model_copy(update=told) if told and fact.id in stated else fact for fact in changed]
        return changed, await fact_changes(store, user_id, changed)

    return await transact(store, user_id, step)
