"""Messages kept word for word while there was no model, offered to the extraction of an agent that has one."""

from __future__ import annotations

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.changes import Change, put
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import FACT, MESSAGE, PENDING
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.records import Fact, Message, now
from react_mem.memory.model.states import PendingTurn
from react_mem.memory.store.transactions import transact
from react_mem.memory.work.items import Work, put_work

_AT_ONCE = 20
"""Statements that wait to be drawn from at a time: a year of them is worked off a few with each turn."""

_MAX_NOTE = 600
"""Characters of a message that its note has; the message itself has all of it."""


async def offer_unread(memory: MemoryFacade, user_id: str, agent_id: str) -> int:
    """Let the messages of statements that no model has seen wait for extraction, like those of a new turn.

    Each is offered once: whatever the model makes of it is decided as with a new turn.

    Args:
        memory: The facade.
        user_id: The owner.
        agent_id: The agent, which has a model.

    Returns:
        How many messages wait now.
    """
    namespace = scope_namespace(user_id, MemoryScope.SEMANTIC)
    unread = {"kind": FACT.name, "unread": True, "agent_id": agent_id}

    async def step() -> tuple[int, list[Change]]:
        found = await memory.store.asearch(namespace, filter=unread, limit=_AT_ONCE, refresh_ttl=False)
        facts = [Fact.from_value(item.value) for item in found]
        if not facts:
            return 0, []
        # what waits anyway, since it has been said again, is not to wait twice
        waiting = {id_ for value in await memory.pending(user_id) for id_ in value["source_ids"]}
        ids = [id_ for fact in facts for id_ in fact.source_ids if id_ not in waiting]
        values = (await memory.records(user_id, MemoryScope.DIALOG, ids)).values()
        said = [Message.from_value(value) for value in values if MESSAGE.matches(value)]
        changes = [put(user_id, fact.model_copy(update={"unread": False})) for fact in facts]
        changes += [put(user_id, _waiting(message, agent_id)) for message in said]
        at = int(now().timestamp() * 1000)
        for session_id in dict.fromkeys(message.session_id for message in said):
            work = Work(kind="extract", agent=agent_id, session=session_id, due_at=at)
            changes.append(put_work(user_id, work))
        return len(said), changes

    return await transact(memory.store, user_id, step)


def _waiting(message: Message, agent_id: str) -> PendingTurn:
    return PendingTurn(
        id=PENDING.id(message.id),
        text=message.text[:_MAX_NOTE],
        created_at=message.created_at,
        # it has joined its conversation's chain when it was said
        chained=True,
        session_id=message.session_id,
        agent_id=agent_id,
        source_ids=(message.id,),
    )
