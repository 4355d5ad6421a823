"""The tables over the nodes of a Citus cluster: what is refused, what is the same there, and a life on it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.store.base import PutOp, SearchOp
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row

from react_mem.agents.agent_opening import open_agent
from react_mem.agents.cli import main
from react_mem.agents.config import AgentConfig
from react_mem.errors import StorageError
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.maintenance.worker import drain
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.opening import Storage, open_storage
from react_mem.memory.store import StorageSettings, distribution
from react_mem.memory.store.distribution import TABLES, distribute_tables, is_distributed
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.migrations import migrate
from react_mem.memory.store.postgres import MemoryStore, Pool
from react_mem.memory.store.postgres_server import distribute
from react_mem.memory.store.resealing import reseal
from react_mem.memory.store.transactions import Guard
from tests.support.citus import CITUS_URL, FIRST_DISTRIBUTED, needs_citus, nodes, one_server
from tests.support.databases import open_memory_store, open_pool, word_model
from tests.support.scripted_model import ScriptedModel
from tests.support.shard_tasks import tasks_of_a_turn
from tests.support.telling import tell
from tests.support.version_before import files_up_to, migrate_to

USERS = [f"user{number}" for number in range(12)]


_OPTIONS: Any = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": None}


KEY = base64.b64encode(bytes(range(32))).decode()


SAID = "I keep a zebrafish in the blue tank"


MODEL = word_model(16)


FIRST = Path(__file__).with_name("first_schema.sql")


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
            key = f"{user}meanwhile{len(written)}"
            await filled.aput(("memory", user, "semantic"), key, {"kind": "fact", "text": key})
            written.append((user, key))

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
async def test_who_must_have_a_wall_does_not_distribute(conn: AsyncConnection[DictRow], database_url: str) -> None:
    settings = StorageSettings.model_validate(
        {"database_url": database_url, "embedding": "local", "row_security": "on"}
    )
    with pytest.raises(StorageError, match="MEMORY_ROW_SECURITY=on is set"):
        await distribute(settings, pytest.fail)
    assert not await is_distributed(conn)


@needs_citus
async def test_a_worker_is_refused(database_url: str, conn: AsyncConnection[DictRow]) -> None:
    _, worker, *_ = await nodes(database_url)
    url = worker.url(conn.info.dbname) + "?" + database_url.partition("?")[2]
    with pytest.raises(StorageError, match="is a worker of the cluster"):
        await distribute(settings_of(url), pytest.fail)


# A distributed database in use.


@pytest.fixture(params=["plain", "sealed"])
async def distributed(request: pytest.FixtureRequest, database_url: str) -> StorageSettings:
    """Settings of a new database, which was started once and then distributed."""
    sealed = {"encryption_key": KEY} if request.param == "sealed" else {}
    given = {"database_url": database_url, "embedding": "local", "audit": True, **sealed}
    made = StorageSettings.model_validate(given)
    async with open_storage(made):
        pass
    await distribute(made, lambda done: None)
    return made


@pytest.fixture
async def storage(distributed: StorageSettings) -> AsyncIterator[Storage]:
    async with open_storage(distributed) as opened:
        yield opened


async def told(storage: Storage, user_id: str, thread: str) -> MemoryFacade:
    """Have a user say something in a thread, from which a fact is drawn."""
    memory = MemoryFacade(storage.store, checkpointer=storage.checkpointer)
    said = await memory.dialog.append(user_id, thread, [HumanMessage(SAID, id=thread)], agent_id="a")
    await tell(storage.store, SAID, source_ids=[said[0].id], session_id=thread, user_id=user_id)
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    state = {**empty_checkpoint(), "channel_values": {"said": SAID}, "channel_versions": {"said": "1"}}
    await storage.checkpointer.aput(config, state, {}, {"said": "1"})  # type: ignore[arg-type]
    return memory


def asked(user_id: str, question: str) -> MemoryQuery:
    return MemoryQuery(
        user_id=user_id,
        session_id="tuesday",
        agent_id="noting",
        query=question,
        scopes=[MemoryScope.SEMANTIC, MemoryScope.DIALOG],
    )


@needs_citus
async def test_a_turn_is_remembered_and_recorded(storage: Storage) -> None:
    config = AgentConfig(name="noting", manager="react_mem")
    model = ScriptedModel(script=["noted"] * 9)
    async with open_agent(config, model=model, store=storage.store, checkpointer=storage.checkpointer) as agent:
        for thread in ("monday", "tuesday"):
            told: Any = {"configurable": {"thread_id": thread}}
            said = {"messages": [("user", f"My dog is called Rex, on {thread}.")]}
            await agent.ainvoke(said, told, context={"user_id": "ann"})
            assert await drain(30)
        state = await agent.aget_state({"configurable": {"thread_id": "monday"}})
    assert [message.type for message in state.values["messages"]] == ["human", "ai"]
    memory = MemoryFacade(storage.store)
    assert "Rex" in str([item.payload for item in await memory.read(asked("ann", "Rex the dog"))])
    assert await memory.read(asked("bob", "Rex the dog")) == []
    audit = storage.store.audit
    assert audit is not None
    await audit.flush()
    assert (await audit.verify()).seq > 0
    assert {str(entry.action) async for _, entry in audit.entries(owner="ann")} >= {"read", "write"}


@needs_citus
async def test_every_statement_of_a_turn_goes_to_one_shard(storage: Storage, database_url: str) -> None:
    tasks = await tasks_of_a_turn(storage, database_url)
    assert len(tasks) > 5
    assert {statement: count for statement, count in tasks.items() if count > 1} == {}


@needs_citus
async def test_what_was_erased_is_nowhere(storage: Storage, database_url: str) -> None:
    memory = await told(storage, "ann", "hers")
    await told(storage, "bob", "his")
    assert (await memory.delete_session("bob", "his", proof=True)).problems == ()
    receipt = (await memory.forget_user("ann", proof=True)).receipt
    assert receipt.problems == ()
    looked = {check.name.rpartition(".")[2] for check in receipt.checks}
    assert {"store", "store_vectors", "checkpoints", "memory_keys", "memory_audit"} <= looked
    assert (await memory.signed("ann", receipt)).is_of("ann")


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[AsyncConnection[DictRow]]:
    async with await AsyncConnection[DictRow].connect(url, autocommit=True, row_factory=dict_row) as conn:
        yield conn


async def distributed_at(conn: AsyncConnection[DictRow], number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bring a database to an older version, and distribute it as that did."""
    with monkeypatch.context() as patched, files_up_to(number):
        patched.setattr(distribution, "drop_samples", _nothing)
        await migrate_to(conn, MODEL, number)
        await distribute_tables(conn, lambda done: None)


async def _nothing(_conn: object) -> list[str]:
    return []


@needs_citus
@pytest.mark.parametrize("number", [FIRST_DISTRIBUTED, 30])
async def test_the_first_schema_on_a_cluster_has_every_row_and_is_sealed(
    database_url: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Distributed at some version, the last among them, then brought up to date."""
    kept = "SELECT prefix, key, value, created_at, updated_at, expires_at FROM store ORDER BY prefix, key"
    async with connected(database_url) as conn:
        await conn.execute(FIRST.read_text(encoding="utf-8").encode())
        before = await (await conn.execute(kept)).fetchall()
        await distributed_at(conn, number, monkeypatch)
        await migrate(conn, MODEL, checkpoints=True)
        assert await (await conn.execute(kept)).fetchall() == before
    async with open_memory_store(database_url, MODEL, sealed=True) as store, store:
        assert store.keys is not None
        assert (await reseal(store.pool, store.keys, lambda done, total: None)).from_plain == len(before)
        found = await MemoryFacade(store).read(asked("ann", "lives in Đà Nẵng"))
        assert "User lives in Đà Nẵng" in {item.payload["text"] for item in found}
        async with store.pool.connection() as conn:
            stored = str(await (await conn.execute("SELECT * FROM store")).fetchall())
        assert "lives in" not in stored
        assert await store.aerase_if([], Guard(meta_namespace("ann"), "revision", None))
        assert await MemoryFacade(store).read(asked("ann", "lives in Đà Nẵng")) == []


async def sampled(conn: AsyncConnection[DictRow]) -> int:
    """Return how many columns of shards the planner has samples of that say what was said."""
    await conn.execute("ANALYZE store")
    counting = "SELECT count(*) FROM pg_stats s WHERE s::text LIKE '%zebrafish%'"
    found = await conn.execute("SELECT success, result FROM run_command_on_workers(%s)", (counting,))
    rows = await found.fetchall()
    assert all(row["success"] for row in rows)
    return sum(int(row["result"]) for row in rows)


@needs_citus
@pytest.mark.parametrize("distributed", ["plain"], indirect=True)
async def test_a_proof_looks_at_the_samples_of_every_node(storage: Storage) -> None:
    for number in range(3):
        await told(storage, f"user{number}", f"thread{number}")
    async with storage.pool.connection() as conn:
        assert await sampled(conn) == 0
        more = "ALTER TABLE %s ALTER COLUMN value SET STATISTICS 100"
        await conn.execute("SELECT run_command_on_shards('store', %s)", (more,))
        assert await sampled(conn) > 0
    memory = MemoryFacade(storage.store, checkpointer=storage.checkpointer)
    receipt = (await memory.forget_user("user0", proof=True)).receipt
    assert [check.name for check in receipt.checks if check.hits] == ["table pg_stats of the nodes"]
