"""`MemoryFilesBackend` keeps what Deep Agents' protocol of backends promises, called either way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from deepagents.backends.protocol import BackendProtocol
from langgraph.store.memory import InMemoryStore

from react_mem.integrations import MemoryFilesBackend
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from tests.contract.conftest import memory_store

Call = Callable[..., Awaitable[Any]]

NOTES = "one\ntwo\nthree\nfour"


class BrokenStore(InMemoryStore):
    """A store that fails when it is told to."""

    broken = True

    def batch(self, ops: Any) -> Any:
        if self.broken:
            raise ConnectionError("the database is down")
        return super().batch(ops)

    async def abatch(self, ops: Any) -> Any:
        return self.batch(ops)


@pytest.fixture
def store() -> Any:
    return memory_store()


@pytest.fixture
def backend(store: Any) -> MemoryFilesBackend:
    return MemoryFilesBackend(store=store, user_id="ann")


every_way = pytest.mark.parametrize("call", ["async", "sync", "sync in a thread"], indirect=True)


@pytest.fixture
def call(request: pytest.FixtureRequest, backend: MemoryFilesBackend) -> Call:
    """Call a method of a backend in one of the ways that Deep Agents may."""
    how = getattr(request, "param", "async")

    async def call(name: str, *args: Any, on: MemoryFilesBackend | None = None, **kwargs: Any) -> Any:
        called = on or backend
        if how == "async":
            return await getattr(called, f"a{name}")(*args, **kwargs)
        method = getattr(called, name)
        return method(*args, **kwargs) if how == "sync" else await asyncio.to_thread(method, *args, **kwargs)

    return call


def paths(found: Any) -> list[str]:
    return [one["path"] for one in found]


def test_it_is_a_backend_with_all_that_the_protocol_has(backend: MemoryFilesBackend) -> None:
    assert isinstance(backend, BackendProtocol)
    own = {name for name in vars(BackendProtocol) if not name.startswith("_")}
    assert own == {name for name in own if getattr(MemoryFilesBackend, name) is not getattr(BackendProtocol, name)}


@every_way
async def test_what_is_written_is_read(call: Call) -> None:
    written = await call("write", "/notes/trip.md", NOTES)
    assert (written.path, written.error) == ("/notes/trip.md", None)
    read = await call("read", "/notes/trip.md")
    assert read.file_data["content"] == NOTES
    assert (read.file_data["encoding"], read.start_line, read.end_line, read.total_lines) == ("utf-8", 1, 4, 4)


async def test_edits_are_exact(call: Call) -> None:
    await call("write", "/notes.md", "tea, tea and rice")
    assert "2 times" in (await call("edit", "/notes.md", "tea", "milk")).error
    assert (await call("edit", "/notes.md", "tea", "milk", True)).occurrences == 2
    assert (await call("edit", "/notes.md", "rice", "corn")).occurrences == 1
    assert "not found" in (await call("edit", "/notes.md", "nothing", "x")).error
    assert (await call("read", "/notes.md")).file_data["content"] == "milk, milk and corn"


async def test_a_file_with_windows_line_ends_keeps_them(call: Call) -> None:
    await call("write", "/win.txt", "one\r\ntwo\r\nthree\r\n")
    assert (await call("read", "/win.txt")).file_data["content"] == "one\ntwo\nthree\n"
    assert (await call("edit", "/win.txt", "one\ntwo", "1\n2")).occurrences == 1
    assert (await call("grep", "three", "/")).matches == [{"path": "/win.txt", "line": 3, "text": "three"}]
    [file] = await call("download_files", ["/win.txt"])
    assert file.content == b"1\r\n2\r\nthree\r\n"


async def test_folders_are_listed_one_level_at_a_time(call: Call) -> None:
    for path in ("/a.md", "/docs/b.md", "/docs/deep/c.md", "/docs2/d.md"):
        await call("write", path, "x")
    assert paths((await call("ls", "/")).entries) == ["/a.md", "/docs/", "/docs2/"]
    assert paths((await call("ls", "/docs")).entries) == ["/docs/b.md", "/docs/deep/"]
    assert paths((await call("ls", "/docs/")).entries) == ["/docs/b.md", "/docs/deep/"]
    file, folder = (await call("ls", "/docs")).entries
    assert (file["is_dir"], file["size"], folder["is_dir"]) == (False, 1, True)


async def test_names_are_matched_as_deep_agents_has_it(call: Call) -> None:
    for path in ("/top.py", "/src/app/main.py", "/src/app/main.ts", "/.github/ci.yml", "/docs/a.md"):
        await call("write", path, "x")

    async def found(pattern: str, path: str | None = None) -> set[str]:
        return set(paths((await call("glob", pattern, path)).matches))

    assert await found("*.py") == {"/top.py", "/src/app/main.py"}
    assert await found("/*.py") == {"/top.py"}
    assert await found("src/**/*.py") == {"/src/app/main.py"}
    assert await found("*.{py,ts}", "/src") == {"/src/app/main.py", "/src/app/main.ts"}
    assert await found("*.yml") == {"/.github/ci.yml"}
    assert await found("**/*.yml") == set()
    assert (await call("glob", "../*")).error
    assert "characters at most" in (await call("glob", "{a,b}" * 1000)).error


async def test_grep_finds_letters_and_stops_where_it_is_told(call: Call) -> None:
    await call("write", "/b.md", "a.b\na+b\nA.B")
    await call("write", "/a.py", "x = a.b")
    await call("write", "/src/c.py", "nothing")

    def lines(result: Any) -> list[tuple[str, int, str]]:
        return [(one["path"], one["line"], one["text"]) for one in result.matches]

    assert lines(await call("grep", "a.b")) == [("/a.py", 1, "x = a.b"), ("/b.md", 1, "a.b")]
    assert lines(await call("grep", "a.b", "/b.md")) == [("/b.md", 1, "a.b")]
    assert lines(await call("grep", "a.b", None, "*.py")) == [("/a.py", 1, "x = a.b")]
    assert lines(await call("grep", "a.b", "/src")) == []
    first = await call("grep", "a.b", max_count=1)
    assert (lines(first), first.truncated) == ([("/a.py", 1, "x = a.b")], True)
    assert not (await call("grep", "a.b", max_count=2)).truncated


async def test_removing_a_folder_removes_what_is_in_it_and_nothing_else(call: Call) -> None:
    for path in ("/docs/a.md", "/docs/deep/b.md", "/docs2/c.md", "/doc"):
        await call("write", path, "x")
    assert (await call("delete", "/docs")).path == "/docs"
    assert paths((await call("ls", "/")).entries) == ["/doc", "/docs2/"]
    assert (await call("delete", "/")).error is None
    assert (await call("ls", "/")).entries == []


@every_way
async def test_bytes_come_back_as_they_went(call: Call) -> None:
    given = {
        "/a.png": b"\x89PNG\r\n\xff",
        "/t.txt": "tr\u00e0 \U0001f375\r\n".encode(),
        "/nul.txt": b"a\x00b",
        "/empty": b"",
    }
    told = await call("upload_files", [*given.items(), ("/../up", b"x"), ("/folder/", b"x")])
    assert [one.error for one in told] == [None] * 4 + ["invalid_path", "is_directory"]
    assert {one.path: one.content for one in await call("download_files", list(given))} == given
    image = (await call("read", "/a.png")).file_data
    assert (image["encoding"], image["content"]) == ("base64", "iVBORw0K/w==")
    assert "binary" in (await call("edit", "/a.png", "a", "b")).error
    assert (await call("grep", "iVBOR")).matches == []
    assert {one["path"]: one["size"] for one in (await call("ls", "/")).entries} == {
        path: len(data) for path, data in given.items()
    }


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("relative.md", "absolute"),
        ("/../bob/notes.md", "'..'"),
        ("/notes/", "folder"),
        ("/half\ud800", "control"),
        ("/" + "a" * 2_000, "1,000"),
    ],
)
async def test_what_is_no_path_of_a_file_is_refused(
    backend: MemoryFilesBackend, store: Any, path: str, why: str
) -> None:
    assert why in ((await backend.awrite(path, "x")).error or "")
    # Deep Agents puts it before what it reads, and not before what it writes
    assert ((await backend.awrite(path, "x")).error or "").startswith("Error: ")
    refused = (await backend.aread(path)).error
    assert refused
    assert not refused.startswith("Error")
    assert await MemoryFacade(store).list_records("ann") == []


@pytest.mark.parametrize(("text", "why"), [("a\x00b", "NUL"), ("\ud800", "surrogate"), ("x" * 6_000_000, "5,242,880")])
async def test_a_text_that_cannot_be_kept_changes_nothing(backend: MemoryFilesBackend, text: str, why: str) -> None:
    await backend.awrite("/a.md", "tea")
    assert why in ((await backend.awrite("/a.md", text)).error or "")
    assert why in ((await backend.aedit("/a.md", "tea", text)).error or "")
    read = await backend.aread("/a.md")
    assert read.file_data is not None
    assert read.file_data["content"] == "tea"


async def test_two_users_never_see_each_others_files(call: Call, store: Any) -> None:
    bob = MemoryFilesBackend(store=store, user_id="bob")
    await call("write", "/notes.md", "ann's")
    await call("write", "/notes.md", "bob's", on=bob)
    assert (await call("read", "/notes.md")).file_data["content"] == "ann's"
    assert (await call("grep", "'s", on=bob)).matches == [{"path": "/notes.md", "line": 1, "text": "bob's"}]
    await call("delete", "/", on=bob)
    assert paths((await call("ls", "/")).entries) == ["/notes.md"]
    assert [file.path for file in (await call("search_files", "ann's"))[0]] == ["/notes.md"]
    assert (await call("search_files", "ann's", on=bob))[0] == []


async def test_a_folder_is_a_place_of_its_own(call: Call, store: Any, backend: MemoryFilesBackend) -> None:
    research = MemoryFilesBackend(store=store, user_id="ann", folder="/research/")
    await call("write", "/notes.md", "green tea", on=research)
    await call("write", "/other.md", "green tea")
    assert paths((await call("ls", "/", on=research)).entries) == ["/notes.md"]
    assert paths((await call("glob", "*.md", on=research)).matches) == ["/notes.md"]
    assert [file.path for file in (await call("search_files", "green tea", on=research))[0]] == ["/notes.md"]
    assert (await call("read", "/research/notes.md")).file_data["content"] == "green tea"
    assert (await call("write", "/../other.md", "x", on=research)).error
    await call("delete", "/", on=research)
    assert paths((await call("ls", "/")).entries) == ["/other.md"]


async def test_nobodys_files_are_nowhere(store: Any) -> None:
    nobody = MemoryFilesBackend(store=store)
    assert "user_id" in ((await nobody.awrite("/a.md", "x")).error or "")
    assert "user_id" in (nobody.write("/a.md", "x").error or "")
    assert (await nobody.als("/")).entries is None
    [file] = await nobody.adownload_files(["/a.md"])
    assert file.content is None
    assert store.list_namespaces() == []


@every_way
async def test_a_failing_store_is_an_answer_and_no_error(call: Call, caplog: pytest.LogCaptureFixture) -> None:
    store = BrokenStore()
    broken = MemoryFilesBackend(store=store, user_id="ann")
    for answer in (
        await call("write", "/secret.md", "my diary", on=broken),
        await call("read", "/secret.md", on=broken),
        await call("edit", "/secret.md", "a", "b", on=broken),
        await call("ls", "/", on=broken),
        await call("grep", "x", on=broken),
        await call("glob", "*", on=broken),
        await call("delete", "/secret.md", on=broken),
        *await call("upload_files", [("/secret.md", b"my diary")], on=broken),
        *await call("download_files", ["/secret.md"], on=broken),
    ):
        assert "cannot be reached at present" in answer.error
    assert "diary" not in caplog.text
    assert "secret" not in caplog.text
    store.broken = False
    assert (await call("write", "/secret.md", "my diary", on=broken)).error is None


async def test_a_file_is_found_by_what_it_says_with_the_lines(call: Call) -> None:
    await call("write", "/plan.md", "Title\n\n" + "filler words here\n" * 60 + "the ferry leaves at nine\n")
    await call("write", "/other.md", "rice and beans")
    await call("upload_files", [("/photos/ferry harbour.png", b"\xff\x00")])
    found, missing = await call("search_files", "ferry leaves nine")
    assert missing == ""
    plan = next(file for file in found if file.path == "/plan.md")
    assert "the ferry leaves at nine" in plan.passage
    assert plan.first_line <= 63 <= plan.last_line
    # of a binary file the path is what is searched
    assert "/photos/ferry harbour.png" in [file.path for file in (await call("search_files", "ferry harbour"))[0]]
    assert "what to look for" in (await call("search_files", "  "))[1]


async def test_what_a_run_sets_aside_is_read_and_not_searched(call: Call) -> None:
    for folder in ("large_tool_results", "conversation_history"):
        await call("write", f"/{folder}/1", "a ferry timetable")
        assert (await call("read", f"/{folder}/1")).file_data["content"] == "a ferry timetable"
        assert (await call("edit", f"/{folder}/1", "a ferry", "the ferry")).occurrences == 1
    assert len((await call("grep", "ferry")).matches) == 2
    assert (await call("search_files", "ferry timetable"))[0] == []


async def test_quotas_hold_and_what_grows_is_counted(store: Any) -> None:
    few = MemoryFilesBackend(store=store, user_id="ann", policy={"quotas": {"memories": 2}})
    assert (await few.awrite("/a.md", "x")).error is None
    assert (await few.awrite("/b.md", "x")).error is None
    assert "full" in ((await few.awrite("/c.md", "x")).error or "")
    # what is there already is no further memory
    assert (await few.awrite("/a.md", "y")).error is None
    assert (await few.aedit("/a.md", "y", "zz")).error is None
    assert (await few.adelete("/a.md")).error is None
    assert (await few.awrite("/c.md", "x")).error is None
    small = MemoryFilesBackend(store=memory_store(), user_id="ann", policy={"quotas": {"bytes": 2_000}})
    assert (await small.awrite("/a.md", "x")).error is None
    assert "full" in ((await small.aedit("/a.md", "x", "y" * 3_000)).error or "")


async def test_a_file_that_one_conversation_wrote_goes_with_it(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from react_mem.integrations.deep_agents.owned_files import FileOwner

    backend = MemoryFilesBackend(store=store)
    session = ["monday"]
    monkeypatch.setattr(backend, "_owner", lambda: FileOwner(store, "ann", session[0], in_run=True))
    for path in ("/monday.md", "/both.md", "/anew.md"):
        await backend.awrite(path, "tea")
    session[0] = "tuesday"
    await backend.aedit("/both.md", "tea", "rice")
    await backend.awrite("/anew.md", "rice")
    memory = MemoryFacade(store)
    receipt = await memory.delete_session("ann", "monday")
    assert [len(ids) for kind, ids in receipt.removed.items() if kind == "file"] == [1]
    left = {one.payload["path"]: one.payload["origin"] for one in await memory.list_records("ann", [MemoryScope.FILES])}
    assert left == {"/both.md": "assistant", "/anew.md": "assistant"}
    await memory.delete_session("ann", "tuesday")
    [both] = await memory.list_records("ann", [MemoryScope.FILES])
    assert both.payload["path"] == "/both.md"


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in [name for name in sys.modules if name.startswith("react_mem.integrations.deep_agents")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "deepagents.backends", None)
    with pytest.raises(ImportError, match="extra 'deepagents'"):
        import react_mem.integrations.deep_agents.files_backend  # noqa: F401


async def test_edits_at_once_are_all_there(backend: MemoryFilesBackend) -> None:
    await backend.awrite("/list.md", "".join(f"[ ] {n:02}\n" for n in range(20)))
    done = await asyncio.gather(*(backend.aedit("/list.md", f"[ ] {n:02}", f"[x] {n:02}") for n in range(20)))
    assert [one.error for one in done] == [None] * 20
    read = await backend.aread("/list.md")
    assert read.file_data is not None
    assert read.file_data["content"].count("[x]") == 20
