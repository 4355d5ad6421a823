"""Memory behind the interfaces of others: LangChain's agents and Deep Agents, histories, vector stores, Acontext.

Each is imported when it is first used, so that one does not need what another one does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.memory.adapters.acontext import AcontextSkills as AcontextSkills
    from react_mem.memory.adapters.acontext_sessions import AcontextSessions as AcontextSessions
    from react_mem.memory.adapters.deep_agents.files_backend import MemoryFilesBackend as MemoryFilesBackend
    from react_mem.memory.adapters.deep_agents.learnt_skills import LearntSkillsBackend as LearntSkillsBackend
    from react_mem.memory.adapters.deep_agents.search_middleware import FileSearchMiddleware as FileSearchMiddleware
    from react_mem.memory.adapters.history import MemoryChatHistory as MemoryChatHistory
    from react_mem.memory.adapters.middleware import MemoryMiddleware as MemoryMiddleware
    from react_mem.memory.adapters.retriever import MemoryRetriever as MemoryRetriever
    from react_mem.memory.adapters.vector_settings import VectorIndexSettings as VectorIndexSettings
    from react_mem.memory.adapters.vector_settings import open_vector_index as open_vector_index
    from react_mem.memory.adapters.vectorstore import VectorIndexedStore as VectorIndexedStore
    from react_mem.memory.adapters.vectorstore import with_vector_index as with_vector_index
else:
    __getattr__, __dir__, __all__ = door(__name__)
