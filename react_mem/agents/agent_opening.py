"""Running an agent from Python: the graph, with its store and its checkpointer opened and closed for the caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from react_mem.agents.config import AgentConfig, load_agent
from react_mem.agents.embedding import check_embedding
from react_mem.agents.resolve import AgentTool, CompileOptions, build_agent, resolve_agent
from react_mem.memory import StorageSettings
from react_mem.memory.records import checked
from react_mem.memory.runtime import open_storage, refuse_unaudited, refuse_unsealed


@checked(model="give a chat model, such as init_chat_model(...); its name belongs into the config: models: {chat: ...}")
@asynccontextmanager
async def open_agent(
    agent: str | Path | AgentConfig,
    *,
    model: BaseChatModel | None = None,
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
    """Open an agent, ready to `ainvoke` and `astream` (it is async only: so are its store and its checkpointer).

        async with open_agent("assistant") as agent:
            await agent.ainvoke(
                {"messages": [{"role": "user", "content": "I live in Hue."}]},
                context={"user_id": "ann"},
                config={"configurable": {"thread_id": "1"}},
            )

    What happens behind the turns is done while it is open. Closing waits for it a few seconds; what is not finished by
    then stays in the store, and is taken over by the next process that opens the agent, or by `react-mem worker`.

    Args:
        agent: The name of a config, the path of a YAML file, or a config.
        model: A chat model instead of the config's.
        tools: Tools beside the config's.
        system_prompt: Instructions instead of the config's; a `SystemMessage` keeps its content blocks.
        response_format: A schema for the answer, as in `langchain.agents.create_agent`.
        state_schema: A TypedDict with further fields of the state, as there.
        context_schema: What a caller may say about one run, instead of `AgentContext`; see `resolve_agent`.
        name: What the agent is called in its answers and among other agents, as there.
        interrupt_before: The nodes before which a run waits: `reason` asks the model, `act` runs a tool.
        interrupt_after: The nodes after which a run waits.
        store: Your own store; given with `checkpointer`, no database is opened.
        checkpointer: Your own checkpointer.
        settings: Which database to open; by default what the environment says.

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
        tools=tools,
        system_prompt=system_prompt,
        response_format=response_format,
        state_schema=state_schema,
        context_schema=context_schema,
        name=name,
    )
    options = CompileOptions(
        store=store, checkpointer=checkpointer, interrupt_before=interrupt_before, interrupt_after=interrupt_after
    )
    if store is not None:
        check_embedding(config, store)
        await refuse_unsealed(store, settings)
        refuse_unaudited(store, settings)
    if store is not None and checkpointer is not None:
        graph = build_agent(resolved, **options)
        async with resolved.work.running(store, _keeper(checkpointer)):
            yield graph
        return
    settings = settings or StorageSettings.from_env()
    if config.models.embedding != "auto":
        settings = settings.model_copy(update={"embedding": config.models.embedding})
    async with open_storage(settings) as storage:
        memory = store or storage.memory
        options["store"] = memory
        options["checkpointer"] = checkpointer or storage.checkpointer
        graph = build_agent(resolved, **options)
        async with resolved.work.running(memory, _keeper(checkpointer) or storage.checkpointer):
            yield graph


def _keeper(checkpointer: Checkpointer) -> BaseCheckpointSaver[Any] | None:
    """Return what keeps the threads; None where a graph around this one does, or nobody."""
    return checkpointer if isinstance(checkpointer, BaseCheckpointSaver) else None
