"""Memory as middleware of LangChain's agents, and its search in a vector store of LangChain's.

Each is imported when it is first used, so that none needs the packages of another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.memory.adapters.middleware import MemoryMiddleware as MemoryMiddleware
    from react_mem.memory.adapters.vectorstore import VectorIndexedStore as VectorIndexedStore
    from react_mem.memory.adapters.vectorstore import VectorIndexSettings as VectorIndexSettings
    from react_mem.memory.adapters.vectorstore import open_vector_index as open_vector_index
    from react_mem.memory.adapters.vectorstore import with_vector_index as with_vector_index
else:
    __getattr__, __dir__, __all__ = door(__name__)
