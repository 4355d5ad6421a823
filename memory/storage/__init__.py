"""Where memories are kept: PostgreSQL with pgvector, embedded or given, behind LangGraph's store interface."""

from memory.storage.errors import StorageError
from memory.storage.server import Storage, open_storage, open_store
from memory.storage.settings import StorageSettings

__all__ = ["Storage", "StorageError", "StorageSettings", "open_storage", "open_store"]
