"""The one door to memory: every read and write of a graph, a tool or an outside service comes through here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from langgraph.store.base import BaseStore, GetOp, Item, PutOp, SearchItem

from memory.changes import Change
from memory.interface import MemoryPolicy, MemoryQuery, MemoryResultItem, MemoryScope, MemoryWriteEvent
from memory.namespaces import Namespace, pending_namespace, scope_namespace
from memory.retrieval import read_operations, to_results

_PAGE = 200


class MemoryFacade:
    """Memory on any LangGraph store, under one policy.

    Args:
        store: Where records live.
        policy: What may be read and written.
    """

    def __init__(self, store: BaseStore, policy: MemoryPolicy | None = None) -> None:
        self.store = store
        self.policy = policy or MemoryPolicy()

    async def read(self, query: MemoryQuery) -> list[MemoryResultItem]:
        """Return what is remembered for the query, scope by scope, the most relevant first within a scope.

        One embedding call and one round trip, whatever the number of scopes (on a store that batches, as
        `MemoryStore` does).

        Args:
            query: What to read.

        Returns:
            The results, in the order of `query.scopes`.
        """
        operations = read_operations(query, self.policy)
        if not operations:
            return []
        answers = await self.store.abatch([operation for _, operation in operations])
        return [
            item
            for (scope, _), answer in zip(operations, answers, strict=True)
            for item in to_results(scope, cast("Item | list[SearchItem] | None", answer), query, self.policy)
        ]

    async def write(self, event: MemoryWriteEvent) -> None:
        """Remember one record; writing the same record again changes nothing.

        Args:
            event: The owner and the record: `data` needs an `id`, and a `text` to be found by.

        Raises:
            ValueError: If the record has no id.
        """
        if not event.data.get("id"):
            raise ValueError(f"a record of the scope {event.scope} needs an 'id': build it with memory.records")
        await self.store.abatch([PutOp(scope_namespace(event.user_id, event.scope), event.data["id"], event.data)])

    async def delete_session(self, user_id: str, session_id: str) -> None:
        """Forget one conversation of one owner: its messages, what waits to be extracted, what came from it alone.

        Args:
            user_id: The owner.
            session_id: The conversation.
        """
        changes: list[Change] = []
        dialog = scope_namespace(user_id, MemoryScope.DIALOG)
        said = {item.key async for item in self._all(dialog, {"session_id": session_id})}
        for namespace in [*(scope_namespace(user_id, scope) for scope in MemoryScope), pending_namespace(user_id)]:
            async for item in self._all(namespace, None):
                sources = item.value.get("source_ids", [])
                elsewhere = [source for source in sources if source not in said]
                if item.value.get("session_id") == session_id and not elsewhere:
                    changes.append(PutOp(namespace, item.key, None))
                elif len(elsewhere) < len(sources) and item.value.get("kind") == "fact":
                    left = {**item.value, "source_ids": elsewhere, "support": len(elsewhere)}
                    changes.append(PutOp(namespace, item.key, left))
        await self.apply(changes)

    async def forget_user(self, user_id: str) -> list[str]:
        """Forget everything about one user, in every scope.

        Args:
            user_id: The owner.

        Returns:
            The conversations there were: a caller with a checkpointer deletes their threads.
        """
        sessions: dict[str, None] = {}
        changes: list[Change] = []
        for namespace in [*(scope_namespace(user_id, scope) for scope in MemoryScope), pending_namespace(user_id)]:
            async for item in self._all(namespace, None):
                sessions[str(item.value.get("session_id"))] = None
                changes.append(PutOp(namespace, item.key, None))
        await self.apply(changes)
        return list(sessions)

    async def records(self, user_id: str, scope: MemoryScope, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the records that exist among these ids, by id, in one round trip."""
        wanted = list(dict.fromkeys(ids))
        found = await self.store.abatch([GetOp(scope_namespace(user_id, scope), id_) for id_ in wanted])
        return {item.key: item.value for item in cast("list[Item | None]", found) if item is not None}

    async def apply(self, changes: Sequence[Change]) -> None:
        """Write and delete records in one batch: all of it or nothing, on a store whose batches are atomic."""
        if changes:
            await self.store.abatch(list(changes))

    async def pending(self, user_id: str) -> list[dict[str, Any]]:
        """Return the turns of a user from which nothing has been drawn yet, the oldest first."""
        found = [item.value async for item in self._all(pending_namespace(user_id), None)]
        return sorted(found, key=lambda value: str(value["created_at"]))

    async def _all(self, namespace: Namespace, filter_: dict[str, Any] | None) -> Any:
        offset = 0
        while True:
            page = await self.store.asearch(namespace, filter=filter_, limit=_PAGE, offset=offset)
            for item in page:
                yield item
            if len(page) < _PAGE:
                return
            offset += _PAGE
