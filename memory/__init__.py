"""The memory layer: one facade over seven scopes, a policy for each flow, on any LangGraph store.

>>> from react_mem.memory import MemoryPolicy
>>> MemoryPolicy().recall.semantic
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.memory.adapters.middleware import MemoryMiddleware
    from react_mem.memory.facade import MemoryFacade
    from react_mem.memory.model.interface import (
        Memory,
        MemoryQuery,
        MemoryResultItem,
        MemoryResults,
        MemoryScope,
        MemoryWriteEvent,
    )
    from react_mem.memory.model.policy import MemoryPolicy
    from react_mem.memory.model.receipt import Receipt
    from react_mem.memory.model.records import Episode, Fact, Message, Profile, Record, Summary
    from react_mem.memory.opening import open_memory
    from react_mem.memory.store.settings import StorageSettings

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
        "Episode": "react_mem.memory.model.records",
        "Fact": "react_mem.memory.model.records",
        "Memory": "react_mem.memory.model.interface",
        "MemoryFacade": "react_mem.memory.facade",
        "MemoryMiddleware": "react_mem.memory.adapters.middleware",
        "MemoryPolicy": "react_mem.memory.model.policy",
        "MemoryQuery": "react_mem.memory.model.interface",
        "MemoryResultItem": "react_mem.memory.model.interface",
        "MemoryResults": "react_mem.memory.model.interface",
        "MemoryScope": "react_mem.memory.model.interface",
        "MemoryWriteEvent": "react_mem.memory.model.interface",
        "Message": "react_mem.memory.model.records",
        "Profile": "react_mem.memory.model.records",
        "Receipt": "react_mem.memory.rights.receipts",
        "Record": "react_mem.memory.model.records",
        "StorageSettings": "react_mem.memory.store.settings",
        "Summary": "react_mem.memory.model.records",
        "open_memory": "react_mem.memory.opening",
    },
)
