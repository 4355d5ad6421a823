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
from agents.extractive import ExtractiveChatModel
from agents.managers import MANAGERS
from agents.model_health import ModelHealth
from agents.models import (
    EXTRACTIVE,
    load_chat_model,
    load_chosen_model,
    name_of,
    resolve_chat_spec,
    supports_native_tools,
)
from agents.text_dialect import TextDialect
from tools.governed import under_policy
from tools.memory_tools import forget_said
from tools.registry import load_tools


@dataclass(frozen=True)
class NamedModel:
    """A chat model, in the dialect that the config chose.

    Args:
        name: What it is called in messages, logs and events.
        model: The model.
    """

    name: str
    model: BaseChatModel


@dataclass(frozen=True)
class ResolvedAgent:
    """What a manager builds a graph from.

    Args:
        config: The agent's config.
        model: Its chat model, in the dialect that the config chose.
        small_model: The model for extraction and other work behind the scenes, without a dialect.
        summary_model: The model that sums conversations up, without a dialect; the small model unless the config's
            `memory.summaries.summary_model` names another.
        search_model: The model that decides whether a question needs the web, without a dialect; the small model unless
            the config's `memory.external_search.slm_model` names another.
        tools: Its tools.
        response_format: What `langchain.agents.create_agent` takes as `response_format`.
        model_name: What the chat model is called.
        fallback: The language models that are asked when it fails, in order.
        quotes: What answers after them, by quoting; None where the failure is raised.
        health: Which models fail at the moment.
    """

    config: AgentConfig
    model: BaseChatModel
    small_model: BaseChatModel
    summary_model: BaseChatModel
    search_model: BaseChatModel
    tools: tuple[BaseTool, ...]
    response_format: Any = None
    model_name: str = ""
    fallback: tuple[NamedModel, ...] = ()
    quotes: NamedModel | None = None
    health: ModelHealth = field(default_factory=ModelHealth, repr=False)
    _overrides: dict[str, BaseChatModel] = field(default_factory=dict, repr=False)

    def stand_ins_for(self, model: BaseChatModel) -> tuple[BaseChatModel, ...]:
        """Return what works behind the scenes where a model fails: the models to fall back on, without a dialect.

        Args:
            model: The small model, or the one for summaries. For the one that only quotes none stands in: it does not
                fail, and who names it wants no other asked.
        """
        if isinstance(model, ExtractiveChatModel):
            return ()
        plain = (one.model.inner if isinstance(one.model, TextDialect) else one.model for one in self.fallback)
        return tuple(one for one in plain if name_of(one) != name_of(model))

    async def chat_model(self, override: str | None = None) -> NamedModel:
        """Return the agent's model, or the one that the run's context names instead, loaded once.

        Args:
            override: An `init_chat_model` string.

        Raises:
            ModelConfigError: If the override cannot be loaded.
        """
        if override is None:
            return NamedModel(self.model_name, self.model)
        if override not in self._overrides:
            loaded = await asyncio.to_thread(load_chat_model, override)
            self._overrides[override] = _in_dialect(loaded, self.config)
        return NamedModel(resolve_chat_spec(override), self._overrides[override])


def resolve_agent(
    config: AgentConfig,
    *,
    model: BaseChatModel | None = None,
    small_model: BaseChatModel | None = None,
    tools: Sequence[BaseTool] = (),
    response_format: Any = None,
) -> ResolvedAgent:
    """Load what a config names. Blocking: it imports and reads files.

    The models to fall back on are loaded now too: one that cannot be is found at the start, not in an outage.

    Args:
        config: The agent's config.
        model: A chat model instead of the config's.
        small_model: A small model instead of the config's, of which `auto` is the chat model.
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
        small_model = chat if config.models.small == "auto" else load_chosen_model(config.models.small)
    sums_up, decides = config.memory.summaries.summary_model, config.memory.external_search.slm_model
    fallback, quotes = _fallback(config, chat)
    # it has no other way to do what it is told about its memory
    own = (forget_said,) if isinstance(chat, ExtractiveChatModel) and config.manager == "react_mem" else ()
    return ResolvedAgent(
        config=config,
        model=_in_dialect(chat, config),
        small_model=small_model,
        summary_model=load_chosen_model(sums_up) if sums_up else small_model,
        search_model=load_chosen_model(decides) if decides else small_model,
        tools=(
            *load_tools(config.tools, config.memory),
            *(under_policy(one, config.memory) for one in (*tools, *own)),
        ),
        response_format=response_format,
        model_name=name_of(chat) if model is not None else resolve_chat_spec(config.models.chat),
        fallback=fallback,
        quotes=quotes,
    )


def _fallback(config: AgentConfig, chat: BaseChatModel) -> tuple[tuple[NamedModel, ...], NamedModel | None]:
    """Return what answers when the chat model fails; nothing where that cannot fail, or is all that is named."""
    if isinstance(chat, ExtractiveChatModel):
        return (), None
    named = dict.fromkeys(map(resolve_chat_spec, config.models.fallback))
    specs = [spec for spec in named if spec != name_of(chat)]
    models = tuple(NamedModel(spec, _in_dialect(load_chat_model(spec), config)) for spec in specs if spec != EXTRACTIVE)
    return models, NamedModel(EXTRACTIVE, ExtractiveChatModel(stands_in=True)) if EXTRACTIVE in specs else None


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
