"""Memory search behind LangChain's retriever interface."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, SkipValidation

from react_mem.memory import MemoryFacade, MemoryQuery, MemoryResultItem, MemoryScope
from react_mem.memory.records import origin_of, run_blocking


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
                # documents are what answers the query, and nobody has compared these with it
                extra={"turns": 0},
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
