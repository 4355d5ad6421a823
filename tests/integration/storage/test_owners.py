"""The owner of each row, and the revision of an owner, which every write raises, whoever writes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import PutOp
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row

from react_mem.memory.model.namespaces import owner_of_path, owner_within
from react_mem.memory.store.postgres import MemoryStore
from tests.support.citus import one_server
from tests.support.databases import fresh_memory_store, word_model

ANN, BOB = ("memory", "ann", "semantic"), ("memory", "bob", "semantic")
APP = ("app", "ann", "notes")
_ROOTS = ["memory", "memory_work", "memory_attachments", "terminal"]
_LABELS = st.sampled_from([*_ROOTS, "ann", "ann%40x", "notes", "a b", "", "Ä", "%2E"])


class Revision(NamedTuple):
    """An owner's row."""

    revision: int
    removed: int


@pytest.fixture
async def store(database_server: str) -> AsyncIterator[MemoryStore]:
    async with fresh_memory_store(database_server) as opened:
        yield opened


@pytest.fixture
async def conn(store: MemoryStore) -> AsyncIterator[AsyncConnection[DictRow]]:
    async with await AsyncConnection[DictRow].connect(
        store.pool.conninfo, autocommit=True, row_factory=dict_row
    ) as opened:
        yield opened


async def revisions(conn: AsyncConnection[DictRow]) -> dict[str, Revision]:
    rows = await (await conn.execute("SELECT owner, revision, removed FROM memory_owners")).fetchall()
    return {row["owner"]: Revision(row["revision"], row["removed"]) for row in rows}


async def index(conn: AsyncConnection[DictRow]) -> dict[str, DictRow]:
    rows = await (
        await conn.execute(
            "SELECT key, owner, revision, words, half IS NOT NULL AS has_half, half = embedding::halfvec AS same "
            "FROM store_vectors"
        )
    ).fetchall()
    return {row["key"]: row for row in rows}


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batch=st.lists(st.lists(_LABELS, min_size=1, max_size=4).map(".".join), min_size=1, max_size=20))
async def test_the_database_says_the_same_owner(conn: AsyncConnection[DictRow], batch: list[str]) -> None:
    rows = await (
        await conn.execute("SELECT path, memory_owner(path) AS owner FROM unnest(%s::text[]) AS path", (batch,))
    ).fetchall()
    for row in rows:
        assert row["owner"] == owner_of_path(row["path"])
        below = owner_of_path(f"{row['path']}.below")
        assert owner_within(row["path"]) in (None, row["owner"])
        assert owner_within(row["path"]) in (None, below)


def of_stock(url: str) -> Any:
    index = {"dims": 64, "embed": word_model().embeddings, "fields": ["text"]}
    return AsyncPostgresStore.from_conn_string(url, index=index)  # type: ignore[arg-type]


async def test_an_owner_without_items_leaves_nothing_and_begins_above_all_that_was(
    store: MemoryStore, conn: AsyncConnection[DictRow]
) -> None:
    await store.abatch([PutOp(ANN, "1", {"text": "tea"}), PutOp(BOB, "1", {"text": "tea"})])
    before = await revisions(conn)
    await store.adelete(ANN, "1")
    assert (await revisions(conn)).keys() == {"bob"}
    await store.aput(ANN, "1", {"text": "tea"})
    after = (await revisions(conn))["ann"]
    assert after.revision > before["ann"].revision + 1
    assert before["ann"].revision < after.removed <= after.revision


@one_server
async def test_the_stock_store_writes_owners_and_revisions_too(
    store: MemoryStore, conn: AsyncConnection[DictRow]
) -> None:
    await store.aput(ANN, "ours", {"text": "green tea"})
    before = (await revisions(conn))["ann"]
    async with of_stock(store.pool.conninfo) as stock:
        await stock.setup()
        await stock.aput(ANN, "theirs", {"text": "black tea"})
        put = (await revisions(conn))["ann"]
        assert put.revision > before.revision
        await stock.aput(APP, "note", {"text": "white tea"})
        await stock.aput(ANN, "ours", {"text": "red car"})
        changed = (await revisions(conn))["ann"]
        assert changed.revision > put.revision
        rows = await index(conn)
        assert {key: row["owner"] for key, row in rows.items()} == {"ours": "ann", "theirs": "ann", "note": "app.ann"}
        assert [rows["theirs"]["revision"], rows["ours"]["revision"]] == [put.revision, changed.revision]
        assert all(row["same"] for row in rows.values())
        # the words that it had are not those that it has
        assert rows["ours"]["words"] is None
        assert [hit.key for hit in await store.asearch(ANN, query="red car", limit=1)] == ["ours"]
        assert [hit.key for hit in await store.asearch(APP, query="white tea")] == ["note"]
        await stock.adelete(ANN, "theirs")
        gone = (await revisions(conn))["ann"]
        assert gone.removed == gone.revision > changed.revision
    assert (await store.aget(ANN, "theirs")) is None
