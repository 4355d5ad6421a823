"""The memory layer: one facade over seven scopes, a policy for each flow, on any LangGraph store.

>>> from react_mem.memory import MemoryPolicy
>>> MemoryPolicy().use_semantic
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.memory.adapters.middleware import MemoryMiddleware
    from react_mem.memory.facade import MemoryFacade
    from react_mem.memory.interface import (
        Memory,
        MemoryPolicy,
        MemoryQuery,
        MemoryResultItem,
        MemoryResults,
        MemoryScope,
        MemoryWriteEvent,
    )
    from react_mem.memory.opening import open_memory
    from react_mem.memory.receipts import Receipt
    from react_mem.memory.records import Episode, Fact, Message, Profile, Record, Summary
    from react_mem.memory.storage.settings import StorageSettings

__all__ = [
    "Episode",
    "Fact",
    "Memory",
    "MemoryFacade",
    "MemoryMiddleware",
    "MemoryPolicy",
    "MemoryQuery",
    "MemoryResultItem",
    "MemoryResults",
    "MemoryScope",
    "MemoryWriteEvent",
    "Message",
    "Profile",
    "Receipt",
    "Record",
    "StorageSettings",
    "Summary",
    "open_memory",
]

__getattr__, __dir__ = door(
    __name__,
    {
        "Episode": "react_mem.memory.records",
        "Fact": "react_mem.memory.records",
        "Memory": "react_mem.memory.interface",
        "MemoryFacade": "react_mem.memory.facade",
        "MemoryMiddleware": "react_mem.memory.adapters.middleware",
        "MemoryPolicy": "react_mem.memory.interface",
        "MemoryQuery": "react_mem.memory.interface",
        "MemoryResultItem": "react_mem.memory.interface",
        "MemoryResults": "react_mem.memory.interface",
        "MemoryScope": "react_mem.memory.interface",
        "MemoryWriteEvent": "react_mem.memory.interface",
        "Message": "react_mem.memory.records",
        "Profile": "react_mem.memory.records",
        "Receipt": "react_mem.memory.receipts",
        "Record": "react_mem.memory.records",
        "StorageSettings": "react_mem.memory.storage.settings",
        "Summary": "react_mem.memory.records",
        "open_memory": "react_mem.memory.opening",
    },
)
