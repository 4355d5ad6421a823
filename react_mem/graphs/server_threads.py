"""Server threads of one user: found and deleted through the server's own API, in its process."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from httpx import HTTPStatusError
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, empty_checkpoint
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.schema import RunStatus, Thread

from react_mem.graphs.auth.permissions import OWNER

_PAGE = 100

_GOING_ON: tuple[RunStatus, ...] = ("pending", "running")


class ServerThreads(BaseCheckpointSaver[Any]):
    """The server's threads of one user, with the methods of a checkpointer that forgetting calls.

    The server checks no permissions in its own process, so the owner of a thread is checked here.

    Args:
        client: The server's API.
        user_id: The user.
        authenticates: True if the owner in a thread's metadata was authenticated: a thread that is noted as the user's
            but names another owner is then left alone.
    """

    def __init__(self, client: LangGraphClient, user_id: str, *, authenticates: bool) -> None:
        super().__init__()
        self._client = client
        self._user_id = user_id
        self._authenticates = authenticates

    async def athreads_of(self, user_id: str, thread_id: str | None = None) -> list[str]:
        """Return the user's threads by their metadata; with `thread_id`, that thread alone if it is one."""
        if thread_id is not None:
            thread = await self._thread(thread_id)
            return [thread_id] if thread is not None and _owner(thread) == user_id else []
        found: dict[str, None] = {}
        while True:
            page = await self._client.threads.search(
                metadata={OWNER: user_id}, select=["thread_id"], limit=_PAGE, offset=len(found)
            )
            before = len(found)
            found |= dict.fromkeys(thread["thread_id"] for thread in page)
            if len(page) < _PAGE or len(found) == before:
                return [*found]

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread with its runs and its state; a missing thread, or another user's, is skipped."""
        if not await self._is_theirs(thread_id):
            return
        for status in _GOING_ON:
            for run in await self._client.runs.list(thread_id, status=status, limit=_PAGE):
                # what goes on would be remembered after everything is forgotten
                await _unless_gone(self._client.runs.cancel(thread_id, run["run_id"], wait=True))
        await _unless_gone(self._client.threads.delete(thread_id))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return an empty state if the user has such a thread, else None."""
        there = await self._is_theirs(str(config["configurable"]["thread_id"]))
        return CheckpointTuple(config, empty_checkpoint(), {}) if there else None

    async def _is_theirs(self, thread_id: str) -> bool:
        thread = await self._thread(thread_id)
        return thread is not None and (_owner(thread) in (None, self._user_id) or not self._authenticates)

    async def _thread(self, thread_id: str) -> Thread | None:
        try:
            # a conversation of a terminal, or of another application, is none of the server's
            UUID(thread_id)
        except ValueError:
            return None
        found: Thread | None = await _unless_gone(self._client.threads.get(thread_id))
        return found


def _owner(thread: Thread) -> Any:
    return (thread["metadata"] or {}).get(OWNER)


async def _unless_gone(asked: Any) -> Any:
    """Return the server's answer, or None if the resource is gone."""
    try:
        return await asked
    except HTTPStatusError as error:
        if error.response.status_code not in (404, 409):
            raise
        return None
