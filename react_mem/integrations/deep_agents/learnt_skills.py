"""`LearntSkillsBackend`: the skills that agents have learnt, as skill files for Deep Agents.

backend = CompositeBackend(default=MemoryFilesBackend(), routes={"/skills/learnt/": LearntSkillsBackend()})
agent = create_deep_agent(model, backend=backend, skills=["/skills/", "/skills/learnt/"], store=store)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from langgraph.store.base import BaseStore

from react_mem.integrations.deep_agents import package as deep
from react_mem.integrations.deep_agents.owned_files import Contents, FileOwner, KeptFile
from react_mem.integrations.deep_agents.reading_backend import ReadingBackend
from react_mem.integrations.skills.skill_files import NAME, skill_name, write_skill
from react_mem.memory import Skill
from react_mem.memory.records import KINDS, AgentFile, checked, in_any_order
from react_mem.memory.turns import flat

SKILL = KINDS["skill"]

_READ_ONLY = "Error: what is learnt is read-only here: it changes with what comes of following it"

_DESCRIPTION_CHARS = 300
"""Characters of a skill's description, which stands in the system prompt of every turn."""


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

    @checked()
    def __init__(self, *, store: BaseStore | None = None, user_id: str | None = None) -> None:
        super().__init__(store, user_id)

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
