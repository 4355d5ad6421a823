"""Ending a conversation because somebody says so, without waiting until it has gone quiet."""

from __future__ import annotations

from langgraph.store.base import BaseStore

from react_mem.memory.model.changes import write
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import CONVERSATION
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.records import now
from react_mem.memory.model.states import Conversation
from react_mem.memory.work.items import Work, announce, put_work


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
