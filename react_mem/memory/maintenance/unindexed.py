"""Messages that no search finds and that nothing waits to index: what an older version lost is indexed after all."""

from __future__ import annotations

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.changes import Change, put
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import MESSAGE
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.records import Message
from react_mem.memory.store.indexed_store import IndexedStore
from react_mem.memory.store.transactions import transact

_BATCH = 50
"""Messages a step: what is embedded at once."""


async def index_lost_messages(memory: MemoryFacade, user_id: str) -> int:
    """Index the messages of a user that have no entry in the index though no turn waits that would make one.

    Args:
        memory: The facade. A store that cannot tell what its index holds is left as it is.
        user_id: The owner.

    Returns:
        How many there were.
    """
    store = memory.store
    if not isinstance(store, IndexedStore):
        return 0
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
