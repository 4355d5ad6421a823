"""Agents: their configs and models, the managers by name, opening one."""

from react_mem.agents.agent_opening import open_agent
from react_mem.agents.config import AgentConfig, available_agents, load_agent_config
from react_mem.agents.context import AgentContext
from react_mem.errors import AgentConfigError

__all__ = ["AgentConfig", "AgentConfigError", "AgentContext", "available_agents", "load_agent_config", "open_agent"]
