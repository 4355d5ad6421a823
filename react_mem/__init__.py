"""A LangGraph agent runtime with two interchangeable managers: `react`, and `react_mem`, which remembers.

`open_agent` opens an agent with its memory; `open_memory` the memory alone, for a graph of your own; `MemoryMiddleware`
adds it to an agent of `langchain.agents.create_agent`. Errors are in `react_mem.errors`; all are `ReactMemError`s.

>>> from react_mem import MemoryScope
>>> MemoryScope.SEMANTIC.value
'semantic'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.agents.config import AgentConfig, available_agents, load_agent_config
    from react_mem.agents.context import AgentContext
    from react_mem.agents.opening import open_agent
    from react_mem.errors import AgentError, ConfigError, ExtractionError, ReactMemError, StorageError
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
    from react_mem.memory.opening import open_memory
    from react_mem.memory.store.settings import StorageSettings

__all__ = [
    "AgentConfig",
    "AgentContext",
    "AgentError",
    "ConfigError",
    "ExtractionError",
    "Memory",
    "MemoryFacade",
    "MemoryMiddleware",
    "MemoryPolicy",
    "MemoryQuery",
    "MemoryResultItem",
    "MemoryResults",
    "MemoryScope",
    "MemoryWriteEvent",
    "ReactMemError",
    "StorageError",
    "StorageSettings",
    "available_agents",
    "load_agent_config",
    "open_agent",
    "open_memory",
]

__getattr__, __dir__ = door(
    __name__,
    {
        "AgentConfig": "react_mem.agents.config",
        "AgentContext": "react_mem.agents.context",
        "AgentError": "react_mem.errors",
        "ConfigError": "react_mem.errors",
        "ExtractionError": "react_mem.errors",
        "Memory": "react_mem.memory.model.interface",
        "MemoryFacade": "react_mem.memory.facade",
        "MemoryMiddleware": "react_mem.memory.adapters.middleware",
        "MemoryPolicy": "react_mem.memory.model.policy",
        "MemoryQuery": "react_mem.memory.model.interface",
        "MemoryResultItem": "react_mem.memory.model.interface",
        "MemoryResults": "react_mem.memory.model.interface",
        "MemoryScope": "react_mem.memory.model.interface",
        "MemoryWriteEvent": "react_mem.memory.model.interface",
        "ReactMemError": "react_mem.errors",
        "StorageError": "react_mem.errors",
        "StorageSettings": "react_mem.memory.store.settings",
        "available_agents": "react_mem.agents.config",
        "load_agent_config": "react_mem.agents.config",
        "open_agent": "react_mem.agents.opening",
        "open_memory": "react_mem.memory.opening",
    },
)
