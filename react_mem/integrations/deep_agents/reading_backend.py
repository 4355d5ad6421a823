"""Reading of files for Deep Agents, and the answer of every call: for the owner of the run, without exceptions."""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from functools import partial, wraps
from operator import itemgetter
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, Protocol, TypeVar

from langgraph.store.base import BaseStore

from react_mem.errors import LegalHoldError, MemoryFull
from react_mem.integrations.deep_agents import package as deep
from react_mem.integrations.deep_agents.owned_files import FileOwner, KeptFile, NobodysFiles, owner_of_files
from react_mem.memory.records import AgentFile, checked, run_blocking
from react_mem.memory.turns import cause_for_clients, cause_of

# Looking through files by their names and letters, as Deep Agents defines it: listing, glob, grep.


def listed(files: Iterable[KeptFile], path: str) -> list[deep.FileInfo]:
    """Return the files and folders directly in a folder, sorted by path, of all files below it; folders end in `/`."""
    within = _within(path)
    found: dict[str, deep.FileInfo] = {}
    for file in files:
        name, slash, _ = file.path.removeprefix(within).partition("/")
        if not file.path.startswith(within):
            continue
        if slash:
            folder = f"{within}{name}/"
            found[folder] = deep.FileInfo(path=folder, is_dir=True, size=0, modified_at="")
        else:
            found[file.path] = _info(file)
    return [found[place] for place in sorted(found)]


def matching(files: Sequence[KeptFile], pattern: str, path: str) -> list[deep.FileInfo]:
    """Return the files with names that match a pattern below a path, the latest first; ValueError for a bad one."""
    matches, within = _matcher(pattern), _within(path)
    # the searched file itself goes by its name
    named = ((one, one.path if one.path.startswith(within) else one.path.rpartition("/")[2]) for one in files)
    found = [file for file, name in named if matches(name.removeprefix(within))]
    return [_info(file) for file in sorted(found, key=lambda file: (file.modified_at, file.path), reverse=True)]


def _grepped(files: Iterable[KeptFile], pattern: str, path: str, glob: str | None) -> list[deep.GrepMatch]:
    """Return the lines that hold a text, letter by letter."""
    given = {file.path: _as_data(file) for file in files if pattern in file.contents.content}
    found = deep.grep_matches_from_files(given, pattern, path, glob).matches or []
    return [deep.GrepMatch(path=one["path"], line=one["line"], text=one["text"].removesuffix("\r")) for one in found]


def _info(file: KeptFile) -> deep.FileInfo:
    return deep.FileInfo(path=file.path, is_dir=False, size=file.contents.size, modified_at=file.modified_at)


_place = itemgetter("path", "line")


def _matcher(pattern: str) -> Callable[[str], bool]:
    if len(pattern) > AgentFile.MAX_PATH_CHARS:
        raise ValueError(f"a pattern has {AgentFile.MAX_PATH_CHARS:,} characters at most, this one {len(pattern):,}")
    if ".." in pattern.split("/"):
        raise ValueError("a pattern must not lead up with '..': name the folder by `path`")
    try:
        return deep.compile_grep_include_glob(pattern)
    except ValueError as error:
        # in our own words, which may be told
        raise ValueError(str(error)) from None


def _within(path: str) -> str:
    return f"{AgentFile.clean_path(path).rstrip('/')}/"


_WITHIN = 30.0  # Time limit of a call in seconds, as Deep Agents sets it for grep
_NOT_FOUND = "file_not_found"

P = ParamSpec("P")
Answer = TypeVar("Answer")

log = logging.getLogger(__name__)


class FilesRead(Protocol):
    """Readable files of one owner."""

    async def get(self, paths: Sequence[str]) -> list[KeptFile | None]:
        """Return files by their paths, None for a missing one; ValueError for an invalid path."""

    def every(self, below: str = "/") -> AsyncIterator[list[KeptFile]]:
        """Yield the file at a path and all files below it, in pages, in no order; ValueError for an invalid path."""


def refusal(path: str) -> str | None:
    """Return the error code of a path that is no file's; None for a valid one."""
    try:
        AgentFile.clean_path(path)
    except ValueError:
        return "invalid_path"
    return "is_directory" if path.endswith("/") else None


def missing(path: str) -> str:
    """Return the message for a missing file."""
    return f"File '{path}' not found"


def _as_data(file: KeptFile) -> deep.FileData:
    return deep.FileData(
        content=file.contents.content,
        encoding=file.contents.encoding,
        created_at=file.created_at,
        modified_at=file.modified_at,
    )


def _none_downloaded(error: str, paths: Sequence[str]) -> list[deep.FileDownloadResponse]:
    return [deep.FileDownloadResponse(path=path, error=error) for path in paths]


def _none_there(error: str, paths: Sequence[str]) -> list[deep.FileDownloadResponse]:
    log.warning("files that an agent asked for are taken as missing: %s", error)
    return _none_downloaded(_NOT_FOUND, paths)


class Call(NamedTuple, Generic[P, Answer]):
    """One call of a backend, sync and async."""

    sync: Callable[Concatenate[Any, P], Answer]
    later: Callable[Concatenate[Any, P], Coroutine[Any, Any, Answer]]


def answered(
    refused: Callable[..., Answer], in_run: Callable[..., Answer] | None = None
) -> Callable[[Callable[Concatenate[Any, Any, P], Awaitable[Answer]]], Call[P, Answer]]:
    """Make a call of work on the owner's files, which always answers: after a failure nothing has been stored.

    `refused` makes the answer of an error message and the arguments; `in_run` that of a failure that an agent cannot
    mend, in a run.
    """

    def made(work: Callable[Concatenate[Any, Any, P], Awaitable[Answer]]) -> Call[P, Answer]:
        @wraps(work)
        async def later(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
            try:
                owner = self._owner()
            except NobodysFiles as error:
                return (in_run or refused)(str(error), *args, **kwargs)
            try:
                with owner.acting():
                    async with asyncio.timeout(_WITHIN):
                        return await work(self, self._files(owner), *args, **kwargs)
            except Exception as error:
                # an error of our own tells the caller what to do
                if type(error) in (ValueError, MemoryFull, LegalHoldError) and cause_of(error) != type(error).__name__:
                    return refused(str(error), *args, **kwargs)
                log.warning("files in memory cannot be reached: %s", cause_of(error))
                told = f"files cannot be reached at present: {cause_for_clients(error)}"
                refusing = in_run if owner.in_run else None
                return (refusing or refused)(told, *args, **kwargs)

        @wraps(work)
        def sync(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
            owner = None
            # the call itself says that there is none
            with suppress(NobodysFiles):
                owner = self._owner()
            try:
                return run_blocking(lambda: later(self, *args, **kwargs), owner.store if owner is not None else None)
            except RuntimeError as error:
                # it would have waited for itself
                refusing = in_run if owner is not None and owner.in_run else None
                return (refusing or refused)(str(error), *args, **kwargs)

        return Call(sync, later)

    return made


def failing(answer: Callable[..., Answer], before: str = "") -> Callable[..., Answer]:
    """Return the maker of an answer with an error; to those of `ls`, `read` and `glob` Deep Agents adds "Error: "."""
    return lambda told, *_, **__: answer(error=f"{before}{told}")


class ReadingBackend(deep.BackendProtocol):
    """Files that Deep Agents read, list and search; store and owner are the run's unless the application gives them."""

    @checked()
    def __init__(self, *, store: BaseStore | None = None, user_id: str | None = None) -> None:
        self._store = store
        self._user_id = user_id

    @abstractmethod
    def _files(self, owner: FileOwner) -> FilesRead:
        """Return an owner's files."""

    def _owner(self) -> FileOwner:
        return owner_of_files(self._store, self._user_id)

    @answered(failing(deep.LsResult))
    async def _ls(self, files: FilesRead, path: str) -> deep.LsResult:
        """List the files and folders directly in a folder."""
        found = [file async for page in files.every(path) for file in page]
        return deep.LsResult(entries=await asyncio.to_thread(listed, found, path))

    ls, als = _ls

    @answered(failing(deep.ReadResult))
    async def _read(self, files: FilesRead, file_path: str, offset: int = 0, limit: int = 2000) -> deep.ReadResult:
        """Return lines of a text, or a whole binary file."""
        [file] = await files.get([file_path])
        if file is None:
            return deep.ReadResult(error=missing(file_path))
        data = _as_data(file)
        if file.contents.encoding != "utf-8":
            return deep.ReadResult(file_data=data)
        return await asyncio.to_thread(partial(deep.slice_read_response, data, offset, limit))

    read, aread = _read

    @answered(failing(deep.GrepResult, "Error: "))
    async def _grep(
        self,
        files: FilesRead,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> deep.GrepResult:
        """Find the lines that hold a text, letter by letter; the search runs in a thread."""
        where = AgentFile.clean_path(path or "/")
        if glob:
            await asyncio.to_thread(_matcher, glob)
        found: list[deep.GrepMatch] = []
        async for page in files.every(where):
            found += await asyncio.to_thread(_grepped, page, pattern, where, glob)
            if max_count is not None and len(found) > max_count:
                # one more than wanted tells that there are more
                found = sorted(found, key=_place)[: max_count + 1]
        truncated = max_count is not None and len(found) > max_count
        return deep.GrepResult(matches=sorted(found, key=_place)[:max_count], truncated=truncated)

    grep, agrep = _grep

    @answered(failing(deep.GlobResult))
    async def _glob(self, files: FilesRead, pattern: str, path: str | None = None) -> deep.GlobResult:
        """Find files by name, the latest written first."""
        found = [file async for page in files.every(path or "/") for file in page]
        return deep.GlobResult(matches=await asyncio.to_thread(matching, found, pattern, path or "/"))

    glob, aglob = _glob

    @answered(_none_downloaded, _none_there)
    async def _download(self, files: FilesRead, paths: list[str]) -> list[deep.FileDownloadResponse]:
        """Return files as bytes.

        In a run whose memory is off or out of reach no file exists: the files read at the beginning of a turn must not
        fail it, and a warning in the log says why.
        """
        fit = [path for path in dict.fromkeys(paths) if refusal(path) is None]
        kept = {path: file for path, file in zip(fit, await files.get(fit), strict=True) if file is not None}
        data = await asyncio.to_thread(lambda: {path: file.contents.data() for path, file in kept.items()})
        return [
            deep.FileDownloadResponse(path=path, content=data[path])
            if path in data
            else deep.FileDownloadResponse(path=path, error=refusal(path) or _NOT_FOUND)
            for path in paths
        ]

    download_files, adownload_files = _download
