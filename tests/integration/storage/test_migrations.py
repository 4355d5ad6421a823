"""Databases of older versions, brought up to date on a real PostgreSQL with all that they hold."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from react_mem.memory.facade import MemoryFacade
from react_mem.memory.graph.links import reader
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.store import StorageSettings, migrations, reembed
from tests.support.citus import one_server
from tests.support.databases import fresh_database, open_memory_store, word_model
from tests.support.linking import SCOPES, record

pytestmark = one_server

FIRST = Path(__file__).with_name("first_schema.sql")
MODEL = word_model(16)
MIDWAY = [16, 21, 24, 28, 31]
"""Versions before and after each of the steps that change most: recall, owners, links, keys, words."""

_TABLES = (
    *("store", "store_vectors", "memory_embedding", "memory_owners", "memory_migrations"),
    *("checkpoints", "checkpoint_blobs"),
)
_COLUMNS = """
    SELECT c.relname, row_number() OVER (PARTITION BY c.oid ORDER BY a.attnum), a.attname,
        format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated,
        pg_get_expr(d.adbin, d.adrelid), c.reloptions
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relname = ANY (%s) ORDER BY 1, 2
"""
_INDEXES = "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = ANY (%s) ORDER BY 1"
# Without NOT NULL, which the columns tell: PostgreSQL makes up the names.
_CONSTRAINTS = """
    SELECT r.relname, c.conname, pg_get_constraintdef(c.oid) FROM pg_constraint c JOIN pg_class r ON r.oid = c.conrelid
    WHERE r.relname = ANY (%s) AND c.contype <> 'n' ORDER BY 1, 2
"""
_FUNCTIONS = r"""
    SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname LIKE 'memory\_%%' AND %s::text[] IS NOT NULL ORDER BY 1
"""
_TRIGGERS = """
    SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class r ON r.oid = t.tgrelid
    WHERE r.relname = ANY (%s) AND NOT t.tgisinternal ORDER BY 1
"""
_VERSIONS = "SELECT v FROM memory_migrations WHERE %s::text[] IS NOT NULL ORDER BY v"
_VALUES = """
    SELECT prefix, key, value, created_at, updated_at, expires_at, ttl_minutes FROM store
    WHERE %s::text[] IS NOT NULL ORDER BY prefix, key
"""
_VECTORS = """
    SELECT prefix, key, field_name, embedding::text, created_at, updated_at FROM store_vectors
    WHERE %s::text[] IS NOT NULL ORDER BY prefix, key, field_name
"""


async def connect(url: str) -> AsyncConnection[DictRow]:
    return await AsyncConnection[DictRow].connect(url, autocommit=True, row_factory=dict_row)


async def told(url: str, *statements: str) -> list[list[tuple[Any, ...]]]:
    """Return what queries over the tables say."""
    async with await connect(url) as conn:
        cursors = [await conn.execute(statement.encode(), (list(_TABLES),)) for statement in statements]
        return [[tuple(row.values()) for row in await cursor.fetchall()] for cursor in cursors]


async def shape(url: str) -> list[list[tuple[Any, ...]]]:
    """Return what the tables, indexes, constraints, functions and triggers of a database are."""
    return await told(url, _COLUMNS, _INDEXES, _CONSTRAINTS, _FUNCTIONS, _TRIGGERS)


def asking(user: str, question: str, *scopes: MemoryScope) -> MemoryQuery:
    return MemoryQuery(user_id=user, session_id="tuesday", agent_id="agent", query=question, scopes=[*scopes])


async def bring_up_to_date(url: str) -> None:
    async with await connect(url) as conn:
        await migrations.migrate(conn, MODEL, checkpoints=True)


@pytest.fixture(scope="module")
def newest(database_server: str) -> list[list[tuple[Any, ...]]]:
    """The shape of a database that the newest version made, and the versions that it has recorded."""

    async def made() -> list[list[tuple[Any, ...]]]:
        async with fresh_database(database_server) as url:
            await bring_up_to_date(url)
            return [*await shape(url), *await told(url, _VERSIONS)]

    return asyncio.run(made())


@pytest.fixture
async def first(database_url: str) -> str:
    """The URL of a database that the first version made, with its data."""
    async with await connect(database_url) as conn:
        await conn.execute(FIRST.read_text(encoding="utf-8").encode())
    return database_url


async def test_the_first_schema_becomes_the_newest_with_every_row_as_it_was(
    first: str, newest: list[list[tuple[Any, ...]]]
) -> None:
    before = await told(first, _VALUES, _VECTORS)
    assert (len(before[0]), len(before[1])) == (17, 15)
    await bring_up_to_date(first)
    assert await told(first, _VALUES, _VECTORS) == before
    assert [*await shape(first), *await told(first, _VERSIONS)] == newest
    await bring_up_to_date(first)  # and nothing is left to do
    assert await told(first, _VALUES, _VECTORS) == before


async def test_what_the_first_version_stored_is_recalled_by_its_owner(first: str) -> None:
    async with open_memory_store(first, MODEL) as store, store:
        memory = MemoryFacade(store)
        for user, place in (("ann", "Đà Nẵng"), ("bob@example.com", "Lisbon")):
            query = asking(user, f"lives in {place}", MemoryScope.SEMANTIC, MemoryScope.PROFILE)
            texts = [item.payload["text"] for item in await memory.read(query)]
            assert set(texts) == {f"User lives in {place}", f"lives in {place}"}
            assert [turn["source_ids"] for turn in await memory.pending(user)]
        thread = await AsyncPostgresSaver(store.pool).aget({"configurable": {"thread_id": "monday"}})
        assert thread is not None
        assert [message.content for message in thread["channel_values"]["messages"]] == ["Hi, I'm Ann", "Hello Ann"]
    settings = StorageSettings.model_validate({"database_url": first})
    assert await reembed.reembed(settings, MODEL, lambda done, total: None) == 15
    async with open_memory_store(first, MODEL) as store, store:
        found = await MemoryFacade(store).read(asking("ann", "zebra", MemoryScope.DIALOG))
        assert found.missing == {}
        assert "zebra" in found[0].payload["text"]


@pytest.mark.parametrize("number", MIDWAY)
async def test_a_database_of_each_version_runs_only_what_it_lacks(
    first: str, newest: list[list[tuple[Any, ...]]], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await told(first, _VALUES, _VECTORS)
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "MIGRATIONS", tuple(one for one in migrations.MIGRATIONS if one[0] <= number))
        await bring_up_to_date(first)
    [versions] = await told(first, _VERSIONS)
    assert versions[-1] == (number,)
    await bring_up_to_date(first)
    assert [*await shape(first), *await told(first, _VERSIONS)] == newest
    assert await told(first, _VALUES, _VECTORS) == before


async def test_links_that_were_kept_go_and_are_derived_from_the_records(
    first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "MIGRATIONS", tuple(one for one in migrations.MIGRATIONS if one[0] <= 18))
        await bring_up_to_date(first)
    [before] = await told(first, _VALUES)
    said = [record("message", "m1"), record("message", "m2", minute=1), record("fact", "f", "m1:steps", "m2")]
    kept = {"kind": "links", "node": {"type": "fact", "scope": "semantic"}, "edges": [["m1", "dialog", "support"]]}
    # whatever else is there: it does not stop the migration, nor a write after it
    odd = {
        "id": "odd",
        "kind": "episode",
        "source_ids": 7,
        "links": [{"to": None}, 1],
        "alike": [],
        "created_at": "soon",
    }
    rows = [
        ("memory.zoe.links", "f", kept),
        ("memory.zoe.meta", "linked", {"kind": "linked"}),
        ("memory.zoe.meta", "revision", {"revision": 3}),
        ("elsewhere.zoe.links", "f", kept),
        ("memory.zoe.episodic", "odd", odd),
        *((f"memory.zoe.{SCOPES[one.kind]}", one.id, one.to_value()) for one in said),
    ]
    async with await connect(first) as conn:
        for prefix, key, value in rows:
            await conn.execute(
                "INSERT INTO store (prefix, key, value) VALUES (%s, %s, %s)", (prefix, key, Jsonb(value))
            )
    await bring_up_to_date(first)
    [after] = await told(first, _VALUES)
    left = {(prefix, key) for prefix, key, *_ in after} - {(prefix, key) for prefix, key, *_ in before}
    assert left == {(prefix, key) for prefix, key, _ in rows} - {
        ("memory.zoe.links", "f"),
        ("memory.zoe.meta", "linked"),
    }
    async with open_memory_store(first, MODEL) as store, store:
        await store.aput(("memory", "zoe", "episodic"), "odd", odd, index=False)
        found = (await reader(store, "zoe")(["f"]))["f"]
        assert {(edge.to, str(edge.kind)) for edge in found.edges.values()} == {("m1", "support"), ("m2", "support")}
        # an id that another owner has, too, is another record
        assert await reader(store, "ann")(["f"]) == {}
