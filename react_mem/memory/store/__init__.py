"""Storage of memories: PostgreSQL with pgvector, embedded or given, behind LangGraph's store interface."""

from react_mem.errors import StorageError as StorageError
from react_mem.memory.store.storage_settings import StorageSettings as StorageSettings
