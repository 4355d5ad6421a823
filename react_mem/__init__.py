"""A LangGraph agent runtime with two interchangeable managers: `react`, and `react_mem`, which remembers.

`open_agent` opens an agent with its memory; `open_memory` the memory alone, for a graph of your own; `MemoryMiddleware`
adds it to an agent of `langchain.agents.create_agent`. Errors are in `react_mem.errors`; all are
`ReactMemError`s, but for pydantic's `ValidationError` where the fields of a model that you make do not fit.

>>> from react_mem import MemoryScope
>>> MemoryScope.SEMANTIC.value
'semantic'
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from react_mem._lazy import door

# Nobody is told that this runs. ONNX Runtime reads its variable when it is loaded (`disable_telemetry_events` comes too
# late), `langgraph` its own when a process of ours starts it.
for _silent in ("ORT_DISABLE_TELEMETRY", "LANGGRAPH_CLI_NO_ANALYTICS", "LANGGRAPH_NO_VERSION_CHECK"):
    os.environ.setdefault(_silent, "1")

if TYPE_CHECKING:
    from react_mem.agents.agent_opening import OpenAgentMemory as OpenAgentMemory
    from react_mem.agents.agent_opening import open_agent as open_agent
    from react_mem.agents.agent_opening import open_agent_memory as open_agent_memory
    from react_mem.agents.config import AgentConfig as AgentConfig
    from react_mem.agents.config import available_agents as available_agents
    from react_mem.agents.config import load_agent_config as load_agent_config
    from react_mem.agents.context import AgentContext as AgentContext
    from react_mem.errors import ConfigError as ConfigError
    from react_mem.errors import ReactMemError as ReactMemError
    from react_mem.errors import StorageError as StorageError
    from react_mem.graphs.memory_router import memory_router as memory_router
    from react_mem.memory import IMemory as IMemory
    from react_mem.memory import Memory as Memory
    from react_mem.memory import MemoryFacade as MemoryFacade
    from react_mem.memory import MemoryMiddleware as MemoryMiddleware
    from react_mem.memory import MemoryPolicy as MemoryPolicy
    from react_mem.memory import MemoryQuery as MemoryQuery
    from react_mem.memory import MemoryResultItem as MemoryResultItem
    from react_mem.memory import MemoryResults as MemoryResults
    from react_mem.memory import MemoryScope as MemoryScope
    from react_mem.memory import MemoryWriteEvent as MemoryWriteEvent
    from react_mem.memory import StorageSettings as StorageSettings
    from react_mem.memory import open_memory as open_memory
    from react_mem.tools.memory_tools import create_manage_memory_tool as create_manage_memory_tool
    from react_mem.tools.memory_tools import create_search_memory_tool as create_search_memory_tool
else:
    __getattr__, __dir__, __all__ = door(__name__)
