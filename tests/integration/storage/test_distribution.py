"""The tables over the nodes of a Citus cluster: what is refused, and what is the same there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langgraph.store.base import PutOp, SearchOp
from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow, dict_row
from psycopg.sql import SQL, Identifier

from react_mem.agents.cli import main
from react_mem.errors import StorageError
from react_mem.memory.opening import open_storage
from react_mem.memory.store import StorageSettings, distribution, migrations, row_security
from react_mem.memory.store.distribution import TABLES, distribute_tables, is_distributed
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.group_commit import GroupCommit, Statements
from react_mem.memory.store.migrations import migrate
from react_mem.memory.store.postgres import MemoryStore, Pool
from react_mem.memory.store.postgres_server import distribute
from tests.support.citus import CITUS_URL, FIRST_DISTRIBUTED, needs_citus, nodes, one_server
from tests.support.databases import open_pool
from tests.support.version_before import files_up_to, migrate_to

USERS = [f"user{number}" for number in range(12)]
_OPTIONS: Any = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": None}


def settings_of(url: str) -> StorageSettings:
    return StorageSettings.model_validate({"database_url": url, "embedding": "local"})


@pytest.fixture
async def conn(database_url: str, words: EmbeddingModel) -> AsyncIterator[AsyncConnection[DictRow]]:
    """A connection to a database with the newest tables, on one server."""
    async with await AsyncConnection[DictRow].connect(database_url, **_OPTIONS) as opened:
        await migrate(opened, words, checkpoints=True)
        yield opened


@pytest.fixture
async def filled(
    conn: AsyncConnection[DictRow], database_url: str, words: EmbeddingModel
) -> AsyncIterator[MemoryStore]:
    """A store on it, with memories of a few users."""
    pool: Pool
    async with open_pool(database_url) as pool, MemoryStore(pool, words) as store:
        await store.abatch(
            [
                PutOp(("memory", user, "semantic"), f"fact{n}", {"kind": "fact", "text": f"{user} likes tea {n}"})
                for user in USERS
                for n in range(5)
            ]
        )
        await store.aput(("notes",), "one", {"text": "an application's own"})
        yield store


async def everything(store: MemoryStore) -> list[Any]:
    """Return what reads of all kinds give."""
    own = [SearchOp(("memory", user), query=f"tea {n}", limit=3) for user in USERS for n in range(2)]
    across = [SearchOp(("memory",), limit=100), SearchOp(("memory",), query="likes tea 3", limit=20), SearchOp(())]
    found: list[Any] = await store.abatch([*own, *across])
    shown = [sorted((i.namespace, i.key, i.value["text"], i.score or 0) for i in items) for items in found]
    return [shown, await store.alist_namespaces(max_depth=2), await store.alist_namespaces(prefix=("notes",))]


_AS_CITUS = """
    CREATE TABLE pg_dist_partition (logicalrelid regclass, partmethod "char", partkey text);
    CREATE TABLE pg_dist_object (objid oid, distribution_argument_index integer);
    CREATE FUNCTION column_to_column_name(regclass, text) RETURNS text LANGUAGE sql AS 'SELECT $2';
    CREATE FUNCTION create_reference_table(regclass) RETURNS void LANGUAGE sql
        AS 'INSERT INTO pg_dist_partition VALUES ($1, ''n'', NULL)';
    CREATE FUNCTION create_distributed_table(regclass, text, colocate_with text) RETURNS void LANGUAGE sql
        AS 'INSERT INTO pg_dist_partition VALUES ($1, ''h'', $2)';
    CREATE FUNCTION create_distributed_function(regprocedure, text, colocate_with text) RETURNS void LANGUAGE sql
        AS 'INSERT INTO pg_dist_object VALUES ($1, 0)';
    CREATE FUNCTION truncate_local_data_after_distributing_table(regclass) RETURNS void LANGUAGE sql AS 'SELECT NULL';
"""
"""What stands in for Citus's functions on one server: tables are noted as distributed, and stay where they are."""


@one_server
async def test_it_is_told_how_many_tables_are_done_and_of_how_many(conn: AsyncConnection[DictRow]) -> None:
    await conn.execute(_AS_CITUS.encode())
    steps: list[str] = []
    counted: list[tuple[int, int]] = []

    def stop_at_the_third(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await distribute_tables(conn, steps.append, stop_at_the_third)
    assert not await is_distributed(conn)
    steps.clear()
    await distribute_tables(conn, steps.append, lambda done, total: counted.append((done, total)))
    row = await (await conn.execute("SELECT count(*) AS tables FROM pg_dist_partition")).fetchone()
    assert row is not None
    assert counted == [(done, row["tables"]) for done in range(row["tables"] + 1)]
    assert row["tables"] == len(TABLES)
    assert await is_distributed(conn)
    # again: nothing is left to count
    counted.clear()
    await distribute_tables(conn, steps.append, lambda done, total: counted.append((done, total)))
    assert counted == []


@one_server
async def test_one_server_is_refused_and_stays_as_it_is(
    filled: MemoryStore, conn: AsyncConnection[DictRow], database_url: str
) -> None:
    before = await everything(filled)
    with pytest.raises(StorageError, match="has no Citus"):
        await distribute(settings_of(database_url), pytest.fail)
    assert not await is_distributed(conn)
    assert await everything(filled) == before


async def test_a_process_with_a_wall_goes_on_without_it(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    async with open_storage(settings_of(database_url)) as storage:
        store, pool = storage.store, storage.pool
        assert pool.has_row_security  # type: ignore[attr-defined]
        tea = {"kind": "fact", "text": "likes tea"}
        await store.aput(("memory", "ann", "semantic"), "before", tea)
        async with pool.connection() as conn:
            if not CITUS_URL:
                await conn.execute(_AS_CITUS.encode())
            said: list[str] = []
            await distribute_tables(conn, said.append)
        assert "react_mem_owned of store" in said[0]
        # a write is sent again, and from then on it is known
        await store.aput(("memory", "ann", "semantic"), "after", tea)
        assert not pool.has_row_security  # type: ignore[attr-defined]
        [warned] = [one.message for one in caplog.records if "Row-level security cannot be used" in one.message]
        assert "nodes of a cluster" in warned
        assert "CREATE ROLE" not in warned  # which would not help
        assert {item.key for item in await store.asearch(("memory", "ann"), query="tea")} == {"before", "after"}
    async with open_storage(settings_of(database_url)) as storage:
        assert not storage.pool.has_row_security  # type: ignore[attr-defined]
        assert await storage.store.aget(("memory", "ann", "semantic"), "after") is not None


async def test_who_must_have_a_wall_is_not_read_without(database_url: str) -> None:
    settings = StorageSettings.model_validate(
        {"database_url": database_url, "embedding": "local", "row_security": "on"}
    )
    async with open_storage(settings) as storage:
        async with storage.pool.connection() as conn:
            if not CITUS_URL:
                await conn.execute(_AS_CITUS.encode())
            await distribute_tables(conn, lambda done: None)
        for _ in range(2):
            with pytest.raises(StorageError, match="MEMORY_ROW_SECURITY=auto"):
                await storage.store.aget(("memory", "ann", "semantic"), "tea")


@needs_citus
async def test_a_role_that_only_the_coordinator_has_is_in_nobodys_way(
    conn: AsyncConnection[DictRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One server makes it before it is a coordinator."""
    role = f"role_{uuid4().hex}"
    for module in (row_security, distribution):
        monkeypatch.setattr(module, "APPLICATION_ROLE", role)
    monkeypatch.setattr(row_security, "_CREATE_ROLE", SQL("CREATE ROLE {} NOLOGIN").format(Identifier(role)))
    monkeypatch.setattr(row_security, "_JOIN", {True: SQL("GRANT {} TO CURRENT_USER").format(Identifier(role))})
    await conn.execute("SET citus.enable_create_role_propagation TO off")
    await conn.execute("SET citus.enable_ddl_propagation TO off")
    assert await row_security.enable_row_security(conn, "on", distributed=False)
    await conn.execute("RESET citus.enable_ddl_propagation")
    try:
        await distribute_tables(conn, lambda done: None)
        assert await is_distributed(conn)
    finally:
        await conn.execute("SET citus.enable_ddl_propagation TO off")
        await conn.execute(SQL("DROP OWNED BY {}").format(Identifier(role)))
        await conn.execute(SQL("DROP ROLE {}").format(Identifier(role)))


@needs_citus
async def test_who_must_have_a_wall_does_not_distribute(conn: AsyncConnection[DictRow], database_url: str) -> None:
    settings = StorageSettings.model_validate(
        {"database_url": database_url, "embedding": "local", "row_security": "on"}
    )
    with pytest.raises(StorageError, match="MEMORY_ROW_SECURITY=on is set"):
        await distribute(settings, pytest.fail)
    assert not await is_distributed(conn)


def test_the_embedded_database_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert main(["database", "distribute"]) == 2
    assert "set DATABASE_URL to the coordinator" in " ".join(capsys.readouterr().err.split())
    assert list(tmp_path.iterdir()) == []


async def test_every_table_is_known(conn: AsyncConnection[DictRow]) -> None:
    rows = await (
        await conn.execute("SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()")
    ).fetchall()
    # the audit log stays where it is, on the coordinator
    known = set(TABLES) | {"memory_audit", "memory_audit_head"}
    assert {row["name"] for row in rows} == known


async def test_the_key_of_each_table_begins_with_what_it_is_distributed_by(conn: AsyncConnection[DictRow]) -> None:
    rows = await (
        await conn.execute(
            "SELECT c.relname AS name, a.attname AS first FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
            "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] "
            "WHERE i.indisprimary AND c.relnamespace = current_schema()::regnamespace"
        )
    ).fetchall()
    found = {row["name"]: row["first"] for row in rows}
    assert {name: found[name] for name, by in TABLES.items() if name in found and by != distribution.REFERENCE} == {
        name: by for name, by in TABLES.items() if name in found and by != distribution.REFERENCE
    }


@needs_citus
async def test_all_is_read_as_before_and_each_owner_is_on_one_node(
    filled: MemoryStore, conn: AsyncConnection[DictRow], database_url: str
) -> None:
    before = await everything(filled)
    said: list[str] = []
    await distribute(settings_of(database_url), said.append)
    assert await is_distributed(conn)
    assert await everything(filled) == before
    assert any(line.startswith("store: 61 rows by owner") for line in said)
    # once more is nothing more, and so is another start
    await distribute(settings_of(database_url), pytest.fail)
    await migrate(conn, filled.embedding, checkpoints=True)
    assert await everything(filled) == before
    placed = await (
        await conn.execute("SELECT logicalrelid::text AS name, colocationid AS together FROM pg_dist_partition")
    ).fetchall()
    together = {row["name"]: row["together"] for row in placed}
    assert together["store"] == together["store_vectors"] == together["memory_owners"]
    assert together["checkpoints"] == together["checkpoint_blobs"] == together["checkpoint_writes"]


@needs_citus
async def test_what_an_interruption_leaves_is_done_by_the_next_run(
    filled: MemoryStore, conn: AsyncConnection[DictRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await everything(filled)
    for step in ("_distribute_one", "_distribute", "_send_functions"):
        real = getattr(distribution, step)

        async def dies(*arguments: Any, real: Any = real) -> Any:
            await real(*arguments)
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(distribution, step, dies)
            with pytest.raises(KeyboardInterrupt):
                await distribute_tables(conn, lambda done: None)
        assert await everything(filled) == before
    await distribute_tables(conn, lambda done: None)
    await distribute_tables(conn, pytest.fail)
    assert await everything(filled) == before


@needs_citus
async def test_what_is_written_meanwhile_is_kept(filled: MemoryStore, database_url: str) -> None:
    stop = asyncio.Event()
    written: list[tuple[str, str]] = []

    async def write(user: str) -> None:
        while not stop.is_set():
            key = f"meanwhile{len(written)}"
            await filled.aput(("memory", user, "semantic"), f"{user}{key}", {"kind": "fact", "text": f"{user} {key}"})
            written.append((user, f"{user}{key}"))

    writers = [asyncio.create_task(write(user)) for user in USERS[:3]]
    try:
        await distribute(settings_of(database_url), lambda done: None)
        enough = len(written) + 10
        async with asyncio.timeout(60):
            while len(written) < enough:  # noqa: ASYNC110 - the writers tell nobody
                await asyncio.sleep(0.01)
    finally:
        stop.set()
        await asyncio.gather(*writers)
    kept = {(item.namespace[1], item.key) for item in await filled.asearch(("memory",), limit=100_000)}
    assert set(written) <= kept


@needs_citus
async def test_a_worker_is_refused(database_url: str, conn: AsyncConnection[DictRow]) -> None:
    _, worker, *_ = await nodes(database_url)
    url = worker.url(conn.info.dbname) + "?" + database_url.partition("?")[2]
    with pytest.raises(StorageError, match="is a worker of the cluster"):
        await distribute(settings_of(url), pytest.fail)


@needs_citus
@pytest.mark.parametrize("number", [number for number, _ in migrations.MIGRATIONS if number >= FIRST_DISTRIBUTED])
async def test_a_distributed_database_is_brought_up_to_date(
    database_url: str, words: EmbeddingModel, number: int
) -> None:
    async with await AsyncConnection[DictRow].connect(database_url, **_OPTIONS) as conn:
        await migrate_to(conn, words, number)
        with files_up_to(number):
            await distribute_tables(conn, lambda done: None)
        await migrate(conn, words, checkpoints=True)
        await distribute_tables(conn, pytest.fail)
    async with open_pool(database_url) as pool, MemoryStore(pool, words) as store:
        await store.aput(("memory", "ann", "semantic"), "tea", {"kind": "fact", "text": "likes tea"})
        assert [item.key for item in await store.asearch(("memory", "ann"), query="tea")] == ["tea"]


@needs_citus
async def test_what_is_committed_together_is_all_or_nothing_on_each_node(
    memory_store: MemoryStore,
) -> None:
    statements = Statements()
    insert = "INSERT INTO memory_owners (owner, revision) VALUES (%s, %s)"
    await statements.execute(insert, ("first", 1))
    await statements.execute(insert, ("second", None))
    with pytest.raises(errors.NotNullViolation):
        await GroupCommit(memory_store.pool).send(statements)
    async with memory_store.pool.connection() as other:
        assert await (await other.execute("SELECT owner FROM memory_owners")).fetchall() == []
