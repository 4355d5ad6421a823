"""Memory of an agent, opened without its graph: what tells turns in an agent's place drives it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from langgraph.store.base import BaseStore

from react_mem.agents.config import AgentConfig, load_agent
from react_mem.agents.resolve import ResolvedAgent, build_agent, resolve_agent
from react_mem.errors import AgentConfigError
from react_mem.memory import StorageSettings
from react_mem.memory.runtime import open_storage
from react_mem.memory.turns import AgentMemory


@dataclass(frozen=True)
class OpenAgentMemory:
    """Memory of one agent, whoever its users are.

    Args:
        agent: The agent's memory.
        store: Where it is.
    """

    agent: AgentMemory
    store: BaseStore


@asynccontextmanager
async def open_agent_memory(agent: str) -> AsyncIterator[OpenAgentMemory]:
    """Open the memory of an agent, and do the work behind its turns as long as it is open.

    Args:
        agent: The name of its config, or the path of a YAML file.

    Yields:
        The memory.

    Raises:
        ReactMemError: If the agent cannot be loaded or the database cannot be opened; the message names the cure.
    """
    config, resolved, remembering = await asyncio.to_thread(_load, agent)
    settings = StorageSettings.from_env()
    if config.models.embedding != "auto":
        settings = settings.model_copy(update={"embedding": config.models.embedding})
    async with open_storage(settings) as storage:
        # who does the work behind the turns is said where the graph is built
        await asyncio.to_thread(build_agent, resolved, store=storage.memory, checkpointer=storage.checkpointer)
        # loaded by its first text, for which no prompt is to wait
        await storage.embedding.embeddings.aembed_query("warm")
        async with resolved.work.running(storage.memory, storage.checkpointer):
            yield OpenAgentMemory(remembering, storage.memory)


def _load(agent: str) -> tuple[AgentConfig, ResolvedAgent, AgentMemory]:
    config = load_agent(agent)
    if config.manager != "react_mem":
        raise AgentConfigError(
            f"the agent {config.name} has the manager {config.manager}, which remembers nothing; name one of react_mem "
            "by --agent"
        )
    resolved = resolve_agent(config)
    return config, resolved, resolved.remembering()
