"""`MemoryFilesBackend`: a Deep Agent's files as memories of its user; `LearntSkillsBackend`: the skills it has learnt.

    agent = create_deep_agent(model, backend=MemoryFilesBackend(), store=store, checkpointer=saver)
    agent.invoke({"messages": [...]}, {"configurable": {"thread_id": "1", "user_id": "ann"}})

    backend = CompositeBackend(default=MemoryFilesBackend(), routes={"/skills/learnt/": LearntSkillsBackend()})
    agent = create_deep_agent(model, backend=backend, skills=["/skills/", "/skills/learnt/"], store=store)

Files outlive the conversation, and like all memories are listed, searched, exported, erased with receipts, and
encrypted. A failing memory fails no turn: every call answers, at least with the reason of its failure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from langgraph.store.base import BaseStore

from react_mem.integrations.deep_agents import package as deep
from react_mem.integrations.deep_agents.owned_files import Contents, FileOwner, KeptFile, OwnedFiles
from react_mem.integrations.deep_agents.reading_backend import ReadingBackend, answered, failing, missing, refusal
from react_mem.integrations.skills.skill_files import NAME, skill_name, write_skill
from react_mem.memory import MemoryFacade, MemoryPolicy, MemoryQuery, MemoryResultItem, MemoryScope, Origin, Skill
from react_mem.memory.records import KINDS, AgentFile, checked, in_any_order, origin_of
from react_mem.memory.turns import flat

_UPLOADED_AT_ONCE = 20  # Files of one batch, whose embeddings are awaited together


def _batches(files: list[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    return (files[start : start + _UPLOADED_AT_ONCE] for start in range(0, len(files), _UPLOADED_AT_ONCE))


def _uploaded(error: str | None, given: Sequence[tuple[str, bytes]]) -> list[deep.FileUploadResponse]:
    return [deep.FileUploadResponse(path=path, error=refusal(path) or error) for path, _ in given]


def _unsearched(error: str, *_: Any, **__: Any) -> tuple[list[FoundFile], str]:
    return [], error


class MemoryFilesBackend(ReadingBackend):
    """Files of a Deep Agent as memories of its user.

    The owner follows from the run, as with `MemoryMiddleware`: the server's authenticated user, else `user_id` in the
    run's context or under `configurable`; never from a path or a model. Two users never see each other's files.
    Without a user nothing is stored, and every call says so.

    A text is found by hybrid search (see `FileSearchMiddleware`), up to the limit of `memory.index.entries`; a binary
    file by its path. Files by an agent have the origin `assistant`, uploads `import`: neither teaches facts about the
    user. A file that one conversation alone wrote is erased with it.

    Both `invoke` and `ainvoke` work, with any store: see `memory.adapters.blocking`.

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

    @checked()
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

    def _files(self, owner: FileOwner) -> OwnedFiles:
        return OwnedFiles(owner, self._agent_id, self._policy, self._folder)

    @answered(failing(deep.WriteResult, "Error: "))
    async def _write(self, files: OwnedFiles, file_path: str, content: str) -> deep.WriteResult:
        """Write or overwrite a whole file."""
        origin = Origin.ASSISTANT if files.owner.in_run else Origin.IMPORT
        await files.put({file_path: Contents(content)}, origin)
        return deep.WriteResult(path=file_path)

    write, awrite = _write

    @answered(failing(deep.EditResult, "Error: "))
    async def _edit(
        self, files: OwnedFiles, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> deep.EditResult:
        """Replace a text in the current version of a file."""
        change = partial(_replaced, old=old_string, new=new_string, everywhere=replace_all)
        outcome = await files.edit(file_path, change)
        if outcome is None:
            return deep.EditResult(error=f"Error: {missing(file_path)}")
        if isinstance(outcome, str):
            return deep.EditResult(error=outcome)
        return deep.EditResult(path=file_path, occurrences=outcome)

    edit, aedit = _edit

    @answered(failing(deep.DeleteResult, "Error: "))
    async def _delete(self, files: OwnedFiles, file_path: str) -> deep.DeleteResult:
        """Remove a file, or a folder with all files below it."""
        if not await files.remove(file_path):
            return deep.DeleteResult(error=f"Error: {missing(file_path)}")
        return deep.DeleteResult(path=file_path)

    delete, adelete = _delete

    @answered(_uploaded)
    async def _upload(self, files: OwnedFiles, given: Sequence[tuple[str, bytes]]) -> list[deep.FileUploadResponse]:
        fit = [(path, data) for path, data in given if refusal(path) is None]
        contents = await asyncio.to_thread(lambda: {path: Contents.of(data) for path, data in fit})
        if contents:
            await files.put(contents, Origin.IMPORT)
        return _uploaded(None, given)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[deep.FileUploadResponse]:
        """Write files; texts are indexed for search, binary files are only stored."""
        return [told for batch in _batches(files) for told in self._upload.sync(self, batch)]

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[deep.FileUploadResponse]:
        """Write files; texts are indexed for search, binary files are only stored."""
        return [told for batch in _batches(files) for told in await self._upload.later(self, batch)]

    @answered(_unsearched)
    async def _search(self, files: OwnedFiles, query: str, limit: int = 8) -> tuple[list[FoundFile], str]:
        """Return the files that match a query by meaning and words, the best first, and the problems of the search."""
        return await search_files(files, self._policy, query, limit)

    search_files, asearch_files = _search


def _replaced(text: str, *, old: str, new: str, everywhere: bool) -> tuple[int | str, str | None]:
    """Return the number of replacements, or the error, and the new text."""
    done = deep.perform_string_replacement(text, old, new, everywhere)
    if isinstance(done, str) and "\r\n" in text and "\n" in old and "\r" not in old:
        # a file with Windows' line ends is read with plain ones, and stays as it is
        old, new = (one.replace("\r\n", "\n").replace("\n", "\r\n") for one in (old, new))
        done = deep.perform_string_replacement(text, old, new, everywhere)
    return (done, None) if isinstance(done, str) else (done[1], done[0])


# Hybrid search in an owner's files, with the matching passage and its lines.

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


async def search_files(files: OwnedFiles, policy: MemoryPolicy, query: str, limit: int) -> tuple[list[FoundFile], str]:
    """Return the matching files, the best first, and the problems of the search; ValueError for a blank query."""
    if not query.strip():
        raise ValueError("say what to look for, in a few words")
    wanted = max(limit, 1) * (_SPARE if files.folder else 1)
    recall = policy.recall.model_copy(update={"max_memories": wanted})
    owner = files.owner
    found = await MemoryFacade(owner.store, policy.model_copy(update={"recall": recall})).read(
        MemoryQuery(
            user_id=owner.user_id,
            session_id=owner.session_id or _OUTSIDE,
            agent_id=files.agent_id,
            scopes=[MemoryScope.FILES],
            query=query,
            # a search by the agent shows the nearest files, even distant ones
            extra={"cut": False},
        )
    )
    inside = [item for item in found if str(item.payload.get("path")).startswith(f"{files.folder}/")]
    # LangGraph's own stores list unindexed items after the hits
    hits = [item for item in inside if item.payload.get("text") or item.payload.get("keywords")][:limit]
    shown = await asyncio.to_thread(lambda: [_found(item, len(files.folder)) for item in hits])
    return shown, "; ".join(f"{arm}: {cause}" for arm, cause in found.missing.items())


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
        origin=origin_of(value),
        modified_at=str(value.get("modified_at") or ""),
    )


# `LearntSkillsBackend`: the skills that agents have learnt, as skill files for Deep Agents.

SKILL = KINDS["skill"]

_READ_ONLY = "Error: what is learnt is read-only here: it changes with what comes of following it"
_DESCRIPTION_CHARS = 300  # Characters of a skill's description, which stands in the system prompt of every turn


class LearntSkills:
    """An owner's active skills, each a folder with its `SKILL.md`."""

    def __init__(self, owner: FileOwner) -> None:
        self._owner = owner

    async def get(self, paths: Sequence[str]) -> list[KeptFile | None]:
        """Return files by their paths, None for a missing one."""
        kept = {file.path: file for file in await self._all()} if paths else {}
        return [kept.get(AgentFile.file_path(path)) for path in paths]

    async def every(self, below: str = "/") -> AsyncIterator[list[KeptFile]]:
        """Yield the file at a path and all files below it."""
        at = AgentFile.clean_path(below)
        within = at if at == "/" else f"{at}/"
        yield [file for file in await self._all() if file.path == at or file.path.startswith(within)]

    async def _all(self) -> list[KeptFile]:
        namespace = SKILL.namespace(self._owner.user_id)
        pages = [page async for page in in_any_order(self._owner.store, namespace)]
        return await asyncio.to_thread(
            lambda: [
                _as_file(Skill.from_value(item.value))
                for page in pages
                for item in page
                # a skill on probation has not proved itself yet
                if SKILL.matches(item.value) and item.value.get("status") == "active"
            ]
        )


class LearntSkillsBackend(ReadingBackend):
    """The skills that a user's agents have learnt, read-only: `/<name>/SKILL.md` each, behind a route.

    Active skills are shown; skills on probation and archived ones are not. Their owner follows from the run, as with
    `MemoryFilesBackend`.

    Args:
        store: The store; by default the agent's.
        user_id: The owner, if the application names one.
    """

    def _files(self, owner: FileOwner) -> LearntSkills:
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


def _as_file(skill: Skill) -> KeptFile:
    # when it applies may be in words of a user's: one line of them, which can pass for nothing else in a prompt
    shown = skill.model_copy(update={"use_when": flat(skill.use_when, _DESCRIPTION_CHARS)})
    name = skill_name(skill, "")
    at = skill.created_at.isoformat()
    return KeptFile(f"/{name}/{NAME}", Contents(write_skill(shown, name)), at, at, skill.origin)
