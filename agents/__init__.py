"""Who runs: agent configs, their models, the managers by name, opening an agent."""

from react_mem_start import check_packages

check_packages()  # before the imports that a shadowed package would break or, worse, satisfy

from agents.config import AgentConfig, AgentConfigError, available_agents, load_agent_config
from agents.context import AgentContext
from agents.opening import open_agent

__all__ = ["AgentConfig", "AgentConfigError", "AgentContext", "available_agents", "load_agent_config", "open_agent"]
