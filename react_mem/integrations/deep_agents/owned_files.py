"""The files of one owner in memory: read, written, searched and removed, safe with concurrent writers."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, cast

from langgraph.config import get_config, get_store
from langgraph.runtime import Runtime, get_runtime
from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.installation import of_extra
from react_mem.memory import MemoryFacade, MemoryPolicy, MemoryQuery, MemoryResultItem, MemoryScope, Origin, records
from react_mem.memory.records import AgentFile
from react_mem.memory.turns import identify, why_off

with of_extra("deepagents"):
    from deepagents.backends import protocol, utils
    from deepagents.backends.protocol import FileData

# Owner of the files of a call: from the current run, or named by the application.

_NO_RUN = (
    "no run is going on that says whose files these are: use the backend in an agent, or name the owner and the store, "
    'as in MemoryFilesBackend(user_id="ann", store=store)'
)
_NO_STORE = "the agent has no store: build it with one, create_deep_agent(..., store=...), or give one to the backend"


class NobodysFiles(ValueError):  # noqa: N818 - it says what is
    """Error for a call without an owner; the message says how to name one."""


@dataclass(frozen=True)
class FileOwner:
    """Owner of files, with their store; the session is empty outside of a conversation."""

    store: BaseStore
    user_id: str
    session_id: str
    in_run: bool


def owner_of_files(store: BaseStore | None, user_id: str | None) -> FileOwner:
    """Return the owner of the current call's files: the application's or the run's; NobodysFiles for none."""
    runtime: Runtime[None] | None = _of_run(get_runtime)
    if runtime is None:
        if not user_id or store is None:
            raise NobodysFiles(_NO_RUN)
        return FileOwner(store, user_id, "", in_run=False)
    config = get_config()
    identity = identify(runtime, config)
    if user_id is None and identity is None:
        raise NobodysFiles(why_off(runtime, config))
    kept: BaseStore | None = store if store is not None else _of_run(get_store)
    if kept is None:
        raise NobodysFiles(_NO_STORE)
    if identity is not None and user_id in (None, identity.user_id):
        return FileOwner(kept, identity.user_id, identity.session_id, in_run=True)
    # the conversation is somebody else's
    return FileOwner(kept, str(user_id), "", in_run=True)


def _of_run(get: Callable[..., Any]) -> Any:
    with suppress(RuntimeError, KeyError):
        return get()
    return None


# The files of an owner.

FILE = records.KINDS["file"]

# Folders into which Deep Agents moves parts of the prompt: results of tools, and messages that memory has anyway. They
# are read by path, and not indexed, since they would bury the agents' notes
SET_ASIDE = frozenset({"large_tool_results", "conversation_history"})
_REMOVED_AT_ONCE = 500  # Files removed in one batch: thousands would block the event loop


def data_of(given: bytes) -> FileData:
    """Return bytes as text if they are UTF-8 without NUL, else as base64. Slow: not for an event loop."""
    with suppress(UnicodeDecodeError):
        if "\x00" not in (text := given.decode()):
            return FileData(content=text, encoding="utf-8")
    return FileData(content=base64.b64encode(given).decode("ascii"), encoding="base64")


def size_of(data: FileData) -> int:
    """Return the bytes of a file."""
    content = data["content"]
    if data["encoding"] == "base64":
        return len(content) // 4 * 3 - content[-2:].count("=")
    return len(content) if content.isascii() else len(content.encode())


def bytes_of(data: FileData) -> bytes:
    """Return the contents of a file as bytes."""
    return base64.b64decode(data["content"]) if data["encoding"] == "base64" else data["content"].encode()


@dataclass(frozen=True)
class OwnedFiles:
    """The files of one owner, or of one folder of theirs, the root of all paths then; ValueError for invalid paths."""

    owner: FileOwner
    agent_id: str
    policy: MemoryPolicy
    folder: str = ""

    async def get(self, paths: Sequence[str]) -> dict[str, FileData]:
        """Return the existing files at some paths."""
        items = await self._items([self._whole(path) for path in paths])
        found = {path: _data(item) for path, item in zip(paths, items, strict=True) if item is not None}
        self._note_read(len(found))
        return found

    async def every(self, below: str = "/") -> AsyncIterator[dict[str, FileData]]:
        """Yield the file at a path and all files below it, in pages, in no order."""
        count = 0
        async for page in self._pages(*self._area(below)):
            count += len(page)
            yield {str(item.value["path"])[len(self.folder) :]: _data(item) for item in page}
        self._note_read(count)

    async def _pages(self, at: str, within: str) -> AsyncIterator[list[Item]]:
        async for page in records.in_any_order(self.owner.store, FILE.namespace(self.owner.user_id)):
            paths = [str(item.value.get("path")) for item in page]
            yield [one for one, path in zip(page, paths, strict=True) if path == at or path.startswith(within)]

    async def put(self, given: Mapping[str, FileData], origin: Origin) -> None:
        """Write whole files, all or none; ValueError if invalid, LegalHoldError for a held one, MemoryFull."""
        wanted = {self._whole(path): data for path, data in given.items()}
        named = list(wanted.items())
        await self._write([*wanted], lambda known: [self._file(at, one, origin, known.get(at)) for at, one in named])

    async def edit(self, path: str, change: Callable[[str], tuple[int | str, str | None]]) -> int | str | None:
        """Change the text of a file in a transaction, so that no concurrent change is lost; None without such a file.

        `change` returns an outcome and the new text, None for no change; it may be called again, in a thread. Raises
        ValueError for a binary file or an invalid text, MemoryFull, and LegalHoldError if the file is under a hold.
        """
        whole = self._whole(path)
        outcome: int | str | None = None

        def made(known: Mapping[str, AgentFile]) -> list[AgentFile]:
            nonlocal outcome
            before, outcome = known.get(whole), None
            if before is None:
                return []
            if before.encoding != "utf-8":
                raise ValueError("this is a binary file: it can be written and removed, and not edited")
            outcome, text = change(before.content)
            if text is None:
                return []
            alone = before.session_id == self.owner.session_id
            data = FileData(content=text, encoding="utf-8")
            after = self._file(whole, data, before.origin.least(Origin.ASSISTANT), before)
            # a file of several conversations belongs to none, and is erased with none
            return [after if alone else after.model_copy(update={"session_id": ""})]

        await self._write([whole], made)
        return outcome

    async def create(self, path: str, data: FileData, origin: Origin) -> bool:
        """Write a file where there is none; return false where there is one. Raises the errors of `put`."""
        whole, is_new = self._whole(path), False

        def made(known: Mapping[str, AgentFile]) -> list[AgentFile]:
            nonlocal is_new
            is_new = whole not in known
            return [self._file(whole, data, origin, None)] if is_new else []

        await self._write([whole], made)
        return is_new

    async def move(self, path: str, to: str) -> int | None:
        """Give a file, or a folder with all files below it, another path; return their number.

        None where something is at the other path. Raises ValueError, and LegalHoldError if held.
        """
        (at, within), (target, into) = self._area(path), self._area(to)
        store, user_id = self.owner.store, self.owner.user_id

        async def step() -> tuple[int | None, list[records.Change]]:
            if [item async for page in self._pages(target, into) for item in page]:
                return None, []
            items = [item async for page in self._pages(at, within) for item in page]
            changes = [records.delete(user_id, FILE, item.key) for item in items]
            for item in items:
                place = AgentFile.file_path(target + str(item.value["path"])[len(at) :])
                file = {name: one for name, one in item.value.items() if name not in ("id", "keywords")}
                changes.append(records.put(user_id, AgentFile.model_validate({**file, "path": place})))
            if items:
                await records.check_held(store, user_id, items, changes)
            return len(items), changes

        return await records.transact(store, user_id, step)

    async def search(self, query: str, limit: int) -> tuple[list[FoundFile], str]:
        """Return the matching files, the best first, and the problems of the search; ValueError for a blank query."""
        if not query.strip():
            raise ValueError("say what to look for, in a few words")
        wanted = max(limit, 1) * (_SPARE if self.folder else 1)
        recall = self.policy.recall.model_copy(update={"max_memories": wanted})
        found = await MemoryFacade(self.owner.store, self.policy.model_copy(update={"recall": recall})).read(
            MemoryQuery(
                user_id=self.owner.user_id,
                session_id=self.owner.session_id or _OUTSIDE,
                agent_id=self.agent_id,
                scopes=[MemoryScope.FILES],
                query=query,
                # a search by the agent shows the nearest files, even distant ones
                extra={"cut": False},
            )
        )
        inside = [item for item in found if str(item.payload.get("path")).startswith(f"{self.folder}/")]
        # LangGraph's own stores list unindexed items after the hits
        hits = [item for item in inside if item.payload.get("text") or item.payload.get("keywords")][:limit]
        shown = await asyncio.to_thread(lambda: [_found(item, len(self.folder)) for item in hits])
        return shown, "; ".join(f"{arm}: {cause}" for arm, cause in found.missing.items())

    async def remove(self, path: str) -> int:
        """Remove the file at a path and all files below it, in batches; return their number. LegalHoldError if held."""
        at, within = self._area(path)
        count = 0
        while gone := await records.transact(
            self.owner.store, self.owner.user_id, partial(self._some_gone, at, within)
        ):
            count += gone
        records.forget_count(self.owner.store, self.owner.user_id)
        return count

    async def _some_gone(self, at: str, within: str) -> tuple[int, list[records.Change]]:
        store, user_id = self.owner.store, self.owner.user_id
        gone: list[Item] = []
        async for page in self._pages(at, within):
            gone += page
            if len(gone) >= _REMOVED_AT_ONCE:
                break
        changes = [records.delete(user_id, FILE, item.key) for item in gone]
        if gone:
            await records.check_held(store, user_id, gone, changes)
        return len(gone), changes

    async def _write(self, paths: Sequence[str], made: Callable[[Mapping[str, AgentFile]], list[AgentFile]]) -> None:
        store, user_id = self.owner.store, self.owner.user_id
        # counted once, however often others are faster
        counted = False

        async def step() -> tuple[None, list[records.Change]]:
            nonlocal counted
            items = [item for item in await self._items(paths) if item is not None]
            known = {str(item.value["path"]): AgentFile.from_value(item.value) for item in items}
            files = await asyncio.to_thread(made, known)
            changes = [records.put(user_id, file) for file in files]
            if items and changes:
                await records.check_held(store, user_id, items, changes)
            if not counted:
                counted = True
                await self._make_room(known, files)
            return None, changes

        await records.transact(store, user_id, step)

    async def _make_room(self, known: Mapping[str, AgentFile], files: Sequence[AgentFile]) -> None:
        store, user_id = self.owner.store, self.owner.user_id
        await records.make_room(store, user_id, self.policy.quotas, [file for file in files if file.path not in known])
        # a file that is there already takes the room that it grows by, and is no further record
        grown = [file.content[len(known[file.path].content) :] for file in files if file.path in known]
        further = self.policy.quotas.model_copy(update={"memories": None})
        await records.make_room(store, user_id, further, [one for one in grown if one])

    def _file(self, path: str, given: FileData, origin: Origin, before: AgentFile | None) -> AgentFile:
        content, is_text = given["content"], given["encoding"] == "utf-8"
        if is_text:
            AgentFile.check_text(content)
        if (size := size_of(given)) > AgentFile.MAX_BYTES:
            raise ValueError(f"a file has {AgentFile.MAX_BYTES:,} bytes at most, and this would have {size:,}")
        at = datetime.now(UTC)
        aside = not SET_ASIDE.isdisjoint(path.split("/"))
        searched = is_text and not aside
        return AgentFile.model_validate(
            {
                "path": path,
                "text": content if searched else "",
                "data": "" if searched else content,
                "encoding": given["encoding"],
                "session_id": self.owner.session_id,
                "agent_id": self.agent_id,
                "origin": origin.least(Origin.TOOL) if aside else origin,
                "created_at": at if before is None else before.created_at,
                "modified_at": at,
            }
        )

    async def _items(self, paths: Sequence[str]) -> list[Item | None]:
        namespace = FILE.namespace(self.owner.user_id)
        ops = [GetOp(namespace, AgentFile.identity(path), refresh_ttl=False) for path in paths]
        return cast("list[Item | None]", await self.owner.store.abatch(ops)) if ops else []

    def _whole(self, path: str) -> str:
        return AgentFile.file_path(self.folder + AgentFile.file_path(path))

    def _area(self, path: str) -> tuple[str, str]:
        whole = AgentFile.clean_path(self.folder + AgentFile.clean_path(path))
        return whole, "/" if whole == "/" else f"{whole}/"

    def _note_read(self, count: int) -> None:
        records.note_action(self.owner.store, self.owner.user_id, records.AuditAction.READ, {FILE.name: count})


def _data(item: Item) -> FileData:
    value: dict[str, Any] = item.value
    times = (value.get("created_at"), value.get("modified_at"))
    created, modified = (at.isoformat() if isinstance(at, datetime) else str(at or "") for at in times)
    content = value.get("text") or value.get("data") or ""
    return FileData(content=content, encoding=value.get("encoding", "utf-8"), created_at=created, modified_at=modified)


# Looking through files by their names and letters, as Deep Agents defines it: listing, glob, grep.

Files = Mapping[str, FileData]  # Files by their paths


def listed(files: Files, path: str) -> list[protocol.FileInfo]:
    """Return the files and folders directly in a folder, sorted by path, of all files below it; folders end in `/`."""
    within = area_below(path)
    found: dict[str, protocol.FileInfo] = {}
    for place, data in files.items():
        name, slash, _ = place.removeprefix(within).partition("/")
        if not place.startswith(within):
            continue
        if slash:
            folder = f"{within}{name}/"
            found[folder] = protocol.FileInfo(path=folder, is_dir=True, size=0, modified_at="")
        else:
            found[place] = _info(place, data)
    return [found[place] for place in sorted(found)]


def matching(files: Files, pattern: str, path: str) -> list[protocol.FileInfo]:
    """Return the files with names that match a pattern below a path, the latest first; ValueError for a bad one."""
    matches, within = matcher(pattern), area_below(path)
    # the searched file itself goes by its name
    named = ((one, one if one.startswith(within) else one.rpartition("/")[2]) for one in files)
    found = [_info(place, files[place]) for place, name in named if matches(name.removeprefix(within))]
    return sorted(found, key=itemgetter("modified_at", "path"), reverse=True)


def grepped(files: Files, pattern: str, path: str, glob: str | None) -> list[protocol.GrepMatch]:
    """Return the lines that hold a text, letter by letter."""
    given = {place: data for place, data in files.items() if pattern in data["content"]}
    found = utils.grep_matches_from_files(given, pattern, path, glob).matches or []
    return [
        protocol.GrepMatch(path=one["path"], line=one["line"], text=one["text"].removesuffix("\r")) for one in found
    ]


def _info(path: str, data: FileData) -> protocol.FileInfo:
    return protocol.FileInfo(path=path, is_dir=False, size=size_of(data), modified_at=data.get("modified_at", ""))


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return the match of a pattern of names; ValueError for a bad one."""
    if len(pattern) > AgentFile.MAX_PATH_CHARS:
        raise ValueError(f"a pattern has {AgentFile.MAX_PATH_CHARS:,} characters at most, this one {len(pattern):,}")
    if ".." in pattern.split("/"):
        raise ValueError("a pattern must not lead up with '..': name the folder by `path`")
    try:
        return utils.compile_grep_include_glob(pattern)
    except ValueError as error:
        # in our own words, which may be told
        raise ValueError(str(error)) from None


def area_below(path: str) -> str:
    """Return the beginning of all paths below a folder."""
    return f"{AgentFile.clean_path(path).rstrip('/')}/"


# Search in an owner's files, with the matching passage and its lines.

PASSAGE_CHARS = 1_000  # Characters of a passage: about the length of an indexed piece
_OUTSIDE = "files"  # Session id of a search by an application
_SPARE = 5  # Candidates for each wanted file, where only one folder is searched


class FoundFile(NamedTuple):
    """A matching file with the matching passage, empty if the path alone matches, and its lines, from 1."""

    path: str
    passage: str
    first_line: int
    last_line: int
    origin: Origin
    modified_at: str


def _found(item: MemoryResultItem, folder: int) -> FoundFile:
    value: Mapping[str, Any] = item.payload
    text = str(value.get("text") or "")
    matched = next((part.content for part in item.fragments if part.id == item.id), "") or text
    passage = matched.strip()[:PASSAGE_CHARS]
    first = text.count("\n", 0, max(text.find(passage), 0)) + 1
    return FoundFile(
        path=str(value["path"])[folder:],
        passage=passage,
        first_line=first,
        last_line=first + passage.count("\n"),
        origin=records.origin_of(value),
        modified_at=str(value.get("modified_at") or ""),
    )
