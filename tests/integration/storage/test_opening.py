"""Opening storage: what is there when it works, and what a user reads when it does not."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict

from react_mem.errors import DatabaseUnavailable, EmbeddingMismatch
from react_mem.memory.opening import Storage, open_storage, open_store
from react_mem.memory.store import StorageSettings, postgres_server
from react_mem.memory.store.embeddings import LOCAL_MODEL
from react_mem.memory.store.storage_settings import PLATFORM_SCHEMA
from tests.support.citus import one_server
from tests.support.databases import open_memory_store, word_model

pytestmark = one_server

ANN = ("memory", "ann", "semantic")


def at(url: str, **options: object) -> StorageSettings:
    return StorageSettings.model_validate({"database_url": url, **options})


async def test_store_and_checkpointer_share_one_pool(storage: Storage) -> None:
    await storage.store.aput(ANN, "1", {"text": "Tôi thích uống trà xanh"})
    await storage.store.aput(ANN, "2", {"text": "The capital of France is Paris"})
    hits = await storage.store.asearch(ANN, query="What do I like to drink? green tea", limit=1)
    assert [hit.key for hit in hits] == ["1"]

    config: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    await storage.checkpointer.aput(config, empty_checkpoint(), {}, {})
    assert await storage.checkpointer.aget_tuple(config) is not None
    assert storage.embedding.name == LOCAL_MODEL
    assert storage.store.pool is storage.checkpointer.conn is storage.pool


async def test_the_embedded_database_is_the_default(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("DATABASE_URL", "LANGSERVE_GRAPHS", "EMBEDDING_MODEL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("REACT_MEM_DATA_DIR", str(data_dir))
    async with open_storage() as storage:
        await storage.store.aput(ANN, "1", {"text": "tea"})
    async with open_store() as store:
        assert await store.aget(ANN, "1") is not None


async def test_a_server_gets_the_store_alone_and_apart_from_its_own(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The platform's database has tables of the same names.
    async with await AsyncConnection.connect(database_url, autocommit=True) as conn:
        await conn.execute("CREATE EXTENSION vector")
        await conn.execute("CREATE TABLE store (theirs int)")
        await conn.execute("CREATE TABLE store_vectors (theirs int)")
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("LANGSERVE_GRAPHS", "{}")
    monkeypatch.setenv("LANGGRAPH_AUTH", '{"path": "ours.py:auth"}')
    monkeypatch.setenv("POSTGRES_URI", database_url)
    async with open_store() as store:
        await store.aput(ANN, "1", {"text": "tea"})
        assert [hit.key for hit in await store.asearch(ANN, query="tea")] == ["1"]
    async with await AsyncConnection.connect(database_url) as conn:
        rows = await (await conn.execute("SELECT schemaname, tablename FROM pg_tables")).fetchall()
    assert (PLATFORM_SCHEMA, "store") in rows
    assert not [table for _, table in rows if table == "checkpoints"]


async def test_another_model_is_refused_with_the_way_back_and_the_way_on(database_url: str) -> None:
    async with open_memory_store(database_url, word_model(8, "openai:some-model")):
        pass
    with pytest.raises(EmbeddingMismatch) as caught:
        async with open_storage(at(database_url, embedding="local")):
            pass
    message = str(caught.value)
    for part in (
        "openai:some-model (8 dimensions)",
        f"{LOCAL_MODEL} (384 dimensions)",
        "Set EMBEDDING_MODEL=openai:some-model",
        f"react-mem database reembed --to {LOCAL_MODEL}",
    ):
        assert part in message


async def test_a_stock_database_of_another_dimension_is_refused(database_url: str) -> None:
    model = word_model(8)
    index = {"dims": 8, "embed": model.embeddings}
    async with AsyncPostgresStore.from_conn_string(database_url, index=index) as stock:  # type: ignore[arg-type]
        await stock.setup()
    with pytest.raises(EmbeddingMismatch, match=r"unrecorded model \(8 dimensions\).*8-dim model"):
        async with open_storage(at(database_url, embedding="local")):
            pass


async def test_auto_takes_the_model_that_the_database_was_made_with(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not used: the dimension is known")
    async with open_storage(at(database_url, embedding="openai:text-embedding-3-small")):
        pass
    async with open_storage(at(database_url, embedding="auto")) as storage:
        assert storage.embedding.name == "openai:text-embedding-3-small"
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(EmbeddingMismatch, match=r"embedded with openai:text-embedding-3-small .*cannot be loaded here"):
        async with open_storage(at(database_url, embedding="auto")):
            pass


@pytest.fixture
async def silent_server() -> AsyncIterator[int]:
    """A port that accepts connections and says nothing."""
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


async def test_a_database_that_is_not_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"postgresql://ann:s3cret@127.0.0.1:{port}/memories"
    with pytest.raises(DatabaseUnavailable) as caught:
        async with open_storage(at(url)):
            pass
    message = str(caught.value)
    assert f"127.0.0.1:{port}/memories is not available" in message
    assert "DATABASE_URL" in message
    assert "s3cret" not in message


async def test_a_database_that_does_not_answer(silent_server: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_server, "_CONNECT_DEADLINE", 0.5)
    started = time.monotonic()
    with pytest.raises(DatabaseUnavailable, match=f"127.0.0.1:{silent_server}/memories is not available"):
        async with open_storage(at(f"postgresql://ann:s3cret@127.0.0.1:{silent_server}/memories")):
            pass
    assert time.monotonic() - started < 5


async def test_a_database_that_does_not_exist(database_server: str) -> None:
    with pytest.raises(DatabaseUnavailable, match=r'/no_such is not available.*"no_such" does not exist'):
        async with open_storage(at(urlsplit(database_server)._replace(path="/no_such").geturl())):
            pass


async def test_a_user_who_may_not_create_tables(database_url: str, database_server: str) -> None:
    parts = conninfo_to_dict(database_url)
    name = f"{parts['dbname']}_guest"
    async with await AsyncConnection.connect(database_url, autocommit=True) as conn:
        await conn.execute(f"CREATE ROLE {name} LOGIN")
    guest = urlsplit(database_url)._replace(netloc=f"{name}@").geturl()
    try:
        with pytest.raises(DatabaseUnavailable, match=r"may not create the tables.*Grant"):
            async with open_storage(at(guest)):
                pass
        async with await AsyncConnection.connect(database_url, autocommit=True) as conn:
            await conn.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
        # pgvector is a trusted extension only from 0.8.3 on or where the packager made it one.
        async with await AsyncConnection.connect(database_url, autocommit=True) as conn:
            await conn.execute("CREATE EXTENSION vector")
        async with open_storage(at(guest)) as storage:
            await storage.store.aput(ANN, "1", {"text": "tea"})
    finally:
        async with await AsyncConnection.connect(database_url, autocommit=True) as conn:
            await conn.execute(f"DROP OWNED BY {name} CASCADE")
            await conn.execute(f"DROP ROLE {name}")
