"""The wall: what a statement forgets to ask for, the database refuses."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest
from langgraph.store.base import GetOp, PutOp
from psycopg import AsyncConnection, errors
from psycopg.sql import SQL, Identifier

from react_mem.errors import StorageError
from react_mem.memory.index.recall import Recall, RecallOp, read_question
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.opening import open_storage
from react_mem.memory.store import StorageSettings
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.row_security import APPLICATION_ROLE, OWNED_TABLES, confine, confined
from react_mem.memory.store.transactions import Guard
from tests.support.citus import one_server
from tests.support.databases import fresh_memory_store

pytestmark = one_server

ANN, BOB = ("memory", "ann", "episodic"), ("memory", "bob", "episodic")


@pytest.fixture
async def store(database_server: str) -> AsyncIterator[MemoryStore]:
    async with fresh_memory_store(database_server) as store:
        await fill(store)
        yield store


async def fill(store: MemoryStore) -> None:
    """Let two people say the same things."""
    for namespace in (ANN, BOB):
        said = {
            n: {"id": f"m{n}", "kind": "message", "text": f"green tea {namespace[1]} {n}", "session_id": "s1"}
            for n in range(4)
        }
        await store.abatch([PutOp(namespace, f"m{n}", value) for n, value in said.items()])


@asynccontextmanager
async def seen_by(store: MemoryStore, *owners: str) -> AsyncIterator[AsyncConnection[Any]]:
    """Lend a connection in a transaction that sees some owners."""
    async with store.pool.connection() as conn, conn.transaction():
        await confine(conn, owners)
        yield conn


async def owners_in(conn: AsyncConnection[Any], table: str) -> set[str]:
    rows = await (await conn.execute(f"SELECT DISTINCT owner FROM {table}")).fetchall()
    return {row["owner"] for row in rows}


async def test_every_table_with_an_owner_is_behind_the_wall(store: MemoryStore) -> None:
    async with store.pool.connection() as conn:
        rows = await (
            await conn.execute(
                "SELECT c.relname AS name, c.relrowsecurity AS confined FROM pg_class c "
                "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'owner' AND NOT a.attisdropped "
                "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')"
            )
        ).fetchall()
    assert {row["name"]: row["confined"] for row in rows} == dict.fromkeys(OWNED_TABLES, True)


async def test_nothing_is_written_for_another(store: MemoryStore) -> None:
    before = await store.asearch(BOB, limit=10)
    async with seen_by(store, "ann") as conn:
        for statement in ("UPDATE store SET value = '{}' WHERE owner = 'bob'", "DELETE FROM store WHERE owner = 'bob'"):
            assert (await conn.execute(statement.encode())).rowcount == 0
    with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
        async with seen_by(store, "ann") as conn:
            await conn.execute("INSERT INTO store (owner, prefix, key, value) VALUES ('bob', 'memory.bob', 'k', '{}')")
    with pytest.raises(errors.InsufficientPrivilege):
        async with seen_by(store, "ann") as conn:
            await conn.execute("UPDATE memory_embedding SET name = 'mine'")
    assert await store.asearch(BOB, limit=10) == before


_FILTERS = re.compile(
    rb"(?:\w+\.)?(?:owner|prefix) = (?:%s|%\(\w+\)s|ANY\(%s::text\[\]\)|\w+\.(?:owner|prefix))"
    rb"|\w+\.prefix ~[<>]=?~ %\(\w+\)s|prefix ~ %s|starts_with\(s\.prefix, %s\)|s\.ctid = ANY \(.*?::tid\[\]\)"
)


@pytest.fixture
def careless(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Have every statement forget whose rows and which namespaces it is about."""
    execute = psycopg.AsyncCursor.execute

    async def forgetful(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        text = query.encode() if isinstance(query, str) else query
        if isinstance(text, bytes):
            text = _FILTERS.sub(rb"(\g<0> OR TRUE)", text)
        return await execute(self, text, *args, **kwargs)

    return lambda: monkeypatch.setattr(psycopg.AsyncCursor, "execute", forgetful)


async def _gets(store: MemoryStore) -> Any:
    return await store.abatch([GetOp(ANN, f"m{n}") for n in range(4)])


async def _lists(store: MemoryStore) -> Any:
    return await store.asearch(ANN, limit=20)


async def _lists_some(store: MemoryStore) -> Any:
    return await store.asearch(ANN, filter={"kind": "message"}, limit=20)


async def _lists_a_conversation(store: MemoryStore) -> Any:
    return await store.asearch(ANN, filter={"session_id": "s1"}, limit=20)


async def _lists_namespaces(store: MemoryStore) -> Any:
    return await store.alist_namespaces(prefix=ANN[:2], limit=20)


async def _pages(store: MemoryStore) -> Any:
    return await store.apage(("memory", "ann"), ("", ""), 20)


async def _searches(store: MemoryStore) -> Any:
    store.owners.forget("ann")
    return await store.asearch(ANN, query="green tea", limit=20)


async def _recalls(store: MemoryStore) -> Any:
    store.owners.forget("ann")
    question = read_question("green tea", datetime(2026, 7, 1, tzinfo=UTC))
    [answer] = await store.arecall([RecallOp(ANN, question, {}, 20)])
    assert isinstance(answer, Recall)
    return answer.found


async def _links(store: MemoryStore) -> Any:
    return await store.alinked([ANN], ["m0", "m1"])


READS: list[Callable[[MemoryStore], Awaitable[Any]]] = [
    _gets,
    _lists,
    _lists_some,
    _lists_a_conversation,
    _lists_namespaces,
    _pages,
    _searches,
    _recalls,
    _links,
]
BY_INDEX = _searches, _recalls, _links


@pytest.mark.parametrize("read", READS)
async def test_a_read_that_forgets_its_owner_finds_nothing_of_others(
    store: MemoryStore, careless: Callable[[], None], read: Callable[[MemoryStore], Awaitable[Any]]
) -> None:
    careful = str(await read(store))
    careless()
    found = str(await read(store))
    assert "bob" not in found
    assert "ann" in careful
    assert "ann" in found
    if read not in BY_INDEX:  # the control: without a wall it would find it
        store.pool.has_row_security = False  # type: ignore[attr-defined]
        assert "bob" in str(await read(store))


async def test_a_write_that_forgets_its_owner_changes_nothing_of_others(
    store: MemoryStore, careless: Callable[[], None]
) -> None:
    before = await store.asearch(BOB, limit=20)
    careless()
    await store.abatch([PutOp(ANN, "m1", None), PutOp(ANN, "m2", {"text": "black tea", "kind": "message"})])
    assert await store.aerase_if([], Guard(meta_namespace("ann"), "revision", None))
    assert await store.asearch(("memory",), limit=20) == before
    store.pool.has_row_security = False  # type: ignore[attr-defined]
    assert await store.aerase_if([], Guard(meta_namespace("ann"), "revision", None))
    assert await store.asearch(("memory",), limit=20) == []


async def test_two_owners_at_once_on_one_connection(database_server: str) -> None:
    async with fresh_memory_store(database_server) as store:
        await store.pool.resize(1, 1)
        await fill(store)

        async def read(namespace: tuple[str, ...], turn: int) -> None:
            found = await store.asearch(namespace, query="green tea", limit=10)
            assert {item.namespace for item in found} == {namespace}
            assert len(found) == 4
            await store.aput(namespace, f"m{turn % 4}", {"text": f"green tea {turn}", "kind": "message"})

        await asyncio.gather(*(read(namespace, turn) for turn in range(20) for namespace in (ANN, BOB)))


async def _fail_confined(conn: AsyncConnection[Any]) -> None:
    async with conn.transaction():
        await confine(conn, ["ann"])
        await conn.execute("SELECT 1 / 0")


async def test_a_connection_is_clean_after_an_error(store: MemoryStore) -> None:
    async with store.pool.connection() as conn:
        with pytest.raises(errors.DivisionByZero):
            async with confined(conn, ["ann"]):
                await conn.execute("SELECT 1 / 0")
        assert await owners_in(conn, "store") == {"ann", "bob"}
        with pytest.raises(errors.DivisionByZero):
            await _fail_confined(conn)
        assert await owners_in(conn, "store") == {"ann", "bob"}
        row = await (await conn.execute("SELECT current_user::text AS me, session_user::text AS login")).fetchone()
        assert row is not None
        assert row["me"] == row["login"] != APPLICATION_ROLE


async def test_nothing_within_ends_the_wall(store: MemoryStore) -> None:
    async with store.pool.connection() as conn:
        for begin in (conn.pipeline, conn.transaction):
            with pytest.raises(RuntimeError, match="the confinement would end"):
                async with confined(conn, ["ann"]), begin():
                    pass
        async with confined(conn, ["ann"]):
            seen = await conn.execute("SELECT DISTINCT owner FROM store")
            again = await conn.execute("SELECT DISTINCT owner FROM store_vectors")
        assert [row["owner"] for row in [*await seen.fetchall(), *await again.fetchall()]] == ["ann", "ann"]
        async with conn.pipeline():
            pass


@asynccontextmanager
async def login(url: str, rights: str) -> AsyncIterator[str]:
    """Make a user of a database who owns nothing yet, and may create tables."""
    name = f"login_{uuid4().hex}"
    async with await AsyncConnection.connect(url, autocommit=True) as conn:
        await conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
        await conn.execute(SQL("CREATE ROLE {} LOGIN {}").format(Identifier(name), SQL(rights)))  # type: ignore[arg-type]
        await conn.execute(SQL("GRANT CREATE ON SCHEMA public TO {}").format(Identifier(name)))
    try:
        parts = urlsplit(url)
        yield urlunsplit(parts._replace(netloc=f"{name}@{parts.netloc.rpartition('@')[2]}"))
    finally:
        async with await AsyncConnection.connect(url, autocommit=True) as conn:
            await conn.execute(SQL("DROP OWNED BY {} CASCADE").format(Identifier(name)))
            await conn.execute(SQL("DROP ROLE {}").format(Identifier(name)))


async def _has_wall(url: str, row_security: str) -> bool:
    settings = {"database_url": url, "embedding": "local", "row_security": row_security}
    async with open_storage(StorageSettings.model_validate(settings)) as storage:
        return bool(storage.pool.has_row_security)  # type: ignore[attr-defined]


async def test_a_user_who_may_not_become_the_role_goes_without_or_does_not_start(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with login(database_url, "") as url:
        assert not await _has_wall(url, "auto")
        [said] = [record.message for record in caplog.records if "Row-level security" in record.message]
        assert "CREATE ROLE react_mem_app" in said
        with pytest.raises(StorageError, match="GRANT react_mem_app TO"):
            await _has_wall(url, "on")
        # as the message says
        async with await AsyncConnection.connect(database_url, autocommit=True) as conn:
            name = Identifier(urlsplit(url).username or "")
            await conn.execute("DO $$ BEGIN CREATE ROLE react_mem_app; EXCEPTION WHEN duplicate_object THEN END $$")
            await conn.execute(SQL("GRANT react_mem_app TO {}").format(name))
        assert await _has_wall(url, "on")
        assert not await _has_wall(url, "off")
