"""`MemoryFilesBackend`: a Deep Agent's files as memories of its user; `LearntSkillsBackend`: the skills it has learnt.

    agent = create_deep_agent(model, backend=MemoryFilesBackend(), store=store, checkpointer=saver)
    agent.invoke({"messages": [...]}, {"configurable": {"thread_id": "1", "user_id": "ann"}})

Files outlive the conversation, and like all memories are listed, searched, exported, erased with receipts, and
encrypted. A failing memory fails no turn: every call answers, at least with the reason of its failure."""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial, wraps
from operator import itemgetter
from typing import Any, Concatenate, ParamSpec, TypeVar

from langgraph.store.base import BaseStore

from react_mem.errors import LegalHoldError, MemoryFull
from react_mem.installation import of_extra
from react_mem.integrations.deep_agents import owned_files
from react_mem.integrations.skill_files import NAME, skill_name, write_skill
from react_mem.memory import MemoryPolicy, Origin, Skill, records
from react_mem.memory.records import AgentFile
from react_mem.memory.turns import cause_for_clients, cause_of, flat

with of_extra("deepagents"):
    from deepagents.backends import protocol as deep
    from deepagents.backends import utils

_WITHIN = 30.0  # Time limit of a call in seconds, as Deep Agents sets it for grep
_NOT_FOUND = "file_not_found"

P = ParamSpec("P")
Answer = TypeVar("Answer")
Work = Callable[Concatenate[Any, Any, P], Awaitable[Answer]]
Calls = tuple[Callable[Concatenate[Any, P], Answer], Callable[Concatenate[Any, P], Coroutine[Any, Any, Answer]]]

_place = itemgetter("path", "line")

log = logging.getLogger(__name__)


def _refusal(path: str) -> str | None:
    """Return the error code of a path that is no file's; None for a valid one."""
    try:
        AgentFile.clean_path(path)
    except ValueError:
        return "invalid_path"
    return "is_directory" if path.endswith("/") else None


def _missing(path: str) -> str:
    """Return the message for a missing file."""
    return f"File '{path}' not found"


def _not_downloaded(error: str, paths: Sequence[str]) -> list[deep.FileDownloadResponse]:
    return [deep.FileDownloadResponse(path=path, error=error) for path in paths]


def _none_there(error: str, paths: Sequence[str]) -> list[deep.FileDownloadResponse]:
    log.warning("files that an agent asked for are taken as missing: %s", error)
    return _not_downloaded(_NOT_FOUND, paths)


def _uploaded(error: str | None, given: Sequence[tuple[str, bytes]]) -> list[deep.FileUploadResponse]:
    return [deep.FileUploadResponse(path=path, error=_refusal(path) or error) for path, _ in given]


def _unsearched(error: str, *_: Any, **__: Any) -> tuple[list[owned_files.FoundFile], str]:
    return [], error


def answered(
    refused: Callable[..., Answer], in_run: Callable[..., Answer] | None = None
) -> Callable[[Work[P, Answer]], Calls[P, Answer]]:
    """Make a call, sync and async, of work on the owner's files. It always answers: after a failure nothing is stored.

    `refused` makes the answer of an error message and the arguments; `in_run` that of a failure that an agent cannot
    mend, in a run.
    """

    def made(work: Work[P, Answer]) -> Calls[P, Answer]:
        @wraps(work)
        async def later(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
            try:
                owner = self._owner()
            except owned_files.NobodysFiles as error:
                return (in_run or refused)(str(error), *args, **kwargs)
            try:
                with (
                    records.acting(records.AuditActor.AGENT, records.AuditReason.TURN)
                    if owner.in_run
                    else nullcontext()
                ):
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
            with suppress(owned_files.NobodysFiles):
                owner = self._owner()
            try:
                return records.run_blocking(lambda: later(self, *args, **kwargs), owner and owner.store)
            except RuntimeError as error:
                # it would have waited for itself
                refusing = in_run if owner is not None and owner.in_run else None
                return (refusing or refused)(str(error), *args, **kwargs)

        return sync, later

    return made


def failing(answer: Callable[..., Answer], before: str = "") -> Callable[..., Answer]:
    """Return the maker of an answer with an error; Deep Agents adds "Error: " for `ls`, `read` and `glob`."""
    return lambda told, *_, **__: answer(error=f"{before}{told}")


class ReadingBackend(deep.BackendProtocol):
    """Files that Deep Agents read, list and search; store and owner are the run's unless the application gives them."""

    @records.checked()
    def __init__(self, *, store: BaseStore | None = None, user_id: str | None = None) -> None:
        self._store = store
        self._user_id = user_id

    @abstractmethod
    def _files(self, owner: owned_files.FileOwner) -> Any:
        """Return an owner's files: with `get`, by their paths, and `every`, below a path."""

    def _owner(self) -> owned_files.FileOwner:
        return owned_files.owner_of_files(self._store, self._user_id)

    @answered(failing(deep.LsResult))
    async def _ls(self, files: owned_files.OwnedFiles, path: str) -> deep.LsResult:
        """List the files and folders directly in a folder."""
        found = {place: data async for page in files.every(path) for place, data in page.items()}
        return deep.LsResult(entries=await asyncio.to_thread(owned_files.listed, found, path))

    ls, als = _ls

    @answered(failing(deep.ReadResult))
    async def _read(
        self, files: owned_files.OwnedFiles, file_path: str, offset: int = 0, limit: int = 2000
    ) -> deep.ReadResult:
        """Return lines of a text, or a whole binary file."""
        data = (await files.get([file_path])).get(file_path)
        if data is None:
            return deep.ReadResult(error=_missing(file_path))
        if data["encoding"] != "utf-8":
            return deep.ReadResult(file_data=data)
        return await asyncio.to_thread(utils.slice_read_response, data, offset, limit)

    read, aread = _read

    @answered(failing(deep.GrepResult, "Error: "))
    async def _grep(
        self,
        files: owned_files.OwnedFiles,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> deep.GrepResult:
        """Find the lines that hold a text, letter by letter; the search runs in a thread."""
        where = AgentFile.clean_path(path or "/")
        if glob:
            await asyncio.to_thread(owned_files.matcher, glob)
        found: list[deep.GrepMatch] = []
        async for page in files.every(where):
            found += await asyncio.to_thread(owned_files.grepped, page, pattern, where, glob)
            if max_count is not None and len(found) > max_count:
                # one more than wanted tells that there are more
                found = sorted(found, key=_place)[: max_count + 1]
        truncated = max_count is not None and len(found) > max_count
        return deep.GrepResult(matches=sorted(found, key=_place)[:max_count], truncated=truncated)

    grep, agrep = _grep

    @answered(failing(deep.GlobResult))
    async def _glob(self, files: owned_files.OwnedFiles, pattern: str, path: str | None = None) -> deep.GlobResult:
        """Find files by name, the latest written first."""
        found = {place: data async for page in files.every(path or "/") for place, data in page.items()}
        return deep.GlobResult(matches=await asyncio.to_thread(owned_files.matching, found, pattern, path or "/"))

    glob, aglob = _glob

    @answered(_not_downloaded, _none_there)
    async def _download(self, files: owned_files.OwnedFiles, paths: list[str]) -> list[deep.FileDownloadResponse]:
        """Return files as bytes; none where memory is off or out of reach, so that no turn fails at its beginning."""
        kept = await files.get([path for path in dict.fromkeys(paths) if _refusal(path) is None])
        given = await asyncio.to_thread(lambda: {path: owned_files.bytes_of(data) for path, data in kept.items()})
        return [
            deep.FileDownloadResponse(path=path, content=given[path])
            if path in given
            else deep.FileDownloadResponse(path=path, error=_refusal(path) or _NOT_FOUND)
            for path in paths
        ]

    download_files, adownload_files = _download


_UPLOADED_AT_ONCE = 20  # Files of one batch, whose embeddings are awaited together


def _batches(files: list[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    return (files[start : start + _UPLOADED_AT_ONCE] for start in range(0, len(files), _UPLOADED_AT_ONCE))


class MemoryFilesBackend(ReadingBackend):
    """Files of a Deep Agent as memories of its user.

    The owner follows from the run, as with `MemoryMiddleware`: the server's authenticated user, else `user_id` in the
    run's context or under `configurable`; never from a path or a model. Two users never see each other's files.
    Without a user nothing is stored, and every call says so.

    A text is found by hybrid search (see `FileSearchMiddleware`), up to the limit of `memory.index.entries`; a binary
    file by its path. Files by an agent have the origin `assistant`, uploads `import`: neither teaches facts about the
    user. A file that one conversation alone wrote is erased with it.

    Both `invoke` and `ainvoke` work, with any store: see `memory.adapters.middleware`.

    Args:
        store: The store; by default the agent's.
        user_id: The owner, if the application names one: outside of a run, or for files shared by its users.
        folder: Folder of the owner's files that this backend shows as `/`, such as `/research` behind a route of
            `CompositeBackend`; by default all.
        agent_id: The agent's id in memory.
        policy: Limits of the stored files (`quotas`), and size of a search (`recall`).

    Raises:
        ValueError: If the folder is no path.
    """

    @records.checked()
    def __init__(
        self,
        *,
        store: BaseStore | None = None,
        user_id: str | None = None,
        folder: str = "/",
        agent_id: str = "agent",
        policy: MemoryPolicy | Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(store=store, user_id=user_id)
        self._folder = AgentFile.clean_path(folder).rstrip("/")
        self._agent_id = agent_id
        self._policy = policy if isinstance(policy, MemoryPolicy) else MemoryPolicy.model_validate(dict(policy or {}))

    def _files(self, owner: owned_files.FileOwner) -> owned_files.OwnedFiles:
        return owned_files.OwnedFiles(owner, self._agent_id, self._policy, self._folder)

    @answered(failing(deep.WriteResult, "Error: "))
    async def _write(self, files: owned_files.OwnedFiles, file_path: str, content: str) -> deep.WriteResult:
        """Write or overwrite a whole file."""
        origin = Origin.ASSISTANT if files.owner.in_run else Origin.IMPORT
        await files.put({file_path: deep.FileData(content=content, encoding="utf-8")}, origin)
        return deep.WriteResult(path=file_path)

    write, awrite = _write

    @answered(failing(deep.EditResult, "Error: "))
    async def _edit(
        self, files: owned_files.OwnedFiles, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> deep.EditResult:
        """Replace a text in the current version of a file."""
        change = partial(_replaced, old=old_string, new=new_string, everywhere=replace_all)
        outcome = await files.edit(file_path, change)
        if outcome is None:
            return deep.EditResult(error=f"Error: {_missing(file_path)}")
        if isinstance(outcome, str):
            return deep.EditResult(error=outcome)
        return deep.EditResult(path=file_path, occurrences=outcome)

    edit, aedit = _edit

    @answered(failing(deep.DeleteResult, "Error: "))
    async def _delete(self, files: owned_files.OwnedFiles, file_path: str) -> deep.DeleteResult:
        """Remove a file, or a folder with all files below it."""
        if not await files.remove(file_path):
            return deep.DeleteResult(error=f"Error: {_missing(file_path)}")
        return deep.DeleteResult(path=file_path)

    delete, adelete = _delete

    @answered(_uploaded)
    async def _upload(
        self, files: owned_files.OwnedFiles, given: Sequence[tuple[str, bytes]]
    ) -> list[deep.FileUploadResponse]:
        fit = [(path, data) for path, data in given if _refusal(path) is None]
        if contents := await asyncio.to_thread(lambda: {path: owned_files.data_of(data) for path, data in fit}):
            await files.put(contents, Origin.IMPORT)
        return _uploaded(None, given)

    _uploading, _auploading = _upload

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[deep.FileUploadResponse]:
        """Write files; texts are indexed for search, binary files are only stored."""
        return [told for batch in _batches(files) for told in self._uploading(batch)]

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[deep.FileUploadResponse]:
        """Write files; texts are indexed for search, binary files are only stored."""
        return [told for batch in _batches(files) for told in await self._auploading(batch)]

    @answered(_unsearched)
    async def _search(
        self, files: owned_files.OwnedFiles, query: str, limit: int = 8
    ) -> tuple[list[owned_files.FoundFile], str]:
        """Return the files that match a query by meaning and words, the best first, and the problems of the search."""
        return await files.search(query, limit)

    search_files, asearch_files = _search


def _replaced(text: str, *, old: str, new: str, everywhere: bool) -> tuple[int | str, str | None]:
    """Return the number of replacements, or the error, and the new text."""
    done = utils.perform_string_replacement(text, old, new, everywhere)
    if isinstance(done, str) and "\r\n" in text and "\n" in old and "\r" not in old:
        # a file with Windows' line ends is read with plain ones, and stays as it is
        old, new = (one.replace("\r\n", "\n").replace("\n", "\r\n") for one in (old, new))
        done = utils.perform_string_replacement(text, old, new, everywhere)
    return (done, None) if isinstance(done, str) else (done[1], done[0])


# `LearntSkillsBackend`: the skills that agents have learnt, as skill files for Deep Agents.

SKILL = records.KINDS["skill"]
_READ_ONLY = "Error: what is learnt is read-only here: it changes with what comes of following it"
_DESCRIPTION_CHARS = 300  # Characters of a skill's description, which stands in the system prompt of every turn


class LearntSkills:
    """An owner's active skills, each a folder with its `SKILL.md`."""

    def __init__(self, owner: owned_files.FileOwner) -> None:
        self._owner = owner

    async def get(self, paths: Sequence[str]) -> dict[str, deep.FileData]:
        """Return the existing files at some paths."""
        kept = await self._all() if paths else {}
        return {path: kept[file] for path in paths if (file := AgentFile.file_path(path)) in kept}

    async def every(self, below: str = "/") -> AsyncIterator[dict[str, deep.FileData]]:
        """Yield the file at a path and all files below it."""
        at, within = AgentFile.clean_path(below), owned_files.area_below(below)
        yield {path: data for path, data in (await self._all()).items() if path == at or path.startswith(within)}

    async def _all(self) -> dict[str, deep.FileData]:
        namespace = SKILL.namespace(self._owner.user_id)
        pages = [page async for page in records.in_any_order(self._owner.store, namespace)]
        return await asyncio.to_thread(
            lambda: dict(
                _as_file(Skill.from_value(item.value))
                for page in pages
                for item in page
                # a skill on probation has not proved itself yet
                if SKILL.matches(item.value) and item.value.get("status") == "active"
            )
        )


class LearntSkillsBackend(ReadingBackend):
    """The active skills that a user's agents have learnt, read-only: `/<name>/SKILL.md` each, behind a route.

    Args:
        store: The store; by default the agent's.
        user_id: The owner, if the application names one; else the run's, as with `MemoryFilesBackend`.
    """

    def _files(self, owner: owned_files.FileOwner) -> LearntSkills:
        return LearntSkills(owner)

    def write(self, file_path: str, content: str) -> deep.WriteResult:
        """Refuse to write."""
        return deep.WriteResult(error=_READ_ONLY)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> deep.EditResult:
        """Refuse to edit."""
        return deep.EditResult(error=_READ_ONLY)

    def delete(self, file_path: str) -> deep.DeleteResult:
        """Refuse to delete."""
        return deep.DeleteResult(error=_READ_ONLY)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[deep.FileUploadResponse]:
        """Refuse to write."""
        return [deep.FileUploadResponse(path=path, error="permission_denied") for path, _ in files]


def _as_file(skill: Skill) -> tuple[str, deep.FileData]:
    # when it applies may be in words of a user's: one line of them, which can pass for nothing else in a prompt
    shown = skill.model_copy(update={"use_when": flat(skill.use_when, _DESCRIPTION_CHARS)})
    name, at = skill_name(skill, ""), skill.created_at.isoformat()
    text = write_skill(shown, name)
    return f"/{name}/{NAME}", deep.FileData(content=text, encoding="utf-8", created_at=at, modified_at=at)
