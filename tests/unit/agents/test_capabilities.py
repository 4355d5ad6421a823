"""What a model can do is what it declares, and nothing in the product looks at its class instead."""

from __future__ import annotations

from typing import ClassVar

import pytest
from langchain_core.language_models import BaseChatModel, FakeListChatModel

from react_mem.agents.config import AgentConfig
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.errors import ToolConfigError
from react_mem.memory.llm.budget import Capabilities
from tests.support.scripted_model import ScriptedModel


class Parrot(ScriptedModel):
    """A model of somebody else's that follows no instructions either."""

    capabilities: ClassVar[Capabilities] = Capabilities(follows_instructions=False)


def test_what_only_quotes_gets_the_tools_by_which_it_minds_its_memory() -> None:
    def tools(model: BaseChatModel) -> set[str]:
        return {tool.name for tool in resolve_agent(AgentConfig(name="tester", manager="react_mem"), model=model).tools}

    assert tools(Parrot(script=[])) - tools(ScriptedModel(script=[])) == {"forget_said", "list_known"}


def test_tools_are_refused_for_a_model_that_cannot_call_them() -> None:
    model, config = FakeListChatModel(responses=["x"]), AgentConfig(name="tester", manager="react")
    assert build_agent(resolve_agent(config, model=model))
    with pytest.raises(ToolConfigError, match="FakeListChatModel has no interface for tool calls"):
        build_agent(resolve_agent(config.model_copy(update={"tools": ("calculator",)}), model=model))
    with pytest.raises(ToolConfigError, match="no interface for tool calls"):
        build_agent(resolve_agent(config, model=model, tools=[{"type": "web_search"}]))
