"""Memory behind LangChain's interfaces: a chat history and a retriever."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from sys import maxsize
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, SkipValidation

from react_mem.memory import MemoryFacade, MemoryQuery, MemoryResultItem, MemoryScope, Message
from react_mem.memory.records import origin_of, run_blocking, said_content


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


class MemoryRetriever(BaseRetriever):
    """Memories of one user as documents, sync and async.

        retriever = MemoryRetriever(memory=MemoryFacade(store), user_id="ann")
        documents = await retriever.ainvoke("Where do I live?")

    The `metadata` of a document has the memory's `scope`, `kind`, `date`, `session_id` and `source_ids`, its `score`,
    its `similarity` to the query, the contributions of the search's `arms`, and `fragments`: its texts with their
    roles. Parts of memory that could not be searched are in `missing`.

    Args:
        memory: The facade; its policy sets how many memories are found, and how similar.
        user_id: The owner; a server makes a retriever for each user, from the authenticated identity.
        session_id: The current conversation.
        agent_id: The agent that asks.
        scopes: Scopes to search.
        task_type: Narrows skills and experience.
    """

    memory: SkipValidation[MemoryFacade]
    user_id: str = Field(min_length=1, max_length=512)
    session_id: str = Field("retriever", min_length=1, max_length=512)
    agent_id: str = Field("agent", min_length=1, max_length=512)
    scopes: list[MemoryScope] = Field(
        default=[MemoryScope.SEMANTIC, MemoryScope.EPISODIC, MemoryScope.PROCEDURAL, MemoryScope.DIALOG]
    )
    task_type: str | None = None

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return await self._read(query)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return run_blocking(lambda: self._read(query), self.memory.store)

    async def _read(self, query: str) -> list[Document]:
        found = await self.memory.read(
            MemoryQuery(
                user_id=self.user_id,
                session_id=self.session_id,
                agent_id=self.agent_id,
                scopes=self.scopes,
                query=query,
                task_type=self.task_type,
                # only memories that match the query are documents, and not the latest turns
                extra={"turns": 0, "cut": False},
            )
        )
        return [_document(item, found.missing) for item in found]


def _document(item: MemoryResultItem, missing: dict[str, str]) -> Document:
    payload = item.payload
    matched = next((part.content for part in item.fragments if part.id == item.id), None)
    metadata: dict[str, Any] = {
        "scope": str(item.scope),
        "kind": item.source,
        "origin": str(origin_of(payload)),
        "score": item.score,
        "similarity": item.similarity,
        "arms": {str(arm): part for arm, part in item.arms.items()},
        "date": payload.get("created_at"),
        "session_id": payload.get("session_id"),
        "source_ids": list(payload.get("source_ids", ())),
        "fragments": [part.model_dump() for part in item.fragments],
    }
    if item.linked:
        metadata["linked"] = [part.model_dump() for part in item.linked]
    if missing:
        metadata["missing"] = dict(missing)
    return Document(id=item.id, page_content=matched or str(payload.get("text", "")), metadata=metadata)
