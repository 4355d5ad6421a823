"""Listings that pick out what has a field's value: by an index, however much else an owner has."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.store.base import SearchOp

from react_mem.memory.store.searches import Target, search_statement
from tests.support.databases import open_memory_store, word_model

NAMESPACE = ("memory", "ann", "semantic")

_FILL = """
    INSERT INTO store (owner, prefix, key, value)
    SELECT 'ann', 'memory.ann.semantic', n::text,
        jsonb_build_object('text', n::text, 'session_id', 's' || n / 10, 'unread', n % 500 = 1)
    FROM generate_series(1, 2000) n
"""


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [({"session_id": "s7"}, [str(n) for n in range(70, 80)]), ({"unread": True}, ["1", "501", "1001", "1501"])],
)
async def test_reads_what_it_lists(conditions: dict[str, Any], expected: list[str], database_url: str) -> None:
    async with open_memory_store(database_url, word_model()) as store:
        async with store.pool.connection() as conn:
            await conn.execute(_FILL)
            await conn.execute("ANALYZE store")
            target = Target(0, SearchOp(NAMESPACE, filter=conditions, limit=50), None)
            query, parameters = search_statement([target], 100, bounded=True, omit_expired=True)
            plan = await (await conn.execute(b"EXPLAIN (ANALYZE, FORMAT JSON) " + query, parameters)).fetchone()
        assert plan is not None
        assert rows_read(plan["QUERY PLAN"][0]["Plan"]) <= 2 * len(expected)
        found = await store.asearch(NAMESPACE, filter=conditions, limit=50)
        assert sorted(item.key for item in found) == sorted(expected)


def rows_read(plan: dict[str, Any]) -> int:
    """Return how many rows the plan's scans came by."""
    own = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0) if "Scan" in plan["Node Type"] else 0
    return int(own) + sum(rows_read(part) for part in plan.get("Plans", ()))
