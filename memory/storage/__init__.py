"""Where memories are kept: PostgreSQL with pgvector, embedded or given, behind LangGraph's store interface."""

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.errors import StorageError
    from react_mem.memory.storage.server import Storage, open_storage, open_store
    from react_mem.memory.storage.settings import StorageSettings

__all__ = ["Storage", "StorageError", "StorageSettings", "open_storage", "open_store"]

__getattr__, __dir__ = door(
    __name__,
    {
        "Storage": "react_mem.memory.storage.server",
        "StorageError": "react_mem.errors",
        "StorageSettings": "react_mem.memory.storage.settings",
        "open_storage": "react_mem.memory.storage.server",
        "open_store": "react_mem.memory.storage.server",
    },
)
