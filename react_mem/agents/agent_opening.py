"""Running an agent from Python: the graph, its store and its checkpointer, opened and closed for the caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from react_mem.agents.config import (
    AgentConfig,
    available_agents,
    check_embedding,
    load_agent,
    load_agent_config,
    with_embedding_of,
)
from react_mem.agents.resolve import AgentTool, ResolvedAgent, build_agent, resolve_agent
from react_mem.errors import AgentConfigError
from react_mem.memory import StorageSettings
from react_mem.memory.records import checked
from react_mem.memory.runtime import AgentRunner, RetentionSettings, open_storage, refuse_unfit_store
from react_mem.memory.turns import AgentMemory


@checked(model="give a chat model, such as init_chat_model(...); its name belongs into the config: models: {chat: ...}")
@asynccontextmanager
async def open_agent(
    agent: str | Path | AgentConfig,
    *,
    model: BaseChatModel | None = None,
    small_model: BaseChatModel | None = None,
    tools: Sequence[AgentTool] = (),
    system_prompt: str | SystemMessage | None = None,
    response_format: Any = None,
    state_schema: type | None = None,
    context_schema: type | None = None,
    name: str | None = None,
    interrupt_before: Literal["*"] | list[str] | None = None,
    interrupt_after: Literal["*"] | list[str] | None = None,
    store: BaseStore | None = None,
    checkpointer: Checkpointer = None,
    settings: StorageSettings | None = None,
) -> AsyncIterator[CompiledStateGraph[Any, Any, Any, Any]]:
    """Open an agent, ready to `ainvoke` and `astream` (async only, like its store and its checkpointer).

        async with open_agent("assistant") as agent:
            await agent.ainvoke(
                {"messages": [{"role": "user", "content": "I live in Hue."}]},
                context={"user_id": "ann"},
                config={"configurable": {"thread_id": "1"}},
            )

    Background work runs while the agent is open. Closing waits for it a few seconds; unfinished work stays in the
    store for the next process that opens the agent, or for `react-mem worker`.

    Args:
        agent: The name of a config, the path of a YAML file, or a config.
        model: A chat model instead of the config's.
        small_model: A chat model for the work behind the answers, such as extraction, instead of the config's.
        tools: Tools in addition to the config's.
        system_prompt: Instructions instead of the config's; a `SystemMessage` keeps its content blocks.
        response_format: A schema for the answer, as in `langchain.agents.create_agent`.
        state_schema: A TypedDict with further fields of the state, as there.
        context_schema: The settings of one run, instead of `AgentContext`; see `resolve_agent`.
        name: The agent's name in its answers and among other agents, as there.
        interrupt_before: The nodes before which a run waits: `reason` asks the model, `act` runs a tool.
        interrupt_after: The nodes after which a run waits.
        store: Your own store; given with `checkpointer`, no database is opened.
        checkpointer: Your own checkpointer.
        settings: The database to open; by default from the environment.

    Yields:
        The compiled graph of the config's manager.

    Raises:
        AgentConfigError: If the config is not valid, or names another embedding model than your store has.
        ModelConfigError: If a model cannot be loaded.
        ToolConfigError: If a tool cannot be loaded.
        StorageError: If the database cannot be opened.
        StateSchemaError: If the state schema does not go with the manager's.
    """
    config = await asyncio.to_thread(load_agent, agent)
    resolved = await asyncio.to_thread(
        resolve_agent,
        config,
        model=model,
        small_model=small_model,
        tools=tools,
        system_prompt=system_prompt,
        response_format=response_format,
        state_schema=state_schema,
        context_schema=context_schema,
        name=name,
    )
    if store is not None:
        check_embedding(config, store)
        await refuse_unfit_store(store, settings)
    async with AsyncExitStack() as stack:
        saver = _keeper(checkpointer)
        if store is None or checkpointer is None:
            opening = open_storage(with_embedding_of(config, settings or StorageSettings.from_env()))
            storage = await stack.enter_async_context(opening)
            store, checkpointer = store or storage.memory, checkpointer or storage.checkpointer
            saver = saver or storage.checkpointer
        graph = build_agent(
            resolved,
            store=store,
            checkpointer=checkpointer,
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
        )
        await stack.enter_async_context(resolved.work.running(store, saver))
        yield graph


def _keeper(checkpointer: Checkpointer) -> BaseCheckpointSaver[Any] | None:
    """Return the saver of threads; None where the graph around this one saves them, or nobody."""
    return checkpointer if isinstance(checkpointer, BaseCheckpointSaver) else None


# Runners of the background work of agents with a config: for a server and for `react-mem worker`.


class ConfiguredRunners:
    """The runners of all configured agents, each built at its first work. Blocking: it lists folders."""

    def __init__(self) -> None:
        self._names = tuple(available_agents())

    def names(self) -> Sequence[str]:
        return self._names

    async def retention(self, agent: str) -> RetentionSettings:
        """Return the retention settings of an agent. Raises `AgentConfigError` for an invalid config."""
        return (await asyncio.to_thread(load_agent_config, agent)).memory.retention

    async def get(self, agent: str) -> AgentRunner | None:
        """Return the runner of an agent; None for one without memory.

        Raises `AgentConfigError`, `ModelConfigError` or `ToolConfigError` if the agent cannot be loaded.
        """
        return await asyncio.to_thread(_runner, agent)


@cache
def _runner(agent: str) -> AgentRunner | None:
    resolved = resolve_agent(load_agent_config(agent))
    # a manager that remembers says how its work is done
    build_agent(resolved)
    return resolved.work.runners.get(agent)


# Memory of an agent, opened without its graph: what tells turns in an agent's place drives it.


@dataclass(frozen=True)
class OpenAgentMemory:
    """Open memory of one agent, for all its users, with its store."""

    agent: AgentMemory
    store: BaseStore


@asynccontextmanager
async def open_agent_memory(agent: str) -> AsyncIterator[OpenAgentMemory]:
    """Open the memory of an agent (a name, or a YAML file) without its graph, and run its background work meanwhile.

    Raises `ReactMemError` if the agent cannot be loaded or the database cannot be opened; the message names the fix.
    """
    config, resolved, remembering = await asyncio.to_thread(_load, agent)
    async with open_storage(with_embedding_of(config, StorageSettings.from_env())) as storage:
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
