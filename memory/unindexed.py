"""Messages that no search finds and that nothing waits to index: what an older version lost is indexed after all."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from react_mem.memory.changes import Change, put
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.interface import MemoryScope
from react_mem.memory.namespaces import Namespace, scope_namespace
from react_mem.memory.records import Message
from react_mem.memory.transactions import transact

_BATCH = 50
"""Messages a step: what is embedded at once."""


@runtime_checkable
class IndexedStore(Protocol):
    """A store that knows which of its items its index holds nothing of."""

    async def aunindexed(self, namespace: Namespace, kind: str, *, after: str, limit: int) -> list[str]:
        """Return the keys of such items of one namespace and kind, in order, beginning behind a key."""


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
    while ids := await store.aunindexed(namespace, "message", after=last, limit=_BATCH):
        last = ids[-1]
        found += await _index(memory, user_id, ids)
    return found


async def _index(memory: MemoryFacade, user_id: str, ids: list[str]) -> int:
    async def step() -> tuple[int, list[Change]]:
        waiting = {source for note in await memory.pending(user_id) for source in note.get("source_ids", ())}
        stored = await memory.records(user_id, MemoryScope.DIALOG, ids)
        lost = [Message.from_value(value) for id_, value in stored.items() if id_ not in waiting]
        changes = [put(user_id, MemoryScope.DIALOG, message) for message in lost if message.text.strip()]
        return len(changes), changes

    return await transact(memory.store, user_id, step)
