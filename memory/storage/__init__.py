"""Where memories are kept: PostgreSQL with pgvector, embedded or given, behind LangGraph's store interface."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memory.storage.errors import StorageError

if TYPE_CHECKING:
    from memory.storage.server import Storage, open_storage, open_store
    from memory.storage.settings import StorageSettings

__all__ = ["Storage", "StorageError", "StorageSettings", "open_storage", "open_store"]

_MODULES = {
    "Storage": "memory.storage.server",
    "open_storage": "memory.storage.server",
    "open_store": "memory.storage.server",
    "StorageSettings": "memory.storage.settings",
}


def __getattr__(name: str) -> Any:
    # On first use: the store brings LangGraph and a second of imports, which settings and errors do without.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
