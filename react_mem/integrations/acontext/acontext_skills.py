"""Skills shared with a learning space of Acontext, in both directions.

    async with AcontextSkills.connect(space_id) as space:      # pip install acontext; ACONTEXT_API_KEY
        await space.export_skills(memory, "ann")
        await space.import_skills(memory, "ann")

Acontext keeps a skill as a ZIP of files with a `SKILL.md`; `integrations.skills.skill_files` describes ours.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import io
import zipfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from react_mem.integrations.skills.skill_files import NAME, read_skills, skill_name, write_skill
from react_mem.integrations.skills.skill_folders import SkillImport, owned_skills, take_in_skills
from react_mem.memory import MemoryFacade

MARK = "react_mem"
"""Metadata key of our sessions, messages and skills there."""

AGENT = "acontext"
"""Agent id of imported skills and episodes."""


class AcontextSkillsApi(Protocol):
    """The used part of `AcontextAsyncClient.skills`."""

    async def create(
        self, *, file: tuple[str, bytes, str], user: str | None = None, meta: Mapping[str, Any] | None = None
    ) -> Any:
        """Create a skill."""

    async def get_file(self, *, skill_id: str, file_path: str) -> Any:
        """Return a file of a skill."""

    async def delete(self, skill_id: str) -> None:
        """Delete a skill."""


class AcontextSpacesApi(Protocol):
    """The used part of `AcontextAsyncClient.learning_spaces`."""

    async def include_skill(self, space_id: str, *, skill_id: str) -> Any:
        """Put a skill into a space."""

    async def list_skills(self, space_id: str) -> Any:
        """Return the skills of a space."""


class AcontextClient(Protocol):
    """The used part of `acontext.AcontextAsyncClient`."""

    @property
    def skills(self) -> AcontextSkillsApi:
        """The skills of the project."""

    @property
    def learning_spaces(self) -> AcontextSpacesApi:
        """Its learning spaces."""


@dataclass(frozen=True)
class SkillExport:
    """Result of an export: numbers of skills.

    Args:
        added: New skills.
        replaced: Changed skills.
        kept: Unchanged skills.
        removed: Skills that are gone or archived here.
    """

    added: int = 0
    replaced: int = 0
    kept: int = 0
    removed: int = 0


class AcontextSkills:
    """The skills of one learning space.

    Every reader of a space sees the exported skills: give each user a space of their own, unless they agree to share.
    Exported skills outlive `forget_user` and `delete_session` here: export again, or withdraw.

    Args:
        client: An `acontext.AcontextAsyncClient`.
    """

    def __init__(self, client: AcontextClient, space_id: str) -> None:
        self._client = client
        self._space_id = space_id

    @classmethod
    @asynccontextmanager
    async def connect(
        cls, space_id: str, *, api_key: str | None = None, base_url: str | None = None
    ) -> AsyncIterator[Self]:
        """Open a client, and close it afterwards; by default with `ACONTEXT_API_KEY` and `ACONTEXT_BASE_URL`.

        Raises:
            ImportError: If the package is not installed.
            ValueError: If there is no key.
        """
        async with opened_client(api_key, base_url) as client:
            yield cls(client, space_id)

    async def export_skills(self, memory: MemoryFacade, user_id: str) -> SkillExport:
        """Make the space hold a user's skills as they are now; archived and deleted ones are removed.

        An interrupted export can be repeated. Skills of others are not touched, and the space does not learn the user's
        name. Additions of Acontext's agents to one of our skills are lost when we replace it: import before you export.
        """
        owner = standing_for(user_id)
        there = await self._ours(owner)
        added = replaced = kept = 0
        for skill in (skill for skill in await owned_skills(memory, user_id) if skill.status != "archived"):
            name = skill_name(skill, owner)
            copies = there.pop(skill.id, [])
            same = next((copy for copy in copies if copy.name == name), None)
            if same is None:
                await self._add(name, write_skill(skill, name), {MARK: {"owner": owner, "skill": skill.id}})
            for copy in copies:
                if copy is not same:
                    await self._client.skills.delete(str(copy.id))
            added += same is None and not copies
            replaced += same is None and bool(copies)
            kept += same is not None
        gone = [copy for copies in there.values() for copy in copies]
        for copy in gone:
            await self._client.skills.delete(str(copy.id))
        return SkillExport(added, replaced, kept, len(gone))

    async def import_skills(self, memory: MemoryFacade, user_id: str) -> SkillImport:
        """Import the skills of the space for a user, on probation; known skills stay unchanged.

        Reads Markdown files: ours, and entries as Acontext writes them, procedures and warnings. Others have written
        them: import only from spaces whose writers you trust to instruct your agent.
        """
        wanted: list[tuple[str, dict[str, Any]]] = []
        skipped: dict[str, str] = {}
        for skill in await self._client.learning_spaces.list_skills(self._space_id):
            for file in skill.file_index:
                place = f"{skill.name}/{file.path}"
                if not file.path.lower().endswith(".md"):
                    skipped[place] = "is not Markdown"
                    continue
                got = await self._client.skills.get_file(skill_id=skill.id, file_path=file.path)
                if got.content is None:
                    skipped[place] = "has no text"
                    continue
                try:
                    found = await asyncio.to_thread(read_skills, got.content.raw)
                except ValueError as error:
                    skipped[place] = str(error)
                    continue
                if not found:
                    skipped[place] = "has no procedure: nothing in it says when it applies"
                wanted += [(place, {**one, "source_ids": (f"{AGENT}-{skill.id}",)}) for one in found]
        outcome = await take_in_skills(memory, user_id, wanted, agent_id=AGENT)
        return replace(outcome, skipped=skipped | outcome.skipped)

    async def withdraw_skills(self, user_id: str) -> int:
        """Delete a user's exported skills from the space, and return their number."""
        copies = [copy for copies in (await self._ours(standing_for(user_id))).values() for copy in copies]
        for copy in copies:
            await self._client.skills.delete(str(copy.id))
        return len(copies)

    async def _ours(self, owner: str) -> dict[str, list[Any]]:
        """Return an owner's exported skills, by our id; an interrupted export leaves two of one."""
        found: dict[str, list[Any]] = {}
        for skill in await self._client.learning_spaces.list_skills(self._space_id):
            mark = (skill.meta or {}).get(MARK)
            if isinstance(mark, Mapping) and mark.get("owner") == owner:
                found.setdefault(str(mark.get("skill")), []).append(skill)
        return found

    async def _add(self, name: str, text: str, meta: Mapping[str, Any]) -> None:
        packed = await asyncio.to_thread(_packed, name, text)
        made = await self._client.skills.create(file=(f"{name}.zip", packed, "application/zip"), meta=meta)
        try:
            await self._client.learning_spaces.include_skill(self._space_id, skill_id=made.id)
        except BaseException:
            # one that is in no space would never be found again
            await self._client.skills.delete(made.id)
            raise


@asynccontextmanager
async def opened_client(api_key: str | None, base_url: str | None) -> AsyncIterator[Any]:
    """Open Acontext's client, and close it afterwards.

    Raises:
        ImportError: If the package is not installed.
        ValueError: If there is no key.
    """
    try:
        make: Any = importlib.import_module("acontext").AcontextAsyncClient
    except ImportError:
        raise ImportError(
            "sharing skills and sessions with Acontext needs its client: install it with `pip install acontext`"
        ) from None
    async with make(api_key=api_key, base_url=base_url) as client:
        yield client


def standing_for(user_id: str) -> str:
    """Return the pseudonym of a user in Acontext."""
    return hashlib.sha256(f"react-mem:{user_id}".encode()).hexdigest()[:32]


def _packed(name: str, text: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}/{NAME}", text)
    return packed.getvalue()
