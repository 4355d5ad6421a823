"""The scorer finds what the database's function found: the same items in the same order with the same scores."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from psycopg import AsyncConnection

from tests.support.random_rows import random_op, random_rows, seeded
from tests.support.same_recalls import TIED, Compared, compare
from tests.support.sql_recall import SqlRecall


@pytest.fixture
async def sql(database_url: str) -> AsyncIterator[SqlRecall]:
    async with await AsyncConnection.connect(database_url, autocommit=True) as conn:
        yield SqlRecall(conn)


async def test_at_random(sql: SqlRecall) -> None:
    compared = Compared()
    for seed, (count, dims) in enumerate([(1, 8), (12, 20), (60, 384), (150, 12)]):
        rows = random_rows(seeded(seed), count, dims)
        ops = [random_op(seeded(f"{seed}.{number}"), rows) for number in range(25)]
        await compare(sql, rows, dims, ops, seed, compared)
    assert compared.different is None
    assert compared.same >= 90
    assert compared.hits > 200
    assert compared.furthest < TIED
