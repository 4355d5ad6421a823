"""A store that knows what its index lacks."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from react_mem.memory.model.namespaces import Namespace


@runtime_checkable
class IndexedStore(Protocol):
    """A store that knows which of its items its index holds nothing of."""

    async def aunindexed(self, namespace: Namespace, kind: str, *, after: str, limit: int) -> list[str]:
        """Return the keys of such items of one namespace and kind, in order, beginning behind a key."""
