"""Files of Deep Agents on every store: as any other memory they are found, exported, held, aged, sealed and erased."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

import pytest
from langgraph.store.base import BaseStore, Op, PutOp
from langgraph.store.memory import InMemoryStore

from react_mem.integrations import MemoryFilesBackend
from react_mem.integrations.deep_agents.owned_files import FileOwner
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.kinds import FILE
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.records import now
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.store.transactions import Guard
from tests.support.databases import fresh_memory_store, open_memory_store, word_model
from tests.support.loop_watch import loop_watched
from tests.support.residue import residue
from tests.support.stores import open_any_store

WORD = "zanzibar"


@pytest.fixture(params=["memory store", "sealed memory store"])
async def store(request: pytest.FixtureRequest, database_server: str) -> AsyncIterator[BaseStore]:
    async with open_any_store(request.param, database_server) as opened:
        yield opened


@pytest.fixture
def files(store: BaseStore) -> MemoryFilesBackend:
    return MemoryFilesBackend(store=store, user_id="ann")


def in_conversation(store: BaseStore, session: str, monkeypatch: pytest.MonkeyPatch) -> MemoryFilesBackend:
    """Return the files of ann as an agent has them in a conversation."""
    backend = MemoryFilesBackend(store=store)
    monkeypatch.setattr(backend, "_owner", lambda: FileOwner(store, "ann", session, in_run=True))
    return backend


async def text(files: MemoryFilesBackend, path: str) -> str:
    read = await files.aread(path)
    assert read.file_data is not None, read.error
    return str(read.file_data["content"])


async def test_files_are_written_listed_and_found(store: BaseStore, files: MemoryFilesBackend) -> None:
    bob = MemoryFilesBackend(store=store, user_id="bob")
    assert (await files.awrite("/notes/trip.md", "The ferry leaves at nine.\nBring water.\n")).error is None
    assert (await files.awrite("/notes/Trần 🍵 100%_.md", "rice")).error is None
    assert (await files.aupload_files([("/a.bin", b"\xff\x00")]))[0].error is None
    assert (await bob.awrite("/notes/trip.md", "The ferry leaves at ten.")).error is None
    assert (await files.aedit("/notes/trip.md", "nine", "eight")).occurrences == 1
    assert [one["path"] for one in (await files.als("/")).entries or []] == ["/a.bin", "/notes/"]
    assert [one["path"] for one in (await files.aglob("*.md", "/notes")).matches or []] == [
        "/notes/trip.md",
        "/notes/Trần 🍵 100%_.md",
    ]
    assert (await files.agrep("water")).matches == [{"path": "/notes/trip.md", "line": 2, "text": "Bring water."}]
    found, _ = await files.asearch_files("when does the ferry leave")
    assert [one.path for one in found][:1] == ["/notes/trip.md"]
    assert "eight" in found[0].passage
    assert [one.passage for one in (await bob.asearch_files("ferry"))[0]] == ["The ferry leaves at ten."]
    assert (await files.adelete("/notes")).error is None
    assert [one["path"] for one in (await files.als("/")).entries or []] == ["/a.bin"]
    assert await text(bob, "/notes/trip.md") == "The ferry leaves at ten."


async def test_an_export_brings_them_back_as_imports(store: BaseStore, files: MemoryFilesBackend) -> None:
    await files.awrite("/notes/trip.md", "The ferry leaves at nine.\r\n")
    await files.awrite("/large_tool_results/1", "a timetable")
    await files.aupload_files([("/a.bin", b"\xff\x00")])
    memory = MemoryFacade(store)
    lines = [line async for line in memory.export_user("ann")]
    assert (await memory.import_user("cid", lines)).added == 3
    cid = MemoryFilesBackend(store=store, user_id="cid")
    given = ["/notes/trip.md", "/large_tool_results/1", "/a.bin"]
    assert [one.content for one in await cid.adownload_files(given)] == [
        one.content for one in await files.adownload_files(given)
    ]
    assert [one.path for one in (await cid.asearch_files("ferry timetable"))[0]][:1] == ["/notes/trip.md"]
    assert {one.payload["origin"] for one in await memory.list_records("cid", [MemoryScope.FILES])} == {"import"}


async def test_a_file_of_another_path_is_not_imported() -> None:
    memory = MemoryFacade(InMemoryStore())
    await MemoryFilesBackend(store=memory.store, user_id="ann").awrite("/a.md", "x")
    lines = [line async for line in memory.export_user("ann")]
    for path in ("/b.md", "/../a.md", "a.md"):
        with pytest.raises(ValueError, match=r"path|id"):
            await memory.import_user("cid", [line.replace('"path":"/a.md"', f'"path":"{path}"') for line in lines])
    assert await memory.list_records("cid") == []


async def test_what_is_forgotten_is_gone_with_a_receipt(store: BaseStore, files: MemoryFilesBackend) -> None:
    memory = MemoryFacade(store)
    await files.awrite("/a.md", f"I dream of {WORD}.")
    await files.awrite("/b.md", "rice")
    [found] = [one for one in await memory.list_records("ann") if one.payload["path"] == "/a.md"]
    receipt = await memory.forget("ann", found.id)
    assert receipt.removed == {FILE.name: (found.id,)}
    assert [one["path"] for one in (await files.als("/")).entries or []] == ["/b.md"]
    erased = await memory.forget_user("ann", proof=True)
    assert not erased.receipt.problems
    assert (await files.als("/")).entries == []


async def test_a_forgotten_fact_goes_from_files_too(store: BaseStore, files: MemoryFilesBackend) -> None:
    memory = MemoryFacade(store)
    await memory.semantic.add(["I live in Zanzibar with my cat"], user_id="ann", session_id="1", agent_id="agent")
    said = "# Notes\r\n\r\n    She likes tea.  I live in Zanzibar with my cat.\r\n\tindented\n"
    await files.awrite("/AGENTS.md", said)
    await files.awrite("/conversation_history/1.md", "I live in Zanzibar with my cat.\nAnd a dog.")
    await files.awrite("/home.md", "- I live in Zanzibar with my cat\n")
    await files.awrite("/other.md", "Zanzibar has 1.5 million inhabitants.")
    await files.aupload_files([("/a.bin", b"\xff\x00")])
    fact = next(one for one in await memory.list_records("ann", [MemoryScope.SEMANTIC]) if one.source == "fact")
    receipt = await memory.forget("ann", fact.id)
    assert not receipt.problems
    assert await text(files, "/other.md") == "Zanzibar has 1.5 million inhabitants."
    assert [one.content for one in await files.adownload_files(["/AGENTS.md", "/conversation_history/1.md"])] == [
        b"# Notes\r\n\r\n    She likes tea.\r\n\tindented\n",
        b"And a dog.",
    ]
    assert [one["path"] for one in (await files.als("/")).entries or []] == [
        "/AGENTS.md",
        "/a.bin",
        "/conversation_history/",
        "/other.md",
    ]


async def test_a_hold_stops_every_change_and_no_new_file(store: BaseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, files = MemoryFacade(store), in_conversation(store, "monday", monkeypatch)
    await files.awrite("/a.md", "tea")
    for session in ("monday", ""):
        await memory.hold("ann", "case 7", session)
        for answer in (
            await files.awrite("/a.md", "x"),
            await files.aedit("/a.md", "tea", "x"),
            await files.adelete("/a.md"),
            *await files.aupload_files([("/a.md", b"x")]),
        ):
            assert "case 7" in (answer.error or "")
        assert (await files.awrite(f"/new{session}.md", "x")).error is None
        assert await text(files, "/a.md") == "tea"
        await memory.lift_hold("ann", "case 7", session)
    assert (await files.adelete("/a.md")).error is None


async def test_retention_goes_by_when_a_file_was_last_written(
    store: BaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = in_conversation(store, "monday", monkeypatch)
    for path in ("/old.md", "/kept.md"):
        await files.awrite(path, f"x of {path}")
    then = (now() - timedelta(days=40)).isoformat()
    aged = [
        PutOp(item.namespace, item.key, {**item.value, "created_at": then, "modified_at": then})
        for item in await store.asearch(FILE.namespace("ann"), limit=10)
    ]
    await store.abatch(aged)
    await files.aedit("/kept.md", "x of", "y of")
    memory = MemoryFacade(store, MemoryPolicy.model_validate({"retention": {"files": "30d"}}))
    assert (await memory.apply_retention("ann", "agent")).removed == {FILE.name: 1}
    assert [one["path"] for one in (await files.als("/")).entries or []] == ["/kept.md"]


async def test_edits_of_two_processes_are_both_there(database_server: str) -> None:
    async with fresh_memory_store(database_server) as one, open_memory_store(one.pool.conninfo, word_model()) as two:
        first, second = (MemoryFilesBackend(store=store, user_id="ann") for store in (one, two))
        await first.awrite("/list.md", "[ ] a\n[ ] b\n")
        between: list[str] = []
        write = one.abatch_if

        async def late(ops: Sequence[Op], guard: Guard) -> bool:
            # past the lock of this process, as another one writes
            if not between:
                between.append("edited")
                [changed] = await two.asearch(FILE.namespace("ann"))
                value = {**changed.value, "text": changed.value["text"].replace("[ ] b", "[x] b")}
                revision = await two.aget(guard.namespace, guard.key)
                assert revision is not None
                after = {"revision": revision.value["revision"] + 1}
                meta = PutOp(guard.namespace, guard.key, after, index=False)
                await two.abatch([PutOp(changed.namespace, changed.key, value), meta])
            return await write(ops, guard)

        one.abatch_if = late  # type: ignore[method-assign]
        assert (await first.aedit("/list.md", "[ ] a", "[x] a")).occurrences == 1
        assert between
        assert await text(second, "/list.md") == "[x] a\n[x] b\n"


async def test_nothing_of_a_sealed_file_is_in_the_database(database_server: str) -> None:
    async with fresh_memory_store(database_server, sealed=True) as store:
        files = MemoryFilesBackend(store=store, user_id="ann")
        await files.awrite(f"/{WORD}.md", f"tickets to {WORD}")
        assert [one.path for one in (await files.asearch_files(f"tickets {WORD}"))[0]] == [f"/{WORD}.md"]
        assert await residue(store.pool.conninfo, WORD) == []


async def test_large_and_many_files_do_not_hold_the_event_loop(memory_store: MemoryStore) -> None:
    files = MemoryFilesBackend(store=memory_store, user_id="ann")
    large = "a line of some words, and then another one\n" * 10_000
    many = [(f"/many/{n}.md", f"note {n}\n".encode() * 200) for n in range(100)]
    with loop_watched() as watch:
        assert (await files.awrite("/large.md", large)).error is None
        assert not [one for one in await files.aupload_files(many) if one.error]
        assert (await files.aedit("/large.md", "words", "letters", True)).occurrences == 10_000
        assert len((await files.agrep("letters")).matches or []) == 10_000
        assert len((await files.aglob("*.md")).matches or []) == 101
        assert len((await files.als("/many")).entries or []) == 100
        assert (await files.aread("/large.md", 9_999)).end_line == 10_000
        assert [one.error for one in await files.adownload_files(["/large.md"])] == [None]
        assert (await files.asearch_files("some letters"))[0]
        assert (await files.adelete("/")).error is None
    assert watch.longest[0] < 0.02, watch.longest
