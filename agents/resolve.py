"""A config made real: its model loaded, its tools imported, its graph built by the manager that it names."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from agents.config import AgentConfig
from agents.managers import MANAGERS
from agents.models import load_chat_model, supports_native_tools
from agents.text_dialect import TextDialect
from tools.registry import load_tools


@dataclass(frozen=True)
class ResolvedAgent:
    """What a manager builds a graph from.

    Args:
        config: The agent's config.
        model: Its chat model, in the dialect that the config chose.
        small_model: The model for extraction and other work behind the scenes, without a dialect.
        summary_model: The model that sums conversations up, without a dialect; the small model unless the config's
            `memory.summaries.summary_model` names another.
        tools: Its tools.
        response_format: What `langchain.agents.create_agent` takes as `response_format`.
    """

    config: AgentConfig
    model: BaseChatModel
    small_model: BaseChatModel
    summary_model: BaseChatModel
    tools: tuple[BaseTool, ...]
    response_format: Any = None
    _overrides: dict[str, BaseChatModel] = field(default_factory=dict, repr=False)

    async def chat_model(self, override: str | None = None) -> BaseChatModel:
        """Return the agent's model, or the one that the run's context names instead, loaded once.

        Args:
            override: An `init_chat_model` string.

        Raises:
            ModelConfigError: If the override cannot be loaded.
        """
        if override is None:
            return self.model
        if override not in self._overrides:
            loaded = await asyncio.to_thread(load_chat_model, override)
            self._overrides[override] = _in_dialect(loaded, self.config)
        return self._overrides[override]


def resolve_agent(
    config: AgentConfig,
    *,
    model: BaseChatModel | None = None,
    small_model: BaseChatModel | None = None,
    tools: Sequence[BaseTool] = (),
    response_format: Any = None,
) -> ResolvedAgent:
    """Load what a config names. Blocking: it imports and reads files.

    Args:
        config: The agent's config.
        model: A chat model instead of the config's.
        small_model: A small model instead of the config's; by default `model`, where that is given.
        tools: Tools beside the config's.
        response_format: As in `langchain.agents.create_agent`.

    Returns:
        The agent, ready for a manager.

    Raises:
        ModelConfigError: If a model cannot be loaded.
        ToolConfigError: If a tool cannot be loaded.
    """
    chat = model or load_chat_model(config.models.chat)
    if small_model is None:
        small_model = (
            chat if model is not None or config.models.small == "auto" else load_chat_model(config.models.small)
        )
    sums_up = config.memory.summaries.summary_model
    return ResolvedAgent(
        config=config,
        model=_in_dialect(chat, config),
        small_model=small_model,
        summary_model=load_chat_model(sums_up) if sums_up else small_model,
        tools=(*load_tools(config.tools), *tools),
        response_format=response_format,
    )


class GraphBuilder(Protocol):
    """What a manager is: a function from a resolved agent to a compiled graph."""

    def __call__(
        self, agent: ResolvedAgent, *, checkpointer: Checkpointer = None, store: BaseStore | None = None
    ) -> CompiledStateGraph[Any, Any, Any, Any]:
        """Build the graph."""


def build_agent(
    agent: ResolvedAgent, *, checkpointer: Checkpointer = None, store: BaseStore | None = None
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build the graph of an agent with the manager that its config names.

    Args:
        agent: The agent, with its model and tools.
        checkpointer: Keeps threads; None where a server provides it.
        store: Keeps memories; None where a server provides it.

    Returns:
        The compiled graph.
    """
    module, _, attribute = MANAGERS[agent.config.manager].partition(":")
    builder = cast("GraphBuilder", getattr(importlib.import_module(module), attribute))
    graph = builder(agent, checkpointer=checkpointer, store=store)
    # for traces, and for tools, which know their run only
    return graph.with_config(metadata={"agent": agent.config.name})


def _in_dialect(model: BaseChatModel, config: AgentConfig) -> BaseChatModel:
    """Give a model without tool calling the text form of it."""
    native = config.dialect == "native" or (config.dialect == "auto" and supports_native_tools(model))
    return model if native else TextDialect(inner=model)
