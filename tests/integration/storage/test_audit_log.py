"""The audit log: who did what with whose memory is in it, no word of it is, and no change of it goes unseen."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from psycopg import errors

from react_mem.agents.agent_opening import ConfiguredRunners, open_agent
from react_mem.agents.cli import main
from react_mem.agents.config import AgentConfig
from react_mem.errors import AuditBroken, StorageError
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.maintenance.runner import RetentionRounds
from react_mem.memory.maintenance.worker import drain
from react_mem.memory.model.interface import MemoryQuery, MemoryScope, MemoryWriteEvent
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.policy import RetentionSettings
from react_mem.memory.opening import open_memory
from react_mem.memory.rights import retention
from react_mem.memory.rights.retention import retain
from react_mem.memory.store import audit_log
from react_mem.memory.store.audit_log import AuditAction, AuditActor, AuditHead, AuditLog, AuditReason, acting
from react_mem.memory.store.postgres import MemoryStore
from tests.support.scripted_model import ScriptedModel

KEY = bytes(range(32))


@pytest.fixture
async def audit(memory_store: MemoryStore) -> AsyncIterator[AuditLog]:
    """The log of a store, which records what is done in it."""
    memory_store.audit = AuditLog(memory_store.pool, None)
    yield memory_store.audit
    await memory_store.audit.close()


async def _seen(audit: AuditLog, owner: str | None = None) -> dict[tuple[str, str, str], int]:
    await audit.flush()
    found: dict[tuple[str, str, str], int] = {}
    async for _, entry in audit.entries(owner=owner):
        place = (str(entry.actor), str(entry.action), entry.kind)
        found[place] = found.get(place, 0) + entry.records
    return found


async def _all_rows(store: MemoryStore) -> str:
    async with store.pool.connection() as conn:
        return str(await (await conn.execute("SELECT * FROM memory_audit")).fetchall())


async def _changed(store: MemoryStore, *statements: str) -> None:
    """Change the log as who owns its table can."""
    async with store.pool.connection() as conn:
        await conn.execute("ALTER TABLE memory_audit DISABLE TRIGGER USER")
        for statement in statements:
            await conn.execute(statement)  # type: ignore[arg-type]


async def _some(audit: AuditLog, count: int = 5) -> AuditHead:
    for number in range(count):
        audit.record(f"u{number}", AuditAction.READ, {"fact": number + 1})
    await audit.flush()
    return await audit.head()


async def test_what_is_done_with_memory_is_recorded_without_a_word_of_it(
    audit: AuditLog, memory_store: MemoryStore
) -> None:
    memory, canary, user = MemoryFacade(memory_store), f"w{uuid.uuid4().hex}", f"u{uuid.uuid4().hex}"
    event = MemoryWriteEvent(
        user_id=user, session_id="s", agent_id="a", scope=MemoryScope.SEMANTIC, data={"text": f"Owns a {canary}."}
    )
    with acting(AuditActor.AGENT, AuditReason.TURN):
        await memory.write(event)
        query = MemoryQuery(
            user_id=user, session_id="s", agent_id="a", scopes=[MemoryScope.SEMANTIC], query=f"what is {canary}"
        )
        [found] = await memory.read(query)
    with acting(AuditActor.USER, AuditReason.REQUEST):
        fact = await memory.correct(user, found.id, f"Owns two {canary}.")
        lines = [line async for line in memory.export_user(user)]
        await memory.forget(user, fact.id)
    await memory.forget_user(user)
    seen = await _seen(audit, user)
    assert seen["agent", "write", "fact"] == 1
    assert seen["agent", "read", "fact"] == 1
    assert seen["user", "correct", "fact"] == 1
    assert seen["user", "export", "all"] == len(lines)
    assert seen["user", "forget", "fact"] >= 1
    assert seen["user", "remove", "semantic"] >= 1
    assert seen["application", "erase", "all"] == 1
    rows = await _all_rows(memory_store)
    assert canary not in rows
    assert user not in rows
    # nobody's name is in it, and the chain outlives who was forgotten
    assert (await audit.verify()).seq > 0
    assert await _seen(audit, "another") == {}


async def test_turns_and_what_is_done_behind_them_are_told_apart(audit: AuditLog, memory_store: MemoryStore) -> None:
    config = AgentConfig(name="noting", manager="react_mem")
    model = ScriptedModel(script=["noted"] * 9)
    async with open_agent(config, model=model, store=memory_store, checkpointer=InMemorySaver()) as agent:
        for said in ("My dog is called Rex.", "What is my dog called?"):
            await agent.ainvoke(
                {"messages": [("user", said)]}, {"configurable": {"thread_id": "1"}}, context={"user_id": "ann"}
            )
            assert await drain(30)
    seen = await _seen(audit, "ann")
    assert seen["agent", "write", "message"] == 4
    assert seen["agent", "read", "fact"] == 1
    assert seen["worker", "write", "chain"] >= 1
    assert {actor for actor, _, _ in seen} <= {"agent", "worker"}


async def test_a_round_of_retention_is_the_workers(
    audit: AuditLog, memory_store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = MemoryFacade(memory_store)
    await memory.dialog.append("ann", "s", [HumanMessage("I live in Hue.", id="1")], agent_id="a")
    monkeypatch.setattr(retention, "now", lambda: datetime.now(UTC) + timedelta(days=2))
    rounds = RetentionRounds(memory_store, ConfiguredRunners(), None, "w")
    report = await rounds.make({"a": RetentionSettings(dialog="1d")})
    assert report is not None
    assert (await _seen(audit, "ann"))["worker", "erase", "message"] == 1


async def test_retention_and_legal_holds_are_recorded(audit: AuditLog, memory_store: MemoryStore) -> None:
    memory = MemoryFacade(memory_store)
    said = [HumanMessage("I live in Hue.", id="1"), HumanMessage("My dog is Rex.", id="2")]
    await memory.dialog.append("ann", "s", said, agent_id="a")
    with acting(AuditActor.OPERATOR, AuditReason.REQUEST):
        await memory.hold("ann", "case-17")
        assert await memory.lift_hold("ann", "case-17")
        assert not await memory.lift_hold("ann", "case-17")
    policies = {"a": RetentionSettings(dialog="1d")}
    later = datetime.now(UTC) + timedelta(days=2)
    before = await _seen(audit)
    await retain(memory_store, None, "ann", policies, at=later, dry_run=True)
    assert await _seen(audit) == before
    with acting(AuditActor.WORKER, AuditReason.WORK):
        done = await retain(memory_store, None, "ann", policies, at=later)
    seen = await _seen(audit, "ann")
    assert (seen["operator", "hold", "all"], seen["operator", "lift", "all"]) == (1, 1)
    assert done.removed["message"] == 2
    assert seen["worker", "erase", "message"] == 2
    assert seen["worker", "remove", "dialog"] == 2
    why = {(entry.actor, entry.why) async for _, entry in audit.entries(owner="ann")}
    assert {one for one in why if one[0] == "worker"} == {(AuditActor.WORKER, AuditReason.RETENTION)}
    assert "case-17" not in await _all_rows(memory_store)


async def test_a_store_without_a_log_is_refused_where_one_is_wanted(
    memory_store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_AUDIT", "1")
    monkeypatch.delenv("DATABASE_URL", raising=False)
    for store in (InMemoryStore(), memory_store):
        with pytest.raises(StorageError, match="keeps no audit log"):
            async with open_memory(store=store):
                pass
        with pytest.raises(StorageError, match="keeps no audit log"):
            async with open_agent(
                AgentConfig(name="noting", manager="react_mem"), model=ScriptedModel(script=[]), store=store
            ):
                pass
    monkeypatch.setenv("MEMORY_AUDIT", "0")
    async with open_memory(store=InMemoryStore()):
        pass


async def test_an_applications_own_words_do_not_come_into_the_log(audit: AuditLog, memory_store: MemoryStore) -> None:
    await memory_store.aput(
        scope_namespace("ann", MemoryScope.SEMANTIC), "k", {"kind": "secret diagnosis", "text": "x"}
    )
    await memory_store.aput(("notes", "ann"), "k", {"kind": "secret", "text": "x"})
    assert await _seen(audit) == {("application", "write", "other"): 1}


async def test_processes_that_write_at_once_make_one_chain(memory_store: MemoryStore) -> None:
    logs = [AuditLog(memory_store.pool, KEY) for _ in range(3)]
    for number in range(2):
        for log in logs:
            log.record(f"u{number}", AuditAction.WRITE, {"fact": 1})
        await asyncio.gather(*(log.flush() for log in logs))
    assert (await logs[0].verify()).seq == 6
    for log in logs:
        await log.close()


CHANGES = {
    "UPDATE memory_audit SET records = 9 WHERE seq = 3": "entry 3 was changed",
    "UPDATE memory_audit SET action = 'nothing' WHERE seq = 4": "entry 4 is none",
    "DELETE FROM memory_audit WHERE seq = 2": "entry 2 is missing",
    "DELETE FROM memory_audit WHERE seq = 5": "ends at entry 4",
    "DELETE FROM memory_audit_head": "memory_audit_head",
}


async def test_every_change_is_seen(audit: AuditLog, memory_store: MemoryStore) -> None:
    for change, told in CHANGES.items():
        await _changed(memory_store, "DELETE FROM memory_audit", "UPDATE memory_audit_head SET seq = 0, hash = ''")
        head = await _some(audit)
        assert await audit.verify() == head
        await _changed(memory_store, change)
        with pytest.raises(AuditBroken, match=told):
            await audit.verify()


async def test_a_chain_that_is_written_anew_is_seen_by_an_end_kept_elsewhere(
    audit: AuditLog, memory_store: MemoryStore
) -> None:
    head = await _some(audit)
    assert await audit.verify(head) == head
    fresh = "UPDATE memory_audit_head SET seq = 0, hash = ''"
    await _changed(memory_store, "DELETE FROM memory_audit", fresh)
    with pytest.raises(AuditBroken, match="there were more"):
        await audit.verify(head)
    await _some(audit, 6)
    # by itself it is whole
    await audit.verify()
    with pytest.raises(AuditBroken, match="written anew"):
        await audit.verify(head)


async def test_without_the_key_no_chain_can_be_written(memory_store: MemoryStore) -> None:
    keyed, plain = AuditLog(memory_store.pool, KEY), AuditLog(memory_store.pool, None)
    await _some(plain, 2)
    await _some(keyed, 3)
    assert (await keyed.verify()).seq == 5
    with pytest.raises(AuditBroken, match="MEMORY_ENCRYPTION_KEY"):
        await plain.verify()
    await _some(plain, 1)
    with pytest.raises(AuditBroken, match="entry 6 is without the key"):
        await keyed.verify()
    other = AuditLog(memory_store.pool, bytes(32))
    with pytest.raises(AuditBroken, match="entry 3 was changed"):
        await other.verify()
    for log in (keyed, plain):
        await log.close()


async def test_the_database_takes_no_change_of_an_entry(audit: AuditLog, memory_store: MemoryStore) -> None:
    await _some(audit)
    for change in ("UPDATE memory_audit SET records = 0", "DELETE FROM memory_audit", "TRUNCATE memory_audit"):
        async with memory_store.pool.connection() as conn:
            with pytest.raises(errors.RaiseException, match="append-only"):
                await conn.execute(change)  # type: ignore[arg-type]


async def test_what_the_database_does_not_take_waits_and_what_is_too_much_is_counted(
    audit: AuditLog, memory_store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log, "MOST_WAITING", 3)
    await _changed(memory_store, "ALTER TABLE memory_audit RENAME TO away")
    for number in range(5):
        audit.record(f"u{number}", AuditAction.READ, {"fact": 1})
    with pytest.raises(errors.UndefinedTable):
        await audit.flush()
    audit.record("u0", AuditAction.READ, {"fact": 1})
    async with memory_store.pool.connection() as conn:
        await conn.execute("ALTER TABLE away RENAME TO memory_audit")
    assert await _seen(audit) == {("application", "read", "fact"): 4, ("log", "dropped", "all"): 2}
    await audit.verify()


async def test_closing_a_store_writes_what_waits(audit: AuditLog) -> None:
    audit.record("ann", AuditAction.READ, {"fact": 1})
    await audit.close()
    assert (await audit.head()).seq == 1


async def test_it_is_written_behind_whoever_acts(audit: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_log, "FLUSH_SECONDS", 0.01)
    audit.record("ann", AuditAction.READ, {"fact": 1})
    async with asyncio.timeout(60):
        while (await audit.head()).seq == 0:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)


def test_the_terminal_shows_and_verifies_the_log(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("EMBEDDING_MODEL", "local")
    assert main(["memory", "list", "--user", "bob@x"]) == 0
    assert main(["audit", "verify"]) == 0
    # nothing is recorded that nobody asked for
    told = capsys.readouterr()
    assert told.out.endswith("the audit log is empty: nothing has been recorded\n")
    assert "MEMORY_AUDIT is off" in told.err
    assert main(["audit", "verify", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"entries": 0, "end": None}
    assert main(["audit"]) == 0
    told = capsys.readouterr()
    assert told.out == "nothing\n"
    assert "MEMORY_AUDIT is off" in told.err
    monkeypatch.setenv("MEMORY_AUDIT", "1")
    for user in ("ann@x", "bob@x"):
        assert main(["memory", "export", "--user", user]) == 0
    capsys.readouterr()
    assert main(["audit", "verify"]) == 0
    [end] = re.findall(r"the end is (\d+:[0-9a-f]{64})", capsys.readouterr().out)
    assert main(["audit", "verify", "--head", end]) == 0
    capsys.readouterr()
    assert main(["audit", "verify", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"entries": int(end.partition(":")[0]), "end": end}
    assert main(["audit", "--json", "--user", "bob@x", "--since", "2020-01-01"]) == 0
    [entry] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (entry["actor"], entry["action"], entry["why"]) == ("operator", "export", "request")
    assert main(["audit", "--since", "2999-01-01"]) == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == ("nothing\n", "")
    assert main(["audit", "--json", "--since", "2999-01-01"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["audit", "quality", "--json", "--fail-on", "secrets"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"]["secrets"]["count"] == 0
    assert main(["audit", "verify", "--head", "7:aa"]) == 2
    assert "there were more" in capsys.readouterr().err
    assert main(["audit", "verify", "--head", "x"]) == 2
    assert "NUMBER:HASH" in capsys.readouterr().err
