"""A conversation in memory, behind LangChain's interface of a chat history."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from sys import maxsize

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from react_mem.memory import MemoryFacade, Message
from react_mem.memory.records import run_blocking, said_content


class MemoryChatHistory(BaseChatMessageHistory):
    """The history of one conversation of one user, as `RunnableWithMessageHistory` takes it, sync and async.

        history = MemoryChatHistory(MemoryFacade(store), user_id="ann", session_id="1")

    Messages of the user and the agent are stored with their attachments, and `Memory.read` finds them; tool calls and
    results are not stored. No facts are extracted: an agent with memory does that.

    Args:
        memory: The facade.
        user_id: The owner; a server makes a history for each user, from the authenticated identity.
        session_id: The conversation.
        agent_id: The agent that talks.
        limit_turns: Number of the latest turns in the history; all by default.
    """

    def __init__(
        self,
        memory: MemoryFacade,
        *,
        user_id: str,
        session_id: str,
        agent_id: str = "agent",
        limit_turns: int | None = None,
    ) -> None:
        self._memory = memory
        self._user_id = user_id
        self._session_id = session_id
        self._agent_id = agent_id
        self._limit_turns = limit_turns

    async def aget_messages(self) -> list[BaseMessage]:
        """Return the messages, the newest last."""
        limit = maxsize if self._limit_turns is None else self._limit_turns
        return [await self._as_said(record) for record in await self._said(limit)]

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages at the end, in order; a message without an id is new, and a known one is not added again."""
        said = await self._said(maxsize) if messages else []
        known = {record.id for record in said}
        new = [
            message if message.id else message.model_copy(update={"id": str(uuid.uuid4())})
            for message in messages
            # one that came out of this history has the id of its record
            if message.id is None or message.id not in known
        ]
        await self._memory.dialog.append(self._user_id, self._session_id, new, agent_id=self._agent_id)

    async def aclear(self) -> None:
        """Forget the conversation and everything derived from it alone."""
        await self._memory.delete_session(self._user_id, self._session_id)

    async def _said(self, limit: int) -> list[Message]:
        return (await self._memory.dialog.get_context(self._user_id, self._session_id, limit)).messages

    async def _as_said(self, record: Message) -> BaseMessage:
        content = await said_content(self._memory.store, self._user_id, record)
        kinds: dict[str, type[BaseMessage]] = {"user": HumanMessage, "system": SystemMessage}
        # a tool's message would need the call that it answers; its name says that it was not the model that spoke
        name = record.speaker or ("" if record.role in ("user", "assistant", "system") else record.role)
        return kinds.get(record.role, AIMessage)(content=content, id=record.id, name=name or None)  # type: ignore[arg-type]

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """The messages, the newest last."""
        return run_blocking(self.aget_messages, self._memory.store)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages at the end, as `aadd_messages` does."""
        run_blocking(lambda: self.aadd_messages(messages), self._memory.store)

    def clear(self) -> None:
        """Forget the conversation and everything derived from it alone."""
        run_blocking(self.aclear, self._memory.store)
