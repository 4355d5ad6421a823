"""Appending of messages to a conversation's chain: each once, in order, whoever stored it and when."""

from __future__ import annotations

from collections.abc import Sequence

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.chain import ContextChain
from react_mem.memory.model.changes import Change, put
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import MESSAGE
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.records import Message
from react_mem.memory.model.states import PendingTurn
from react_mem.memory.store.owned import WHOLE
from react_mem.memory.summaries.summary_groups import MAX_WAITING


async def load_chain(memory: MemoryFacade, user_id: str, session_id: str) -> ContextChain | None:
    """Return the chain of a conversation; None where it has none.

    Args:
        memory: The facade.
        user_id: The owner.
        session_id: The conversation.
    """
    found = await memory.records(user_id, MemoryScope.STATE, [ContextChain.identity(session_id)])
    return next((ContextChain.from_value(value) for value in found.values()), None)


async def join(
    memory: MemoryFacade, user_id: str, turns: Sequence[PendingTurn], messages: Sequence[Message]
) -> list[Change]:
    """Return the write that lets the messages of turns join the chain of their conversation; none where they have.

    What follows directly on what joined last is appended. Anything else - the first turn of a conversation that is
    older than its chain, a gap, a branch - is looked up in the whole conversation.

    Args:
        memory: The facade.
        user_id: The owner.
        turns: Turns of one conversation, in their order.
        messages: What was said in them.
    """
    if not turns:
        return []
    before = await load_chain(memory, user_id, turns[0].session_id)
    if before is None:
        chain = ContextChain.begin(turns[0].session_id, turns[0].agent_id)
        return _write(user_id, None, await caught_up(memory, user_id, chain))
    after: ContextChain | None = before
    said = {message.id: message for message in messages}
    for turn in turns:
        # what has yet to be caught up with comes before this turn
        if not turn.chained and not before.behind and after is not None:
            after = _followed(after, turn, said)
    return _write(user_id, before, after or await caught_up(memory, user_id, before))


async def caught_up(memory: MemoryFacade, user_id: str, chain: ContextChain) -> ContextChain:
    """Return a chain with what its conversation has beyond it, as far as there is room for it to wait.

    It reads the whole conversation.

    Args:
        memory: The facade.
        user_id: The owner.
        chain: The chain.
    """
    namespace = scope_namespace(user_id, MemoryScope.DIALOG)
    # one listing is one snapshot: of pages, a write in between moves some
    found = await memory.store.asearch(
        namespace, filter={"session_id": chain.session_id}, limit=WHOLE, refresh_ttl=False
    )
    joined = {entry.id for entry in chain.entries}
    for item in found:
        if item.value.get("chain") and item.value["level"] == "1":
            joined.update(item.value["source_ids"])
    missing = [item.value for item in found if MESSAGE.matches(item.value) and item.key not in joined]
    missing.sort(key=lambda value: (value["turn"], str(value["created_at"]), value["id"]))
    room = max(MAX_WAITING - chain.waiting, 0)
    latest = tuple(id_ for id_ in chain.latest if id_ in joined)
    after = chain.model_copy(update={"latest": latest}).append([Message.from_value(v) for v in missing[:room]])
    return after.model_copy(update={"behind": len(missing) > room})


def _followed(chain: ContextChain, turn: PendingTurn, said: dict[str, Message]) -> ContextChain | None:
    """Return the chain with what is new of a turn; None where something between them may be missing."""
    before = turn.context_ids[-1] if turn.context_ids else None
    for id_ in turn.source_ids:
        if id_ in said and not chain.has(id_):
            if before is not None and not chain.has(before):
                return None
            chain = chain.append([said[id_]])
        before = id_
    return chain


def _write(user_id: str, before: ContextChain | None, after: ContextChain) -> list[Change]:
    return [put(user_id, after)] if after != before and after.entries else []
