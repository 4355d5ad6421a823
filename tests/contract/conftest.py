"""The managers under one roof: each case runs over both, and over `create_agent` with `MemoryMiddleware`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from react_mem.agents.config import AgentConfig
from react_mem.agents.context import AgentContext
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.adapters import MemoryMiddleware
from react_mem.memory.model.policy import MemoryPolicy
from tests.support.databases import WordEmbeddings
from tests.support.scripted_model import ScriptedModel

INLINE = MemoryPolicy(extraction={"mode": "inline"})

THEIR_NODES = {"reason": "model", "act": "tools"}
"""What `create_agent` calls the nodes of the loop."""

Graph = CompiledStateGraph[Any, Any, Any, Any]
Build = Callable[..., Graph]


def memory_store() -> InMemoryStore:
    """Return an in-memory store that finds texts by their words."""
    embeddings = WordEmbeddings()
    return InMemoryStore(index={"dims": embeddings.dims, "embed": embeddings, "fields": ["text"]})


def build_manager(
    manager: str,
    script: list[Any] | BaseChatModel,
    tools: list[Any] | None = None,
    *,
    system_prompt: Any = "You help.",
    response_format: Any = None,
    state_schema: type | None = None,
    context_schema: type | None = None,
    name: str | None = None,
    interrupt_before: list[str] | None = None,
    store: BaseStore | None = None,
    **config: Any,
) -> Graph:
    """Return a graph of one of the managers over a scripted model, with everything in memory."""
    model = script if isinstance(script, BaseChatModel) else ScriptedModel(script=script)
    # extraction has a script of its own: its calls must not use up the lines of the conversation
    quiet = ScriptedModel(script=["no facts here"])
    if manager == "middleware":
        if config:
            raise TypeError(f"create_agent has no {', '.join(config)}")
        return create_agent(
            model,
            tools or [],
            system_prompt=system_prompt,
            response_format=response_format,
            state_schema=state_schema,
            context_schema=context_schema or AgentContext,
            middleware=[MemoryMiddleware(policy=INLINE, small_model=quiet)],
            name=name,
            checkpointer=InMemorySaver(),
            store=store or memory_store(),
            interrupt_before=[THEIR_NODES[node] for node in interrupt_before or ()],
        )
    agent = resolve_agent(
        AgentConfig(name="tester", manager=manager, **{"memory": INLINE, **config}),
        model=model,
        small_model=quiet,
        tools=tools or [],
        system_prompt=system_prompt,
        response_format=response_format,
        state_schema=state_schema,
        context_schema=context_schema,
        name=name,
    )
    return build_agent(
        agent, store=store or memory_store(), checkpointer=InMemorySaver(), interrupt_before=interrupt_before
    )


@pytest.fixture(params=["react", "react_mem"])
def build(request: pytest.FixtureRequest) -> Build:
    """Build a graph with each of our managers in turn: what `create_agent` does otherwise, or not at all."""
    return lambda *args, **kwargs: build_manager(request.param, *args, **kwargs)


@pytest.fixture(params=["react", "react_mem", "middleware"])
def build_any(request: pytest.FixtureRequest) -> Build:
    """Build a graph with each of our managers in turn, and with `create_agent` and `MemoryMiddleware`."""
    return lambda *args, **kwargs: build_manager(request.param, *args, **kwargs)
