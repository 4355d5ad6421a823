"""Memory behind the interfaces of others: LangChain's agents, histories and retrievers, vector stores, Acontext.

Each is imported when it is first used, so that one does not need what another one does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.memory.adapters.acontext import AcontextSkills
    from react_mem.memory.adapters.history import MemoryChatHistory
    from react_mem.memory.adapters.middleware import MemoryMiddleware
    from react_mem.memory.adapters.retriever import MemoryRetriever
    from react_mem.memory.adapters.vector_settings import VectorIndexSettings, open_vector_index
    from react_mem.memory.adapters.vectorstore import VectorIndexedStore, with_vector_index

__all__ = [
    "AcontextSkills",
    "MemoryChatHistory",
    "MemoryMiddleware",
    "MemoryRetriever",
    "VectorIndexSettings",
    "VectorIndexedStore",
    "open_vector_index",
    "with_vector_index",
]

__getattr__, __dir__ = door(
    __name__,
    {
        "AcontextSkills": "react_mem.memory.adapters.acontext",
        "MemoryChatHistory": "react_mem.memory.adapters.history",
        "MemoryMiddleware": "react_mem.memory.adapters.middleware",
        "MemoryRetriever": "react_mem.memory.adapters.retriever",
        "VectorIndexSettings": "react_mem.memory.adapters.vector_settings",
        "VectorIndexedStore": "react_mem.memory.adapters.vectorstore",
        "open_vector_index": "react_mem.memory.adapters.vector_settings",
        "with_vector_index": "react_mem.memory.adapters.vectorstore",
    },
)
