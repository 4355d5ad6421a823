"""Conversations of a user in the terminal: the last one goes on, and all of them can be forgotten."""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime
from typing import Any

from react_mem.agents.terminal.render import Agent
from react_mem.integrations.coding_hooks.owed_notes import forget_owed
from react_mem.memory import MemoryFacade, Receipt
from react_mem.memory.runtime import terminal_namespace
from react_mem.memory.turns import conclude_soon

_LAST = "last"


class Sessions:
    """The terminal conversations of one user with one agent."""

    def __init__(self, agent: Agent, name: str, user_id: str) -> None:
        self._agent = agent
        self._store: Any = agent.store
        self._user_id = user_id
        self._namespace = terminal_namespace(user_id, name)

    async def last(self) -> tuple[str, list[str]]:
        """Return the last conversation, which goes on, and the user's messages in it."""
        item = await self._store.aget(self._namespace, _LAST)
        if item is None:
            return await self.new(), []
        thread_id = str(item.value["thread_id"])
        state = await self._agent.aget_state({"configurable": {"thread_id": thread_id}})
        return thread_id, [message.text for message in state.values.get("messages", []) if message.type == "human"]

    async def new(self) -> str:
        """Begin a conversation; return its thread."""
        thread_id = str(uuid.uuid4())
        # kept one by one: an agent without memory leaves no other trace of whose a thread is
        for key in (thread_id, _LAST):
            value = {"thread_id": thread_id, "started": datetime.now(UTC).isoformat()}
            await self._store.aput(self._namespace, key, value, index=False)
        return thread_id

    async def end(self, thread_id: str) -> None:
        """End a conversation: its outcome is remembered behind the next one."""
        await conclude_soon(self._store, self._user_id, thread_id)

    async def forget(self) -> Receipt:
        """Forget everything about the user (memories, threads and their list, with every agent); return the receipt."""
        checkpointer: Any = self._agent.checkpointer
        erased = await MemoryFacade(self._store, checkpointer=checkpointer).forget_user(self._user_id)
        await asyncio.to_thread(forget_owed, self._user_id)
        return erased.receipt
