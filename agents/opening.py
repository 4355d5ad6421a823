"""Running an agent from Python: the graph, with its store and its checkpointer opened and closed for the caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from agents.config import AgentConfig, load_agent_config, load_agent_config_file
from agents.resolve import build_agent, resolve_agent
from memory.background import background
from memory.storage import StorageSettings, open_storage


@asynccontextmanager
async def open_agent(
    agent: str | Path | AgentConfig,
    *,
    model: BaseChatModel | None = None,
    tools: Sequence[BaseTool] = (),
    response_format: Any = None,
    store: BaseStore | None = None,
    checkpointer: Checkpointer = None,
    settings: StorageSettings | None = None,
) -> AsyncIterator[CompiledStateGraph[Any, Any, Any, Any]]:
    """Open an agent, ready to `ainvoke` and `astream` (it is async only: so are its store and its checkpointer).

        async with open_agent("assistant") as agent:
            await agent.ainvoke(
                {"messages": [{"role": "user", "content": "I live in Hue."}]},
                context={"user_id": "ann"},
                config={"configurable": {"thread_id": "1"}},
            )

    Args:
        agent: The name of a config, the path of a YAML file, or a config.
        model: A chat model instead of the config's.
        tools: Tools beside the config's.
        response_format: A schema for the answer, as in `langchain.agents.create_agent`.
        store: Your own store; given with `checkpointer`, no database is opened.
        checkpointer: Your own checkpointer.
        settings: Which database to open; by default what the environment says.

    Yields:
        The compiled graph of the config's manager.

    Raises:
        AgentConfigError: If the config is not valid.
        ModelConfigError: If a model cannot be loaded.
        ToolConfigError: If a tool cannot be loaded.
        StorageError: If the database cannot be opened.
    """
    config = await asyncio.to_thread(_load, agent)
    resolved = await asyncio.to_thread(resolve_agent, config, model=model, tools=tools, response_format=response_format)
    if store is not None and checkpointer is not None:
        try:
            yield build_agent(resolved, store=store, checkpointer=checkpointer)
        finally:
            await background().drain(config.memory.extraction_timeout)
        return
    settings = settings or StorageSettings.from_env()
    if config.models.embedding != "auto":
        settings = settings.model_copy(update={"embedding": config.models.embedding})
    async with open_storage(settings) as storage:
        try:
            yield build_agent(
                resolved, store=store or storage.memory, checkpointer=checkpointer or storage.checkpointer
            )
        finally:
            # what is not finished in time stays durable, and the next turn takes it along
            await background().drain(config.memory.extraction_timeout)


def _load(agent: str | Path | AgentConfig) -> AgentConfig:
    if isinstance(agent, AgentConfig):
        return agent
    if isinstance(agent, Path) or str(agent).endswith((".yaml", ".yml")):
        return load_agent_config_file(Path(agent))
    return load_agent_config(agent)
