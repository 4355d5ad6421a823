"""Proof that something is gone: SQL over every table, which shares nothing with what erases; and its signature."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from react_mem.agents.cli import main
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.operations import Receipt
from react_mem.memory.opening import Storage, open_storage
from react_mem.memory.rights import erasure
from react_mem.memory.rights.receipts import SignedReceipt, public_key, sign
from react_mem.memory.store import StorageSettings
from tests.support.telling import tell

SAID = "I keep a zebrafish in the blue tank"


async def told(storage: Storage, user_id: str, thread: str) -> MemoryFacade:
    """Have a user say something in a thread, from which a fact is drawn."""
    memory = MemoryFacade(storage.store, checkpointer=storage.checkpointer)
    said = await memory.dialog.append(user_id, thread, [HumanMessage(SAID, id=thread)], agent_id="a")
    await tell(storage.store, SAID, source_ids=[said[0].id], session_id=thread, user_id=user_id)
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    state = {**empty_checkpoint(), "channel_values": {"said": SAID}, "channel_versions": {"said": "1"}}
    await storage.checkpointer.aput(config, state, {}, {"said": "1"})  # type: ignore[arg-type]
    return memory


@pytest.fixture
def settings(database_url: str) -> StorageSettings:
    return StorageSettings.model_validate({"database_url": database_url, "embedding": "local"})


async def test_every_table_is_looked_through(settings: StorageSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_storage(settings) as storage:
        memory = await told(storage, "ann", "hers")
        await told(storage, "bob", "his")
        receipt = (await memory.forget_user("ann", proof=True)).receipt
        assert receipt.problems == ()
        looked = {check.name for check in receipt.checks}
        async with storage.pool.connection() as conn:
            tables = await conn.execute(
                "SELECT concat('table ', schemaname, '.', tablename) AS name FROM pg_tables "
                "WHERE schemaname = current_schema()"
            )
            everywhere = {row["name"] for row in await tables.fetchall()}
        assert len(everywhere) > 10
        assert everywhere | {"table pg_stats"} <= looked
        assert (await memory.delete_session("bob", "his", proof=True)).problems == ()


@pytest.mark.parametrize("on", ["database", "memory"])
async def test_a_signature_is_of_one_server_one_user_and_one_text(on: str, memory_store: BaseStore) -> None:
    store = memory_store if on == "database" else InMemoryStore()
    signed = await sign(store, "ann", Receipt(removed={"fact": ("1",)}))
    key = await public_key(store)
    assert signed.public_key == key
    assert signed.is_signed_by(key)
    assert (signed.is_of("ann"), signed.is_of("bob")) == (True, False)
    assert "ann" not in signed.model_dump_json()
    again = type(signed).model_validate_json(signed.model_dump_json(indent=2))
    assert again.is_signed_by(key)
    for change in ({"receipt": Receipt()}, {"subject": "0" * 64}, {"salt": "x"}, {"signature": ""}):
        assert not signed.model_copy(update=change).is_signed_by(key)
    assert not signed.is_signed_by(await public_key(InMemoryStore()))
    assert (await sign(store, "ann", Receipt())).salt != signed.salt


async def test_the_operators_own_key_signs_and_the_database_has_none(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = bytes(range(32)).hex()
    asked = {"database_url": database_url, "embedding": "local", "receipt_key": seed}
    async with open_storage(StorageSettings.model_validate(asked)) as storage:
        signed = await MemoryFacade(storage.store).signed("ann", Receipt())
        apart = MemoryFacade(storage.store, dialog_store=InMemoryStore())
        assert (await apart.signed("ann", Receipt())).public_key == signed.public_key
        assert not await storage.store.asearch(("react_mem", "receipts"))
    # whoever has the key knows its public half without the database
    monkeypatch.setenv("MEMORY_RECEIPT_KEY", seed)
    monkeypatch.setenv("DATABASE_URL", "postgresql://127.0.0.1:1/none")
    assert await asyncio.to_thread(main, ["receipt", "key"]) == 0
    key = capsys.readouterr().out.strip()
    assert signed.is_signed_by(key)
    assert key == signed.public_key
    monkeypatch.setenv("MEMORY_RECEIPT_KEY", seed[:-1])
    assert await asyncio.to_thread(main, ["receipt", "key"]) == 2
    told = capsys.readouterr().err
    assert "MEMORY_RECEIPT_KEY holds no key" in told
    assert seed[:-1] not in told


def test_a_receipt_is_verified_at_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def signed(user_id: str) -> SignedReceipt:
        return await sign(InMemoryStore(), user_id, Receipt(removed={"fact": ("1",)}))

    receipt = asyncio.run(signed("ann"))
    file = tmp_path / "receipt.json"
    file.write_text(receipt.model_dump_json(), encoding="utf-8")
    verify = ["receipt", "verify", str(file), "--public-key", receipt.public_key]
    assert main([*verify, "--user", "ann"]) == 0
    assert "1 removed, 0 rewritten; 0 checks, nothing left" in capsys.readouterr().out
    assert main([*verify, "--user", "bob"]) == 1
    assert "is about another user" in capsys.readouterr().out
    other = asyncio.run(signed("ann")).public_key
    assert main([*verify[:-1], other]) == 1
    assert "was signed by another key" in capsys.readouterr().out
    file.write_text(receipt.model_dump_json().replace('"fact"', '"message"'), encoding="utf-8")
    assert main(verify) == 1
    assert "was changed after it was signed" in capsys.readouterr().out
    answer: dict[str, Any] = {"receipt": receipt.model_dump(mode="json"), "threads": ["t"], "problems": []}
    file.write_text(json.dumps(answer), encoding="utf-8")
    assert main([*verify, "--user", "ann"]) == 0
    answer["receipt"]["salt"] = "other"
    file.write_text(json.dumps(answer), encoding="utf-8")
    assert main(verify) == 1
    capsys.readouterr()
    file.write_text("{}", encoding="utf-8")
    assert main(verify) == 2
    assert "is no signed receipt" in capsys.readouterr().err


def test_forgetting_at_the_command_line_writes_a_receipt_of_this_database(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("EMBEDDING_MODEL", "local")
    file = tmp_path / "receipt.json"
    assert main(["memory", "forget", "--user", "ann", "--yes", "--receipt", str(file)]) == 0
    assert main(["receipt", "verify", str(file), "--user", "ann"]) == 0
    assert main(["receipt", "key"]) == 0
    assert SignedReceipt.model_validate_json(file.read_text()).public_key in capsys.readouterr().out


async def test_the_planner_keeps_nothing_of_what_was_said(settings: StorageSettings) -> None:
    async with open_storage(settings) as storage:
        for number in range(3):
            await told(storage, f"user{number}", f"thread{number}")
        async with storage.pool.connection() as conn:
            await conn.execute("ANALYZE")
            rows = await (
                await conn.execute("SELECT tablename FROM pg_stats WHERE pg_stats::text LIKE '%zebrafish%'")
            ).fetchall()
            assert rows == []
            # the check sees it where it is kept
            await conn.execute("ALTER TABLE store ALTER COLUMN value SET STATISTICS 100")
            await conn.execute("ANALYZE store")
        receipt = (await MemoryFacade(storage.store).forget_user("user0", proof=True)).receipt
        assert [check.name for check in receipt.checks if check.hits and "stats" in check.name] == ["table pg_stats"]


@pytest.mark.parametrize("works", [True, False])
async def test_a_sealed_database_is_looked_through_by_its_keyed_ids(
    database_url: str, works: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = base64.b64encode(os.urandom(32)).decode()
    given = {"database_url": database_url, "embedding": "local", "encryption_key": key}
    async with open_storage(StorageSettings.model_validate(given)) as storage:
        memory = await told(storage, "ann", "hers")

        async def writes_nothing(_store: BaseStore, _user: str, step: Any, **_options: bool) -> Any:
            return (await step())[0]

        if not works:
            monkeypatch.setattr(erasure, "transact", writes_nothing)
        receipt = await memory.delete_session("ann", "hers", proof=True)
        hits = (check.name for check in receipt.checks if check.hits and check.name.startswith("table"))
        assert {name.rpartition(".")[2] for name in hits} == (set() if works else {"store", "store_vectors"})
        signed = await memory.signed("ann", receipt)
        assert signed.is_signed_by(await public_key(storage.store))
