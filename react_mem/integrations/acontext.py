"""Bridges to Acontext: skills shared with a learning space, and conversations exported for learning.

| Here | There |
| --- | --- |
| a skill | a ZIP of files with a `SKILL.md` (see `integrations.skill_files`) |
| a conversation of a user | a session, under an id made of both, which names neither |
| the words of the user and the assistant | its messages |
| an episode of the conversation | a task: its description, progress, preferences and status |

Facts, profiles and summaries stay here; files and events of a session stay there.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import io
import uuid
import zipfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import chain
from sys import maxsize
from typing import Any, Self

from react_mem.integrations.skill_files import NAME, read_skills, skill_name, write_skill
from react_mem.integrations.skill_folders import SkillImport, owned_skills, take_in_skills
from react_mem.memory import MemoryFacade, Origin

MARK = "react_mem"  # Metadata key of our sessions, messages and skills there
AGENT = "acontext"  # Agent id of imported skills and episodes
_SPACE = uuid.UUID("6d0c9a5e-4f39-5a55-8f0e-1f5d1c8f7b52")
_PAGE = 100
_OVER = frozenset({"success", "failed"})  # Final statuses of a task


class _Connected:
    def __init__(self, client: Any, space_id: str | None = None) -> None:
        self._client = client
        self._space_id = space_id

    @classmethod
    @asynccontextmanager
    async def connect(
        cls, space_id: str | None = None, *, api_key: str | None = None, base_url: str | None = None
    ) -> AsyncIterator[Self]:
        """Open a client, and close it afterwards; ImportError without the package, ValueError without a key."""
        try:
            make: Any = importlib.import_module("acontext").AcontextAsyncClient
        except ImportError:
            raise ImportError("Acontext needs its client: install it with `pip install acontext`") from None
        async with make(api_key=api_key, base_url=base_url) as client:
            # skills have no default
            yield cls(client) if space_id is None else cls(client, space_id)


def _pseudonym(user_id: str) -> str:
    return hashlib.sha256(f"react-mem:{user_id}".encode()).hexdigest()[:32]


@dataclass(frozen=True)
class SkillExport:
    """Numbers of the skills that an export added, replaced, kept unchanged, and removed, since they are gone here."""

    added: int = 0
    replaced: int = 0
    kept: int = 0
    removed: int = 0


class AcontextSkills(_Connected):
    """The skills of one learning space.

    Every reader of a space sees the exported skills: give each user a space of their own, unless they agree to share.
    Exported skills outlive `forget_user` and `delete_session` here: export again, or withdraw.

    Args:
        client: An `acontext.AcontextAsyncClient`.
    """

    def __init__(self, client: Any, space_id: str) -> None:
        super().__init__(client, space_id)

    async def export_skills(self, memory: MemoryFacade, user_id: str) -> SkillExport:
        """Make the space hold a user's skills as they are now; archived and deleted ones are removed.

        An interrupted export can be repeated. Skills of others are not touched, and the space does not learn the user's
        name. Additions of Acontext's agents to one of our skills are lost when we replace it: import before you export.
        """
        owner = _pseudonym(user_id)
        there = await self._ours(owner)
        added = replaced = kept = removed = 0
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
        for copy in chain(*there.values()):
            await self._client.skills.delete(str(copy.id))
            removed += 1
        return SkillExport(added, replaced, kept, removed)

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
        copies = list(chain(*(await self._ours(_pseudonym(user_id))).values()))
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
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            await asyncio.to_thread(archive.writestr, f"{name}/{NAME}", text)
        file = (f"{name}.zip", packed.getvalue(), "application/zip")
        made = await self._client.skills.create(file=file, meta=meta)
        try:
            await self._client.learning_spaces.include_skill(self._space_id, skill_id=made.id)
        except BaseException:
            # one that is in no space would never be found again
            await self._client.skills.delete(made.id)
            raise


# Conversations, and the tasks in them.


@dataclass(frozen=True)
class SessionExport:
    """Result of an export: the session there, and the numbers of sent messages and of earlier ones."""

    session_id: str
    sent: int = 0
    kept: int = 0


class AcontextSessions(_Connected):
    """The conversations of a project's users, as sessions.

    Every reader of the project sees the exported messages, and they outlive `forget_user` and `delete_session` here:
    withdraw them. Lessons that Acontext has learnt by then stay in the space.

    Args:
        client: An `acontext.AcontextAsyncClient`.
        space_id: The learning space that learns from the sessions; None for no learning.
    """

    async def export_session(self, memory: MemoryFacade, user_id: str, session_id: str) -> SessionExport:
        """Export the messages of a conversation; an interrupted export can be repeated.

        New messages are added. If a sent message was forgotten or changed here, the session is made anew. Tool calls,
        thoughts of the agent and the name of the user are not sent.
        """
        there = self._id(user_id, session_id)
        said = (await memory.dialog.get_context(user_id, session_id, maxsize)).messages
        spoken = [message for message in said if message.text]
        wanted = [{"id": one.id, "digest": hashlib.sha256(one.text.encode()).hexdigest()} for one in spoken]
        sent = await self._sent(there)
        if sent is not None and sent != wanted[: len(sent)]:
            await self._client.sessions.delete(there)
            sent = None
        if sent is None:
            owner = _pseudonym(user_id)
            await self._client.sessions.create(user=owner, configs={MARK: owner}, use_uuid=there)
        kept = len(sent or ())
        for message, mark in zip(spoken[kept:], wanted[kept:], strict=True):
            role = "user" if message.role == "user" else "assistant"
            blob = {"role": role, "content": message.text}
            await self._client.sessions.store_message(there, blob=blob, meta={MARK: mark})
        if self._space_id is not None and kept < len(wanted):
            await self._client.learning_spaces.learn(self._space_id, session_id=there)
        return SessionExport(there, len(wanted) - kept, kept)

    async def import_tasks(self, memory: MemoryFacade, user_id: str, session_id: str) -> int:
        """Record the finished tasks that Acontext found in a conversation as episodes; return their number."""
        there = self._id(user_id, session_id)
        over = [task async for task in self._pages("get_tasks", there) if task.status in _OVER]
        for task in over:
            await memory.episodic.record(
                task.data.task_description,
                user_id=user_id,
                session_id=session_id,
                agent_id=AGENT,
                steps=tuple(task.data.progresses or ()),
                lessons=tuple(task.data.user_preferences or ()),
                outcome=task.status,
                origin=Origin.TOOL,
                source_ids=(f"{AGENT}-{task.id}",),
            )
        return len(over)

    async def withdraw_session(self, user_id: str, session_id: str) -> bool:
        """Delete the session of a conversation, and return true if there was one."""
        there = self._id(user_id, session_id)
        if await self._sent(there) is None:
            return False
        await self._client.sessions.delete(there)
        return True

    async def withdraw_user(self, user_id: str) -> int:
        """Delete all sessions of a user, and return their number."""
        ours = {MARK: _pseudonym(user_id)}
        gone = 0
        while found := (await self._client.sessions.list(limit=_PAGE, filter_by_configs=ours)).items:
            for session in found:
                await self._client.sessions.delete(session.id)
            gone += len(found)
        return gone

    def _id(self, user_id: str, session_id: str) -> str:
        return str(uuid.uuid5(_SPACE, f"{_pseudonym(user_id)}\x1f{session_id}"))

    async def _sent(self, there: str) -> list[dict[str, str]] | None:
        """Return the marks of the sent messages, in order; None without such a session."""
        try:
            return [meta.get(MARK, {}) async for meta in self._pages("get_messages", there)]
        except Exception as error:
            if getattr(error, "status_code", None) != 404:
                raise
            return None

    async def _pages(self, method: str, there: str) -> AsyncIterator[Any]:
        cursor: str | None = None
        while True:
            page = await getattr(self._client.sessions, method)(there, limit=_PAGE, cursor=cursor, time_desc=False)
            for one in page.metas if method == "get_messages" else page.items:
                yield one
            if not page.has_more:
                return
            cursor = page.next_cursor
