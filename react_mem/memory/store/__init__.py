"""Storage of memories: PostgreSQL with pgvector, embedded or given, behind LangGraph's store interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.errors import StorageError as StorageError
    from react_mem.memory.store.storage_settings import StorageSettings as StorageSettings
else:
    __getattr__, __dir__, __all__ = door(__name__)
