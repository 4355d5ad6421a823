"""Agents: configs, models, managers by name, and opening."""

from __future__ import annotations

from typing import TYPE_CHECKING

from react_mem._lazy import door

if TYPE_CHECKING:
    from react_mem.agents.agent_opening import open_agent as open_agent
    from react_mem.agents.config import AgentConfig as AgentConfig
    from react_mem.agents.config import available_agents as available_agents
    from react_mem.agents.config import load_agent_config as load_agent_config
    from react_mem.agents.context import AgentContext as AgentContext
    from react_mem.errors import AgentConfigError as AgentConfigError
else:
    __getattr__, __dir__, __all__ = door(__name__)
