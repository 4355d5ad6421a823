"""The conformance suite as the tests of this repository use it: one store for a class, and time that passes at once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from langgraph.store.base import BaseStore
from langgraph.store.postgres.aio import AsyncPostgresStore
from langgraph.store.sqlite.aio import AsyncSqliteStore
from langgraph_store_conformance import StoreConformance

from tests.support.databases import bring_ends_forward

_AS_IT_IS = "hands out, and keeps, the very objects that it was given"
_EMPTY_NAMESPACE = "lists a namespace that holds nothing any more, or never held anything"

IN_MEMORY_FAILURES: Mapping[str, str] = {
    "test_changing_what_was_put_changes_nothing": _AS_IT_IS,
    "test_changing_what_was_read_changes_nothing": _AS_IT_IS,
    "test_a_namespace_whose_items_are_deleted_is_gone": _EMPTY_NAMESPACE,
    "test_reading_makes_no_namespace": _EMPTY_NAMESPACE,
    "test_overwrite_keeps_created_at": "sets `created_at` anew with every write",
}
"""Known failures of LangGraph's `InMemoryStore`, and so of what stands on it."""

WHOLE_MINUTES = "keeps the time to live in whole minutes, and refreshing ends what has less than half of one"
JSONB_NUMBERS = "gives numbers of any size back as integers where they are whole, as jsonb prints them"

MEMORY_STORE_FAILURES: Mapping[str, str] = {
    "test_fractions_of_any_size": JSONB_NUMBERS,
    "test_a_fraction_of_a_minute_is_refreshed_as_it_is": WHOLE_MINUTES,
}
"""Known failures of `MemoryStore`, whose table is that of LangGraph's `PostgresStore`."""


class SharedStoreConformance(StoreConformance):
    """One store for all checks of a class."""

    loop_scope = "class"

    async def sweep(self, store: BaseStore) -> None:
        """Delete what has expired, also of a store that keeps its items in another."""
        await super().sweep(getattr(store, "inner", store))

    async def pass_time(self, store: BaseStore, minutes: float) -> None:
        """Bring the end of every item forward, in the database."""
        kept_in = getattr(store, "inner", store)
        if isinstance(kept_in, AsyncSqliteStore):
            later = "UPDATE store SET expires_at = datetime(expires_at, ?)"
            await kept_in.conn.execute(later, (f"-{minutes * 60} seconds",))
            await kept_in.conn.commit()
            return
        assert isinstance(kept_in, AsyncPostgresStore)
        async with kept_in.conn.connection() as conn:  # type: ignore[union-attr]
            await bring_ends_forward(conn, timedelta(minutes=minutes))
