"""Storage of memories: PostgreSQL with pgvector, embedded or given, behind LangGraph's store interface."""

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.errors import StorageError
    from react_mem.memory.store.settings import StorageSettings

__all__ = ["StorageError", "StorageSettings"]

__getattr__, __dir__ = door(
    __name__,
    {
        "StorageError": "react_mem.errors",
        "StorageSettings": "react_mem.memory.store.settings",
    },
)
