"""From a query to store operations, and from the store's items to results: one batch, whatever the scopes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.store.base import GetOp, Item, Op, SearchItem, SearchOp

from memory.interface import MemoryPolicy, MemoryQuery, MemoryResultItem, MemoryScope
from memory.namespaces import scope_namespace

PROFILE_KEY = "profile"
"""The key of a user's one profile document."""


def allowed_scopes(query: MemoryQuery, policy: MemoryPolicy) -> list[MemoryScope]:
    """Return the scopes of a query that the policy lets it read, each once."""
    switched_off = {
        scope
        for scope, used in {
            MemoryScope.DIALOG: policy.use_dialog,
            MemoryScope.SEMANTIC: policy.use_semantic,
            MemoryScope.EPISODIC: policy.use_episodic,
            MemoryScope.PROFILE: policy.use_profile,
        }.items()
        if not used
    }
    return [scope for scope in dict.fromkeys(query.scopes) if scope not in switched_off]


def read_operations(query: MemoryQuery, policy: MemoryPolicy) -> list[tuple[MemoryScope, Op]]:
    """Return one operation a scope; a store that batches runs them in one round trip.

    Args:
        query: What to read. `extra["seen"]` may list the ids of records the caller has already.
        policy: What it may read.
    """
    return [(scope, _operation(scope, query, policy)) for scope in allowed_scopes(query, policy)]


def _operation(scope: MemoryScope, query: MemoryQuery, policy: MemoryPolicy) -> Op:
    namespace = scope_namespace(query.user_id, scope)
    if scope is MemoryScope.PROFILE:
        return GetOp(namespace, PROFILE_KEY)
    limit = policy.max_memories
    filter_: dict[str, Any] | None = None
    if scope is MemoryScope.SEMANTIC:
        filter_ = {"current": True}
    if scope is MemoryScope.DIALOG:
        # what the caller has already is dropped from the result and must not crowd out the rest
        limit += len(query.extra.get("seen", ()))
    return SearchOp(namespace, filter=filter_, limit=limit, query=query.query or None)


def to_results(
    scope: MemoryScope, answer: Item | Sequence[SearchItem] | None, query: MemoryQuery, policy: MemoryPolicy
) -> list[MemoryResultItem]:
    """Return a scope's items as results, the most relevant first, without what the caller has already.

    Args:
        scope: The scope that was read.
        answer: What the store returned.
        query: The query.
        policy: How many to return.
    """
    if answer is None:
        return []
    items: Sequence[Item] = [answer] if isinstance(answer, Item) else answer
    seen = set(query.extra.get("seen", ()))
    results = [
        MemoryResultItem(
            scope=scope,
            id=item.key,
            payload=item.value,
            score=item.score if isinstance(item, SearchItem) else None,
            source=str(item.value.get("kind", scope)),
        )
        for item in items
        if item.key not in seen
    ]
    return results[: policy.max_memories]
