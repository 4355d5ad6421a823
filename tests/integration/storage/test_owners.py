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

from react_mem.memory.index.entries import entries, term_number
from react_mem.memory.model.namespaces import owner_of_path, owner_within
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.transactions import Guard
from tests.support.citus import one_server
from tests.support.databases import open_memory_store, word_model

ANN, BOB = ("memory", "ann", "semantic"), ("memory", "bob", "semantic")
APP = ("app", "ann", "notes")
_ROOTS = ["memory", "memory_work", "memory_attachments", "terminal"]
_LABELS = st.sampled_from([*_ROOTS, "ann", "ann%40x", "notes", "a b", "", "Ä", "%2E"])


class Revision(NamedTuple):
    """An owner's row."""

    revision: int
    removed: int


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[MemoryStore]:
    async with open_memory_store(database_url, word_model()) as opened:
        yield opened


@pytest.fixture
async def conn(store: MemoryStore, database_url: str) -> AsyncIterator[AsyncConnection[DictRow]]:
    async with await AsyncConnection[DictRow].connect(database_url, autocommit=True, row_factory=dict_row) as opened:
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


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


async def test_every_write_raises_its_owners_revision_alone_and_stamps_what_it_writes(
    store: MemoryStore, conn: AsyncConnection[DictRow]
) -> None:
    await store.abatch([PutOp(ANN, "1", {"text": "green tea"}), PutOp(BOB, "2", {"text": "red car"})])
    first = await revisions(conn)
    assert first.keys() == {"ann", "bob"}
    await store.abatch([PutOp(ANN, "3", {"text": "kettle"}), PutOp(ANN, "hidden", {"text": "x"}, index=False)])
    second = await revisions(conn)
    assert second == {"ann": Revision(first["ann"].revision + 1, first["ann"].removed), "bob": first["bob"]}
    rows = await index(conn)
    assert {key: (row["owner"], row["revision"]) for key, row in rows.items()} == {
        "1": ("ann", first["ann"].revision),
        "2": ("bob", first["bob"].revision),
        "3": ("ann", second["ann"].revision),
    }
    [entry] = entries("text", "green tea", {"text": "green tea"})
    assert rows["1"]["words"] == sorted(map(term_number, entry.terms))
    assert all(row["has_half"] for row in rows.values())


async def test_a_batch_of_many_owners_takes_as_many_statements_as_that_of_one(
    store: MemoryStore, conn: AsyncConnection[DictRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    execute = AsyncConnection.execute

    async def counted(self: Any, query: Any, *values: Any, **options: Any) -> Any:
        sent.append(query)
        return await execute(self, query, *values, **options)

    async def statements(users: list[str]) -> int:
        puts = [PutOp(("memory", user, "semantic"), "1", {"tags": ["tea", user]}, index=["tags[*]"]) for user in users]
        gone = [PutOp(("memory", user, "semantic"), "gone", None) for user in users]
        await store.abatch(puts)
        sent.clear()
        fewer = [PutOp(op.namespace, op.key, {"tags": ["tea"]}, index=["tags[*]"]) for op in puts[:1]]
        await store.abatch([*fewer, *puts[1:], *gone])
        return len(sent)

    monkeypatch.setattr(AsyncConnection, "execute", counted)
    alone = await statements(["ann"])
    assert await statements([f"u{number}" for number in range(30)]) == alone
    monkeypatch.undo()
    rows = await (
        await conn.execute("SELECT count(*) AS n FROM store_vectors GROUP BY owner ORDER BY owner")
    ).fetchall()
    assert [row["n"] for row in rows] == [1, 1, *[2] * 29]


async def test_what_removes_rows_of_the_index_says_so(store: MemoryStore, conn: AsyncConnection[DictRow]) -> None:
    await store.aput(ANN, "1", {"tags": ["green", "black"]}, index=["tags[*]"])
    await store.aput(ANN, "2", {"text": "tea"})
    before = (await revisions(conn))["ann"]
    await store.aput(ANN, "1", {"tags": ["green", "blue"]}, index=["tags[*]"])
    same = (await revisions(conn))["ann"]
    assert same == Revision(before.revision + 1, before.removed)
    await store.aput(ANN, "1", {"tags": ["green"]}, index=["tags[*]"])
    fewer = (await revisions(conn))["ann"]
    assert fewer == Revision(same.revision + 1, same.revision + 1)
    await store.adelete(ANN, "1")
    assert (await revisions(conn))["ann"] == Revision(fewer.revision + 1, fewer.revision + 1)


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


async def test_what_is_swept_is_noted_of_its_owners_alone(store: MemoryStore, conn: AsyncConnection[DictRow]) -> None:
    await store.abatch(
        [
            *(PutOp(ANN, key, {"text": "tea"}, ttl=10) for key in ("1", "2")),
            PutOp(BOB, "1", {"text": "tea"}, ttl=10),
            PutOp(APP, "kept", {"text": "tea"}),
        ]
    )
    before = await revisions(conn)
    await conn.execute("UPDATE store SET expires_at = now() - interval '1 minute' WHERE key = '1'")
    assert await store.sweep_ttl() == 2
    after = await revisions(conn)
    assert after == {
        "ann": Revision(before["ann"].revision + 1, before["ann"].revision + 1),
        "app.ann": before["app.ann"],
    }


async def test_a_guard_that_does_not_hold_raises_nothing(store: MemoryStore, conn: AsyncConnection[DictRow]) -> None:
    held = Guard(ANN, "1", None)
    assert await store.abatch_if([PutOp(ANN, "1", {"text": "tea"})], held)
    before = await revisions(conn)
    assert not await store.abatch_if([PutOp(ANN, "1", {"text": "coffee"})], held)
    assert not await store.abatch_if([PutOp(BOB, "1", {"text": "coffee"})], held)
    assert await revisions(conn) == before


@one_server
async def test_the_stock_store_writes_owners_and_revisions_too(
    store: MemoryStore, conn: AsyncConnection[DictRow], database_url: str
) -> None:
    await store.aput(ANN, "ours", {"text": "green tea"})
    before = (await revisions(conn))["ann"]
    async with of_stock(database_url) as stock:
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
