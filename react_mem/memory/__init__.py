"""The memory layer: one facade over seven scopes, a policy for each flow, on any LangGraph store.

>>> from react_mem.memory import MemoryPolicy
>>> MemoryPolicy().recall.semantic
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.memory.adapters.middleware import MemoryMiddleware as MemoryMiddleware
    from react_mem.memory.facade import MemoryFacade as MemoryFacade
    from react_mem.memory.model.interface import IMemory as IMemory
    from react_mem.memory.model.interface import Memory as Memory
    from react_mem.memory.model.interface import MemoryQuery as MemoryQuery
    from react_mem.memory.model.interface import MemoryResultItem as MemoryResultItem
    from react_mem.memory.model.interface import MemoryResults as MemoryResults
    from react_mem.memory.model.interface import MemoryScope as MemoryScope
    from react_mem.memory.model.interface import MemoryWriteEvent as MemoryWriteEvent
    from react_mem.memory.model.operations import Receipt as Receipt
    from react_mem.memory.model.origins import Origin as Origin
    from react_mem.memory.model.policy import MemoryPolicy as MemoryPolicy
    from react_mem.memory.model.profile_schema import Profile as Profile
    from react_mem.memory.model.records import Document as Document
    from react_mem.memory.model.records import Episode as Episode
    from react_mem.memory.model.records import Fact as Fact
    from react_mem.memory.model.records import Message as Message
    from react_mem.memory.model.records import Record as Record
    from react_mem.memory.model.records import Summary as Summary
    from react_mem.memory.model.states import Skill as Skill
    from react_mem.memory.model.views import MemoryDetail as MemoryDetail
    from react_mem.memory.model.views import MemoryItem as MemoryItem
    from react_mem.memory.model.views import MemorySource as MemorySource
    from react_mem.memory.opening import open_memory as open_memory
    from react_mem.memory.store.storage_settings import StorageSettings as StorageSettings
else:
    __getattr__, __dir__, __all__ = door(__name__)
