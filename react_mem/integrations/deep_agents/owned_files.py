"""The files of one owner in memory: reading, writing, editing and removing by path, safe with concurrent writers."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, NamedTuple, cast

from langgraph.config import get_config, get_store
from langgraph.runtime import Runtime, get_runtime
from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory import MemoryPolicy, Origin
from react_mem.memory.records import (
    KINDS,
    AgentFile,
    AuditAction,
    AuditActor,
    AuditReason,
    Change,
    acting,
    check_held,
    delete,
    forget_count,
    in_any_order,
    make_room,
    note_action,
    origin_of,
    put,
    transact,
)
from react_mem.memory.turns import identify, why_off

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

    def acting(self) -> AbstractContextManager[None]:
        """Record the actions within the context as the agent's, in a run."""
        return acting(AuditActor.AGENT, AuditReason.TURN) if self.in_run else nullcontext()


def owner_of_files(store: BaseStore | None, user_id: str | None) -> FileOwner:
    """Return the owner of the current call's files: named by the application, or the run's, never by a model.

    Raises NobodysFiles if there is no owner or no store.
    """
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


# A file as a value: its path and contents.


class Contents(NamedTuple):
    """Contents of a file, as text or base64."""

    content: str
    encoding: Literal["utf-8", "base64"] = "utf-8"

    @classmethod
    def of(cls, data: bytes) -> Contents:
        r"""Return bytes as text if they are UTF-8 without NUL, else as base64. Slow: not for an event loop.

        >>> Contents.of(b"tea"), Contents.of(b"a\x00b")
        (Contents(content='tea', encoding='utf-8'), Contents(content='YQBi', encoding='base64'))
        """
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = ""
        if (not text and data) or "\x00" in text:
            return cls(base64.b64encode(data).decode("ascii"), "base64")
        return cls(text)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        if self.encoding == "base64":
            return len(self.content) // 4 * 3 - self.content[-2:].count("=")
        return len(self.content) if self.content.isascii() else len(self.content.encode())

    def data(self) -> bytes:
        """Return the contents as bytes."""
        return base64.b64decode(self.content) if self.encoding == "base64" else self.content.encode()


class KeptFile(NamedTuple):
    """A stored file, with its times as ISO 8601."""

    path: str
    contents: Contents
    created_at: str
    modified_at: str
    origin: Origin


# The files of an owner.

FILE = KINDS["file"]

# Folders into which Deep Agents moves parts of the prompt: results of tools, and messages that memory has anyway.
# They are read by path, and not indexed, since they would bury the agents' notes
SET_ASIDE = frozenset({"large_tool_results", "conversation_history"})

_REMOVED_AT_ONCE = 500  # Files removed in one batch: thousands would block the event loop


@dataclass(frozen=True)
class OwnedFiles:
    """The files of one owner, or of one folder of theirs, the root of all paths then; ValueError for invalid paths."""

    owner: FileOwner
    agent_id: str
    policy: MemoryPolicy
    folder: str = ""

    async def get(self, paths: Sequence[str]) -> list[KeptFile | None]:
        """Return files by their paths, None for a missing one."""
        items = await self._items([self._whole(path) for path in paths])
        found = [None if item is None else self._kept(item) for item in items]
        self._note_read(sum(item is not None for item in items))
        return found

    async def every(self, below: str = "/") -> AsyncIterator[list[KeptFile]]:
        """Yield the file at a path and all files below it, in pages, in no order."""
        count = 0
        async for page in self._pages(*self._area(below)):
            count += len(page)
            yield [self._kept(item) for item in page]
        self._note_read(count)

    async def _pages(self, at: str, within: str) -> AsyncIterator[list[Item]]:
        async for page in in_any_order(self.owner.store, FILE.namespace(self.owner.user_id)):
            paths = [str(item.value.get("path")) for item in page]
            yield [one for one, path in zip(page, paths, strict=True) if path == at or path.startswith(within)]

    async def put(self, given: Mapping[str, Contents], origin: Origin) -> None:
        """Write whole files, all of them or none.

        Raises ValueError for an invalid content, MemoryFull, and LegalHoldError if an overwritten file is under a hold.
        """
        wanted = {self._whole(path): contents for path, contents in given.items()}
        await self._write(
            list(wanted), lambda known: [self._file(path, one, origin, known.get(path)) for path, one in wanted.items()]
        )

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
            after = self._file(whole, Contents(text), before.origin.least(Origin.ASSISTANT), before)
            # a file of several conversations belongs to none, and is erased with none
            return [after if alone else after.model_copy(update={"session_id": ""})]

        await self._write([whole], made)
        return outcome

    async def remove(self, path: str) -> int:
        """Remove the file at a path and all files below it, in batches, and return their number.

        Raises LegalHoldError if one of them is under a hold.
        """
        at, within = self._area(path)
        count = 0
        while gone := await transact(self.owner.store, self.owner.user_id, partial(self._some_gone, at, within)):
            count += gone
        forget_count(self.owner.store, self.owner.user_id)
        return count

    async def _some_gone(self, at: str, within: str) -> tuple[int, list[Change]]:
        store, user_id = self.owner.store, self.owner.user_id
        gone: list[Item] = []
        async for page in self._pages(at, within):
            gone += page
            if len(gone) >= _REMOVED_AT_ONCE:
                break
        changes = [delete(user_id, FILE, item.key) for item in gone]
        if gone:
            await check_held(store, user_id, gone, changes)
        return len(gone), changes

    async def _write(self, paths: Sequence[str], made: Callable[[Mapping[str, AgentFile]], list[AgentFile]]) -> None:
        store, user_id = self.owner.store, self.owner.user_id
        # counted once, however often others are faster
        counted = False

        async def step() -> tuple[None, list[Change]]:
            nonlocal counted
            items = [item for item in await self._items(paths) if item is not None]
            known = {str(item.value["path"]): AgentFile.from_value(item.value) for item in items}
            files = await asyncio.to_thread(made, known)
            changes = [put(user_id, file) for file in files]
            if items and changes:
                await check_held(store, user_id, items, changes)
            if not counted:
                counted = True
                await self._make_room(known, files)
            return None, changes

        await transact(store, user_id, step)

    async def _make_room(self, known: Mapping[str, AgentFile], files: Sequence[AgentFile]) -> None:
        store, user_id = self.owner.store, self.owner.user_id
        await make_room(store, user_id, self.policy.quotas, [file for file in files if file.path not in known])
        # a file that is there already takes the room that it grows by, and is no further record
        grown = [file.content[len(known[file.path].content) :] for file in files if file.path in known]
        await make_room(
            store, user_id, self.policy.quotas.model_copy(update={"memories": None}), [one for one in grown if one]
        )

    def _file(self, path: str, contents: Contents, origin: Origin, before: AgentFile | None) -> AgentFile:
        is_text = contents.encoding == "utf-8"
        if is_text:
            AgentFile.check_text(contents.content)
        if contents.size > AgentFile.MAX_BYTES:
            raise ValueError(f"a file has {AgentFile.MAX_BYTES:,} bytes at most, and this would have {contents.size:,}")
        at = datetime.now(UTC)
        aside = not SET_ASIDE.isdisjoint(path.split("/"))
        searched = is_text and not aside
        return AgentFile.model_validate(
            {
                "path": path,
                "text": contents.content if searched else "",
                "data": "" if searched else contents.content,
                "encoding": contents.encoding,
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

    def _kept(self, item: Item) -> KeptFile:
        value: dict[str, Any] = item.value
        return KeptFile(
            path=str(value["path"])[len(self.folder) :],
            contents=Contents(value.get("text") or value.get("data") or "", value.get("encoding", "utf-8")),
            created_at=_iso(value.get("created_at")),
            modified_at=_iso(value.get("modified_at")),
            origin=origin_of(value),
        )

    def _note_read(self, count: int) -> None:
        note_action(self.owner.store, self.owner.user_id, AuditAction.READ, {FILE.name: count})


def _iso(at: Any) -> str:
    return at.isoformat() if isinstance(at, datetime) else str(at or "")
