"""Who runs: agent configs, their models, the managers by name, opening an agent."""

from agents.config import AgentConfig, AgentConfigError, available_agents, load_agent_config
from agents.context import AgentContext
from agents.opening import open_agent

__all__ = ["AgentConfig", "AgentConfigError", "AgentContext", "available_agents", "load_agent_config", "open_agent"]
