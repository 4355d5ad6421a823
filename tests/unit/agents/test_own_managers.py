"""An agent that extends another, a manager of one's own, and the manager that a caller chooses for a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from react_mem import load_agent_config, open_agent
from react_mem.agents.config import load_agent
from react_mem.errors import AgentConfigError, ChoiceRefused
from react_mem.graphs import react, server

OWN = f"{__name__}:own_manager"
ASKED = {"messages": [("user", "hello")]}


def own_manager(agent: Any, **options: Any) -> Any:
    return react.build_graph(agent, **options).copy({"name": "own"})


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REACT_MEM_AGENTS", str(tmp_path))
    return tmp_path


def test_an_agent_extends_another(agents: Path) -> None:
    block = "memory: {recall: {max_memories: 4}, quotas: {memories: 50}}"
    (agents / "mine.yaml").write_text(f"extends: assistant\ntools: []\n{block}\nmodels:\n", encoding="utf-8")
    (agents / "plainer.yaml").write_text("extends: mine\nmanager: react\n", encoding="utf-8")
    (agents / "assistant.yaml").write_text("extends: assistant\nmax_iterations: 3\n", encoding="utf-8")
    mine, plainer, base = map(load_agent_config, ("mine", "plainer", "assistant"))
    # its own assistant goes before the shipped one, which it extends itself
    assert (base.max_iterations, mine.max_iterations, mine.models) == (3, 3, base.models)
    assert (mine.name, mine.manager, mine.tools, mine.system_prompt) == ("mine", "react_mem", (), base.system_prompt)
    assert (mine.memory.recall.max_memories, mine.memory.recall.semantic, mine.memory.quotas.memories) == (4, True, 50)
    assert plainer == mine.model_copy(update={"name": "plainer", "manager": "react"})


@pytest.mark.parametrize(
    ("said", "why"), [("asistant", "did you mean 'assistant'"), ("b", "no other"), ("[a]", "no other")]
)
def test_an_agent_that_extends_none_says_which_there_are(said: str, why: str, agents: Path) -> None:
    (agents / "a.yaml").write_text(f"extends: {said}\n", encoding="utf-8")
    (agents / "b.yaml").write_text("extends: a\n", encoding="utf-8")
    with pytest.raises(AgentConfigError, match=why):
        load_agent_config("a")


async def test_a_manager_of_ones_own_runs_the_agent() -> None:
    config = load_agent("assistant").model_copy(update={"tools": ()})
    stores = {"store": InMemoryStore(), "checkpointer": InMemorySaver(), "model": FakeListChatModel(responses=["hi"])}
    async with open_agent(config.model_copy(update={"manager": OWN}), **stores) as agent:
        assert agent.name == "own"
        result = await agent.ainvoke(ASKED, {"configurable": {"thread_id": "1"}})
        assert result["messages"][-1].text == "hi"
    for wrong in ("no.such:manager", f"{__name__}:nothing"):
        with pytest.raises(AgentConfigError, match="cannot be imported"):
            async with open_agent(config.model_copy(update={"manager": wrong}), **stores):
                pass


async def test_a_caller_chooses_the_manager_where_the_agent_leaves_it(agents: Path) -> None:
    (agents / "both.yaml").write_text("extends: assistant\noverridable: [manager]\n", encoding="utf-8")

    async def nodes(agent: str, manager: str) -> set[str]:
        return {*(await server.agent({"configurable": {"agent": agent, "manager": manager}})).nodes}

    assert "extract" in await nodes("both", "")
    assert "extract" in await nodes("both", "react_mem")
    assert "extract" not in await nodes("both", "react")
    for agent, manager in (("assistant", "react"), ("both", "os:system"), ("both", OWN)):
        with pytest.raises(ChoiceRefused, match="manager"):
            await nodes(agent, manager)
