"""Memory behind the interfaces of others: LangChain's agents, histories and retrievers, vector stores, Acontext.

Each is imported when it is first used, so that one does not need what another one does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory.adapters.acontext import AcontextSkills
    from memory.adapters.history import MemoryChatHistory
    from memory.adapters.middleware import MemoryMiddleware
    from memory.adapters.retriever import MemoryRetriever
    from memory.adapters.vector_settings import VectorIndexSettings, open_vector_index
    from memory.adapters.vectorstore import VectorIndexedStore, with_vector_index

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

_MODULES = {
    "AcontextSkills": "acontext",
    "MemoryChatHistory": "history",
    "MemoryMiddleware": "middleware",
    "MemoryRetriever": "retriever",
    "VectorIndexSettings": "vector_settings",
    "VectorIndexedStore": "vectorstore",
    "open_vector_index": "vector_settings",
    "with_vector_index": "vectorstore",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
