"""Imports into a database: a thousand memories once, whatever is repeated, killed, sealed or read afterwards."""

from __future__ import annotations

import asyncio
import json
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from langgraph.store.postgres.aio import AsyncPostgresStore

from react_mem.integrations import ImportOwners, import_memories
from react_mem.memory import MemoryFacade, MemoryScope
from react_mem.memory.model.namespaces import work_namespace
from react_mem.memory.model.origins import Origin
from react_mem.memory.store.capabilities import everything
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.write.turns import Turns
from tests.support.databases import fresh_database, fresh_memory_store, open_memory_store, word_model
from tests.support.importing import all_items, mem0_file, mem0_memories
from tests.support.residue import residue
from tests.unit.adapters.imports.test_import_sources import CLAUDE, chat

ALL = 300


async def texts(store: MemoryStore, user: str = "ann") -> Counter[str]:
    """Return how often each fact is there."""
    return Counter(item.value["text"] for item in await everything(store, user) if item.value["kind"] == "fact")


async def rows_of(store: MemoryStore) -> list[str]:
    """Return every row of every table."""
    async with store.pool.connection() as conn:
        named = await conn.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        rows: list[str] = []
        for name in [row["tablename"] for row in await named.fetchall()]:
            found = await conn.execute(f"SELECT t::text AS row FROM {name} t".encode())
            rows += [f"{name} {row['row']}" for row in await found.fetchall()]
    return sorted(rows)


async def test_a_thousand_memories_of_mem0_imported_searched_exported_and_imported_again(
    memory_store: MemoryStore, tmp_path: Path
) -> None:
    memory = MemoryFacade(memory_store)
    file = mem0_file(tmp_path, ALL)
    wanted = Counter(one["memory"] for one in mem0_memories(ALL))
    outcome = await import_memories(memory, "mem0", str(file), ImportOwners())
    assert (outcome.added["ann"], outcome.kinds, outcome.skipped) == (ALL, {"fact": ALL}, {})
    assert await texts(memory_store) == wanted
    found = await memory.semantic.search("Wednesday number 277 likes 书法 with friend number 27", user_id="ann")
    assert "number 277 likes" in found[0].payload["text"]
    assert (found[0].payload["origin"], found[0].payload["created_at"]) == ("import", "2026-01-26T15:00:00Z")

    lines = [line async for line in memory.export_user("ann")]
    exported = tmp_path / "ann.jsonl"
    exported.write_text("\n".join(lines), encoding="utf-8")

    # again, from both
    before = await all_items(memory_store)
    again = await import_memories(memory, "mem0", str(file), ImportOwners())
    assert (again.added.total(), again.known["ann"], again.skipped) == (0, ALL, {})
    back = await import_memories(memory, "jsonl", str(exported), "ann")
    assert (back.added.total(), back.known["ann"]) == (0, len(lines) - 1)
    assert await all_items(memory_store) == before

    # into a memory that has nothing yet
    assert (await import_memories(memory, "jsonl", str(exported), "bob")).added["bob"] == len(lines) - 1
    assert (await import_memories(memory, "mem0", str(file), "bob")).added.total() == 0
    assert await texts(memory_store, "bob") == wanted


async def test_an_import_that_is_killed_is_gone_on_with_where_it_was(database_url: str, tmp_path: Path) -> None:
    file = mem0_file(tmp_path, ALL)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.support.importing_process", database_url, str(file)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async for line in process.stdout:
        if int(line) >= 100:
            break
    process.kill()
    await process.wait()
    async with open_memory_store(database_url, word_model()) as store:
        left = await texts(store)
        assert 100 <= left.total() < ALL
        outcome = await import_memories(MemoryFacade(store), "mem0", str(file), "ann")
        assert (outcome.added["ann"], outcome.known["ann"]) == (ALL - left.total(), left.total())
        assert await texts(store) == Counter(one["memory"] for one in mem0_memories(ALL))


async def test_a_dry_run_leaves_the_database_as_it_is(memory_store: MemoryStore, tmp_path: Path) -> None:
    memory = MemoryFacade(memory_store)
    await import_memories(memory, "mem0", str(mem0_file(tmp_path, 10)), "ann")
    archive = tmp_path / "chatgpt.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("conversations.json", json.dumps([chat()]))
    before = await rows_of(memory_store)
    for system, where in (("mem0", mem0_file(tmp_path, 40)), ("chatgpt", archive)):
        outcome = await import_memories(memory, system, str(where), "ann", dry_run=True, read_by="assistant")
        assert outcome.added["ann"] == (30 if system == "mem0" else 4)
    assert await rows_of(memory_store) == before


async def test_into_a_sealed_memory_nothing_is_written_in_plain(database_server: str, tmp_path: Path) -> None:
    async with fresh_memory_store(database_server, sealed=True) as store:
        memory = MemoryFacade(store)
        file = mem0_file(tmp_path, 30)
        assert (await import_memories(memory, "mem0", str(file), "ann")).added["ann"] == 30
        # by the text, since the order of a sealed store is its own
        item = next(item for item in await everything(store, "ann") if "number 7 likes" in item.value["text"])
        await memory.forget("ann", item.key)
        again = await import_memories(memory, "mem0", str(file), "ann")
        assert (again.added.total(), again.known["ann"]) == (0, 29)
        assert sum(again.skipped.values()) == 1
        assert sum((await texts(store)).values()) == 29
        for word in ("sourdough", mem0_memories(1)[0]["id"]):
            assert await residue(store.pool.conninfo, word) == []


async def test_memories_of_langmem_are_read_from_its_database_and_not_changed_there(
    memory_store: MemoryStore, database_server: str
) -> None:
    async with fresh_database(database_server) as url, AsyncPostgresStore.from_conn_string(url) as theirs:
        with pytest.raises(ValueError, match="the database has no LangGraph store"):
            await import_memories(MemoryFacade(memory_store), "langmem", url, ImportOwners())
        await theirs.setup()
        for number in range(220):
            value = {"kind": "Memory", "content": {"content": f"Likes tea number {number}"}}
            await theirs.aput(("memories", f"user {number % 2}"), str(number), value)
        before = await all_items(theirs)
        memory = MemoryFacade(memory_store)
        for added in (110, 0):
            outcome = await import_memories(memory, "langmem", url, ImportOwners(), prefix=("memories",))
            assert outcome.added == {"user 0": added, "user 1": added}
        with pytest.raises(ValueError, match=r"the owner's: .*namespaces below 'memories' \(2\)"):
            await import_memories(memory, "langmem", url, "eve")
        for prefix in (("nope",), ("memories",)):
            with pytest.raises(ValueError, match=r"has nothing below 'nope'|2 owners"):
                await import_memories(memory, "langmem", url, "eve", prefix=prefix)
        assert await all_items(theirs) == before
        [first] = [item for item in await everything(memory_store, "user 0") if item.value["text"].endswith("r 0")]
        stored = await theirs.aget(("memories", "user 0"), "0")
        assert stored is not None
        assert first.value["created_at"][:19] == stored.created_at.isoformat()[:19]
    with pytest.raises(ValueError, match=r"cannot be read|has no LangGraph store") as refused:
        await import_memories(MemoryFacade(memory_store), "langmem", url.replace(":", ":", 1), ImportOwners())
    assert "@" not in str(refused.value)


async def test_conversations_are_read_when_that_is_asked_for_and_not_before(
    memory_store: MemoryStore, tmp_path: Path
) -> None:
    memory = MemoryFacade(memory_store)
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([CLAUDE]), encoding="utf-8")
    quiet = await import_memories(memory, "claude", str(file), "bob")
    assert (quiet.to_read, await memory_store.asearch(work_namespace("bob"))) == (0, [])
    outcome = await import_memories(memory, "claude", str(file), "ann", read_by="assistant")
    assert (outcome.to_read, outcome.kinds) == (1, {"message": 2, "document": 1})
    [work] = await memory_store.asearch(work_namespace("ann"))
    assert (work.value["kind"], work.value["agent"], work.value["session"]) == ("extract", "assistant", "claude:c1")
    await Turns(memory, None, "ann", "claude:c1", "assistant").extract()
    assert await memory.pending("ann") == []
    [fact] = [one for one in await memory.list_records("ann", [MemoryScope.SEMANTIC]) if one.source == "fact"]
    assert (fact.payload["text"], fact.payload["origin"]) == ("My cat is called Miu", Origin.IMPORT)


@pytest.mark.parametrize("sealed", [False, True], ids=["plain", "sealed"])
async def test_what_changed_at_its_source_is_updated_in_a_database(
    database_server: str, tmp_path: Path, sealed: bool
) -> None:
    memories = mem0_memories(120)
    file = tmp_path / "memories.json"
    file.write_text(json.dumps(memories), encoding="utf-8")
    async with fresh_memory_store(database_server, sealed=sealed) as store:
        memory = MemoryFacade(store)
        await import_memories(memory, "mem0", str(file), "ann")
        for one in memories[5:15]:
            one |= {"memory": f"Moved on: {one['memory']}", "updated_at": "2026-02-01T08:00:00-07:00"}
        file.write_text(json.dumps(memories), encoding="utf-8")
        for updated in (10, 0):
            outcome = await import_memories(memory, "mem0", str(file), "ann")
            assert (outcome.added["ann"], outcome.updated["ann"], outcome.known["ann"]) == (0, updated, 120 - updated)
            assert outcome.skipped == {}
        held = [item.value for item in await everything(store, "ann") if item.value["kind"] == "fact"]
        assert Counter(one["text"] for one in held if one["current"]) == Counter(one["memory"] for one in memories)
        assert len(held) == 130
