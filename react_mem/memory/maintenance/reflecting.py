"""Reflection over many turns: entity resolution, knowledge, skills; and all of them at once, on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.store.base import BaseStore

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.llm.asking import Asker
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import CONVERSATION, MESSAGE
from react_mem.memory.model.namespaces import owner_namespace, scope_namespace
from react_mem.memory.model.receipt import Change, put, write
from react_mem.memory.model.records import Message, now
from react_mem.memory.model.states import Conversation
from react_mem.memory.reflect.consolidation import Consolidation
from react_mem.memory.reflect.deduplication import Deduplication, EntityResolution
from react_mem.memory.reflect.driver import Strategy, run
from react_mem.memory.reflect.skills.learner import Learning
from react_mem.memory.retrieval.last_known import note_new_alike
from react_mem.memory.store.capabilities import capabilities
from react_mem.memory.store.transactions import transact
from react_mem.memory.work.items import Work, announce, put_work
from react_mem.memory.write.conversations import end_conversation, quiet_conversations
from react_mem.memory.write.session import TurnReport
from react_mem.memory.write.turns import Turns

# Messages that no search finds and that nothing waits to index: what an older version lost is indexed after all.

_BATCH = 50
"""Messages of a step, embedded at once."""


async def index_lost_messages(memory: MemoryFacade, user_id: str) -> int:
    """Index the messages of a user without an index entry or a pending turn that would make one; return their number.

    A store that cannot list them is left as it is.
    """
    store = capabilities(memory.store)
    found, last = 0, ""
    namespace = scope_namespace(user_id, MemoryScope.DIALOG)
    while ids := await store.aunindexed(namespace, MESSAGE.name, after=last, limit=_BATCH):
        last = ids[-1]
        found += await _index(memory, user_id, ids)
    return found


async def _index(memory: MemoryFacade, user_id: str, ids: list[str]) -> int:
    async def step() -> tuple[int, list[Change]]:
        waiting = {source for note in await memory.pending(user_id) for source in note.get("source_ids", ())}
        stored = await memory.records(user_id, MemoryScope.DIALOG, ids)
        lost = [Message.from_value(value) for id_, value in stored.items() if id_ not in waiting]
        changes = [put(user_id, message) for message in lost if f"{message.text}{message.keywords}".strip()]
        return len(changes), changes

    return await transact(memory.store, user_id, step)


@dataclass(frozen=True)
class Reflecting:
    """Models of an agent's reflection, the first with its fallbacks, and names of its tools, to learn skills from."""

    models: Sequence[BaseChatModel] = ()
    tools: Sequence[str] = ()


async def maintain(anywhere: Turns, reflecting: Reflecting) -> TurnReport:
    """Extract from pending turns, conclude quiet conversations, and reflect, for one agent and one owner.

    Args:
        anywhere: Any conversation of the two.
    """
    total = await anywhere.extract()
    for session_id in await quiet_conversations(anywhere):
        if total.waiting:
            return total
        total += await end_conversation(replace(anywhere, session_id=session_id))
    return total if total.waiting else total + await reflect(anywhere, reflecting)


async def reflect(anywhere: Turns, reflecting: Reflecting) -> TurnReport:
    """Reflect on many turns, each kind of memory by the policy.

    Args:
        anywhere: Any conversation of an agent and an owner.
    """
    memory, user_id, agent_id = anywhere.memory, anywhere.user_id, anywhere.agent_id
    policy, store = memory.policy, memory.store
    total = TurnReport()
    strategies: list[tuple[Strategy[Any], str, str]] = [
        (EntityResolution(store, user_id), "consolidation", policy.learning.concepts),
        (Deduplication(store, user_id), "consolidation", policy.learning.duplicates),
        (Consolidation(store, user_id, agent_id), "consolidation", policy.learning.knowledge),
        (Learning(memory, user_id, agent_id, reflecting.tools), "learning", policy.learning.skills),
    ]
    for strategy, purpose, chosen in strategies:
        if chosen == "off":
            continue
        asks = chosen == "model" and reflecting.models
        asker = Asker(reflecting.models, policy.extraction.timeout, purpose) if asks else None
        done = await run(strategy, asker)
        total += TurnReport(stored=done.stored, retired=done.retired, calls=done.calls, problem=done.problem)
    return total


async def repair(memory: MemoryFacade, user_id: str) -> None:
    """Restore missing index entries and vectors of an owner's memory after a failure."""
    store = memory.store
    await index_lost_messages(memory, user_id)
    await capabilities(store).amake_up_vectors(owner_namespace(user_id))
    await note_new_alike(store, user_id)


# Ending a conversation because somebody says so, without waiting until it has gone quiet.


async def conclude_soon(store: BaseStore, user_id: str, session_id: str) -> bool:
    """Have a conversation concluded by the next worker: its episode and its outcome are recorded.

    Args:
        store: The store.
        user_id: The owner.
        session_id: The conversation.

    Returns:
        Whether the owner has such a conversation.
    """
    id_ = CONVERSATION.id(session_id)
    item = await store.aget(scope_namespace(user_id, MemoryScope.STATE), id_)
    if item is None:
        return False
    agent = Conversation.from_value(item.value).agent_id
    work = Work(kind="conclude", agent=agent, session=session_id, due_at=int(now().timestamp() * 1000))
    await write(store, [put_work(user_id, work)])
    announce(user_id, [work])
    return True
