"""Conversations exported to Acontext for learning, and the tasks that it finds in them.

    async with AcontextSessions.connect(space_id) as sessions:      # pip install acontext; ACONTEXT_API_KEY
        await sessions.export_session(memory, "ann", "monday")
        await sessions.import_tasks(memory, "ann", "monday")

| Here | There |
| --- | --- |
| a conversation of a user | a session, under an id made of both, which names neither |
| the words of the user and the assistant | its messages |
| an episode of the conversation | a task: its description, progress, preferences and status |
| skills | `AcontextSkills` |

Facts, profiles and summaries stay here; files and events of a session stay there.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from sys import maxsize
from typing import Any, Protocol, Self

from react_mem.integrations.acontext.acontext_skills import AGENT, MARK, opened_client, standing_for
from react_mem.memory import MemoryFacade, Message, Origin

_SPACE = uuid.UUID("6d0c9a5e-4f39-5a55-8f0e-1f5d1c8f7b52")
_PAGE = 100
_OVER = frozenset({"success", "failed"})
"""Final statuses of a task."""


class AcontextSessionsApi(Protocol):
    """The used part of `AcontextAsyncClient.sessions`."""

    async def create(
        self, *, user: str | None = None, configs: Mapping[str, Any] | None = None, use_uuid: str | None = None
    ) -> Any:
        """Create a session."""

    async def list(
        self, *, limit: int | None = None, cursor: str | None = None, filter_by_configs: Mapping[str, Any] | None = None
    ) -> Any:
        """Return a page of sessions."""

    async def delete(self, session_id: str) -> None:
        """Delete a session."""

    async def store_message(self, session_id: str, *, blob: Any, meta: dict[str, Any] | None = None) -> Any:
        """Add a message to a session."""

    async def get_messages(
        self, session_id: str, *, limit: int | None = None, cursor: str | None = None, time_desc: bool | None = None
    ) -> Any:
        """Return a page of the messages of a session."""

    async def get_tasks(
        self, session_id: str, *, limit: int | None = None, cursor: str | None = None, time_desc: bool | None = None
    ) -> Any:
        """Return a page of the tasks of a session."""


class AcontextLearningApi(Protocol):
    """The used part of `AcontextAsyncClient.learning_spaces`."""

    async def learn(self, space_id: str, *, session_id: str) -> Any:
        """Have a space learn from a session."""


class AcontextSessionClient(Protocol):
    """The used part of `acontext.AcontextAsyncClient`."""

    @property
    def sessions(self) -> AcontextSessionsApi:
        """The sessions of the project."""

    @property
    def learning_spaces(self) -> AcontextLearningApi:
        """Its learning spaces."""


@dataclass(frozen=True)
class SessionExport:
    """Result of an export.

    Args:
        session_id: The session there.
        sent: Messages that were sent.
        kept: Messages that were there already.
    """

    session_id: str
    sent: int = 0
    kept: int = 0


class AcontextSessions:
    """The conversations of a project's users, as sessions.

    Every reader of the project sees the exported messages, and they outlive `forget_user` and `delete_session` here:
    withdraw them. Lessons that Acontext has learnt by then stay in the space.

    Args:
        client: An `acontext.AcontextAsyncClient`.
        space_id: The learning space that learns from the sessions; None for no learning.
    """

    def __init__(self, client: AcontextSessionClient, space_id: str | None = None) -> None:
        self._client = client
        self._space_id = space_id

    @classmethod
    @asynccontextmanager
    async def connect(
        cls, space_id: str | None = None, *, api_key: str | None = None, base_url: str | None = None
    ) -> AsyncIterator[Self]:
        """Open a client, and close it afterwards; by default with `ACONTEXT_API_KEY` and `ACONTEXT_BASE_URL`.

        Raises:
            ImportError: If the package is not installed.
            ValueError: If there is no key.
        """
        async with opened_client(api_key, base_url) as client:
            yield cls(client, space_id)

    async def export_session(self, memory: MemoryFacade, user_id: str, session_id: str) -> SessionExport:
        """Export the messages of a conversation; an interrupted export can be repeated.

        New messages are added. If a sent message was forgotten or changed here, the session is made anew. Tool calls,
        thoughts of the agent and the name of the user are not sent.
        """
        there = self._id(user_id, session_id)
        said = (await memory.dialog.get_context(user_id, session_id, maxsize)).messages
        spoken = [message for message in said if message.text]
        wanted = list(map(_marked, spoken))
        sent = await self._sent(there)
        if sent is not None and sent != wanted[: len(sent)]:
            await self._client.sessions.delete(there)
            sent = None
        if sent is None:
            owner = standing_for(user_id)
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
        """Record the finished tasks that Acontext has found in an exported conversation, and return their number.

        Unfinished tasks are left for the next time. A task becomes an episode with the origin `tool`, since another
        model wrote it, and its preferences become the lessons.
        """
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
        ours = {MARK: standing_for(user_id)}
        gone = 0
        while found := (await self._client.sessions.list(limit=_PAGE, filter_by_configs=ours)).items:
            for session in found:
                await self._client.sessions.delete(session.id)
            gone += len(found)
        return gone

    def _id(self, user_id: str, session_id: str) -> str:
        return str(uuid.uuid5(_SPACE, f"{standing_for(user_id)}\x1f{session_id}"))

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


def _marked(message: Message) -> dict[str, str]:
    return {"id": message.id, "digest": hashlib.sha256(message.text.encode()).hexdigest()}
