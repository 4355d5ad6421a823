"""A distributed database in use: turns, files, the audit log, sealing what there is, and proof of what was erased."""

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
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from react_mem.agents.agent_opening import open_agent
from react_mem.agents.cli import main
from react_mem.agents.config import AgentConfig
from react_mem.integrations import MemoryFilesBackend
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.maintenance.worker import drain
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.model.namespaces import meta_namespace
from react_mem.memory.opening import Storage, open_storage
from react_mem.memory.store import StorageSettings, distribution
from react_mem.memory.store.distribution import distribute_tables
from react_mem.memory.store.migrations import migrate
from react_mem.memory.store.postgres_server import distribute
from react_mem.memory.store.sealing.resealing import reseal
from react_mem.memory.store.transactions import Guard
from tests.support.citus import FIRST_DISTRIBUTED, needs_citus
from tests.support.databases import open_memory_store, word_model
from tests.support.scripted_model import ScriptedModel
from tests.support.shard_tasks import tasks_of_a_turn
from tests.support.telling import tell
from tests.support.version_before import files_up_to, migrate_to

pytestmark = needs_citus

KEY = base64.b64encode(bytes(range(32))).decode()
SAID = "I keep a zebrafish in the blue tank"
MODEL = word_model(16)
FIRST = Path(__file__).with_name("first_schema.sql")


@pytest.fixture(params=["plain", "sealed"])
async def settings(request: pytest.FixtureRequest, database_url: str) -> StorageSettings:
    """Settings of a new database, which was started once and then distributed."""
    sealed = {"encryption_key": KEY} if request.param == "sealed" else {}
    given = {"database_url": database_url, "embedding": "local", "audit": True, **sealed}
    made = StorageSettings.model_validate(given)
    async with open_storage(made):
        pass
    await distribute(made, lambda done: None)
    return made


@pytest.fixture
async def storage(settings: StorageSettings) -> AsyncIterator[Storage]:
    async with open_storage(settings) as opened:
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


async def test_every_statement_of_a_turn_goes_to_one_shard(storage: Storage, database_url: str) -> None:
    tasks = await tasks_of_a_turn(storage, database_url)
    assert len(tasks) > 5
    assert {statement: count for statement, count in tasks.items() if count > 1} == {}


async def test_what_was_erased_is_nowhere(storage: Storage, database_url: str) -> None:
    memory = await told(storage, "ann", "hers")
    await told(storage, "bob", "his")
    assert (await memory.delete_session("bob", "his", proof=True)).problems == ()
    receipt = (await memory.forget_user("ann", proof=True)).receipt
    assert receipt.problems == ()
    looked = {check.name.rpartition(".")[2] for check in receipt.checks}
    assert {"store", "store_vectors", "checkpoints", "memory_keys", "memory_audit"} <= looked
    assert (await memory.signed("ann", receipt)).is_of("ann")


async def test_the_files_of_an_agent(storage: Storage) -> None:
    files, others = (MemoryFilesBackend(store=storage.store, user_id=user) for user in ("ann", "bob"))
    assert (await files.awrite("/notes/trip.md", "The ferry leaves at nine.\nBring water.\n")).error is None
    assert (await files.aupload_files([("/a.bin", b"\xff\x00")]))[0].error is None
    assert (await files.aedit("/notes/trip.md", "nine", "eight")).occurrences == 1
    assert [one["path"] for one in (await files.als("/")).entries or []] == ["/a.bin", "/notes/"]
    found, _ = await files.asearch_files("when does the ferry leave")
    assert found[0].path == "/notes/trip.md"
    assert "eight" in found[0].passage
    assert (await others.als("/")).entries == []
    memory = MemoryFacade(storage.store)
    assert (await memory.forget_user("ann", proof=True)).receipt.problems == ()
    assert (await files.als("/")).entries == []


@pytest.mark.parametrize("settings", ["sealed"], indirect=True)
def test_keys_are_rotated_at_the_command_line(
    settings: StorageSettings, database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def keys_and_text(*, tells: bool) -> tuple[set[int], str]:
        async with open_storage(settings) as storage:
            if tells:
                await told(storage, "ann", "hers")
            async with storage.pool.connection() as conn:
                rows = await (await conn.execute("SELECT version FROM memory_keys WHERE owner = 'ann'")).fetchall()
            [item] = await storage.store.asearch(("memory", "ann", "dialog"))
            return {row["version"] for row in rows}, item.value["text"]

    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("MEMORY_ENCRYPTION_KEY", KEY)
    before, said = asyncio.run(keys_and_text(tells=True))
    assert main(["keys", "rotate", "--data-keys"]) == 0
    after, still = asyncio.run(keys_and_text(tells=False))
    assert (len(before), len(after)) == (1, 1)
    assert before != after
    assert said == still == SAID
    monkeypatch.setenv("MEMORY_ENCRYPTION_KEY", base64.b64encode(bytes(range(1, 33))).decode())
    monkeypatch.setenv("MEMORY_ENCRYPTION_KEY_FORMER", KEY)
    for command in ("rotate", "seal", "status"):
        assert main(["keys", command]) == 0
    assert "1 " in capsys.readouterr().out


def test_the_audit_log_is_verified_at_the_command_line(
    settings: StorageSettings, database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("EMBEDDING_MODEL", "local")
    monkeypatch.setenv("MEMORY_AUDIT", "1")
    if settings.encryption_key is not None:
        monkeypatch.setenv("MEMORY_ENCRYPTION_KEY", KEY)
    assert main(["memory", "forget", "--user", "ann", "--yes"]) == 0
    capsys.readouterr()
    assert main(["audit", "verify"]) == 0
    assert main(["audit", "list"]) == 0
    assert "operator  erase" in capsys.readouterr().out


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


@pytest.mark.parametrize("number", [FIRST_DISTRIBUTED, 28, 31, 32])
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


async def test_no_node_keeps_samples_of_what_was_said(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(database_url) as conn:
        await distributed_at(conn, 30, monkeypatch)
        for number in range(20):
            row = (f"u{number}", f"memory.u{number}.x", Jsonb({"text": SAID}))
            await conn.execute("INSERT INTO store (owner, prefix, key, value) VALUES (%s, %s, 'k', %s)", row)
        assert await sampled(conn) > 0
        await migrate(conn, MODEL, checkpoints=True)
        assert await sampled(conn) == 0
        await distribute_tables(conn, pytest.fail)


@pytest.mark.parametrize("settings", ["plain"], indirect=True)
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
