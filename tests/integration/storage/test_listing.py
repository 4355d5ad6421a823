"""Listings that pick out what has a field's value: by an index, however much else an owner has."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from langgraph.store.base import PutOp, SearchItem, SearchOp
from psycopg import AsyncConnection
from psycopg.rows import DictRow

from tests.support.citus import one_server
from tests.support.databases import fresh_memory_store

NAMESPACE, OTHER = ("memory", "ann", "semantic"), ("memory", "ann", "episodic")
BOB = ("memory", "bob", "semantic")


@one_server
@pytest.mark.parametrize("sealed", [False, True])
async def test_reads_what_it_lists_behind_the_wall(
    sealed: bool, database_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fresh_memory_store(database_server, sealed=sealed) as store:
        assert store.pool.has_row_security  # type: ignore[attr-defined]
        values = {n: {"session_id": f"s{n // 10}", "unread": n % 500 == 1, "n": n} for n in range(1_000)}
        await store.abatch([PutOp(NAMESPACE, str(n), value, index=False) for n, value in values.items()])
        async with store.pool.connection() as conn:
            await conn.execute("ANALYZE store")
            # whose reads the server counts by then
            monkeypatch.setattr(store.pool, "connection", lambda: nullcontext(conn))
            for conditions in ({"session_id": "s7"}, {"unread": True}, {"session_id": "s7", "n": 75}):
                expected = {str(n) for n, value in values.items() if conditions.items() <= value.items()}
                before = await rows_of_store(conn)
                found = await store.asearch(NAMESPACE, filter=conditions, limit=50)
                read = await rows_of_store(conn) - before
                assert {item.key for item in found} == expected
                assert 0 < read <= 40


async def rows_of_store(conn: AsyncConnection[DictRow]) -> int:
    """Return how many rows of `store` were read so far, also by functions."""
    await conn.execute("SELECT pg_stat_force_next_flush()")
    found = await conn.execute(
        "SELECT seq_tup_read + idx_tup_fetch AS read FROM pg_stat_user_tables WHERE relname = 'store'"
    )
    row = await found.fetchone()
    assert row is not None
    return int(row["read"])


_SEARCHES: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (namespace, conditions)
    for namespace in (NAMESPACE, NAMESPACE[:2], BOB, NAMESPACE[:1])
    for conditions in (
        {"session_id": "s1"},
        {"session_id": {"$ne": "s1"}},
        {"unread": True},
        {"unread": True, "session_id": "s1"},
        {"session_id": "s1", "kind": "fact", "n": {"$gt": 3}},
    )
]


@one_server
@pytest.mark.parametrize("sealed", [False, True])
async def test_lists_the_same_behind_the_wall_as_without(sealed: bool, database_server: str) -> None:
    async with fresh_memory_store(database_server, sealed=sealed) as store:
        for namespace in (NAMESPACE, OTHER, BOB):
            for batch in range(3):  # what is written together has one time, and is listed by its key
                await store.abatch(
                    [
                        PutOp(
                            namespace,
                            f"{n * 37 % 20:02}-{batch}",
                            {
                                "session_id": ("s0", "s1", "")[n % 3],
                                "unread": n % 4 == 0,
                                "n": n,
                                "kind": ("fact", "document")[n % 2],
                            },
                            index=False,
                            ttl=60 if n % 5 == 0 else None,
                        )
                        for n in range(20)
                    ]
                )
        async with store.pool.connection() as conn:
            await conn.execute("UPDATE store SET expires_at = now() - interval '1 day' WHERE expires_at IS NOT NULL")
        for is_omitted in (False, True):
            store.ttl_config = {"omit_expired": is_omitted}
            behind, without = [], []
            for wall, found in ((True, behind), (False, without)):
                store.pool.has_row_security = wall  # type: ignore[attr-defined]
                # one with others, and each by itself: among those is one across owners, which no wall is about
                ops = [SearchOp(*each, limit=limit, offset=offset) for each in _SEARCHES for limit, offset in _PAGES]
                for op in ops:
                    found.append(await store.abatch([op._replace(refresh_ttl=False)]))
                found.append(await store.abatch([op._replace(refresh_ttl=False) for op in ops]))
                own = [op for op in ops if len(op.namespace_prefix) > 1]
                found.append(await store.abatch([op._replace(refresh_ttl=False) for op in own]))
            assert behind == without
            assert sum(isinstance(item, SearchItem) for each in behind[0] for item in each or ()) > 0


_PAGES = ((100, 0), (4, 3))
