"""What a caller may choose for one run: what the agent's config leaves to them, and nothing else, with any manager."""

from __future__ import annotations

from typing import Any

import pytest

import react_mem.agents.resolve
from react_mem.agents.config import MOST_CHOICES, AgentConfig
from react_mem.agents.context import AgentContext
from react_mem.errors import ChoiceRefused
from tests.contract.conftest import Build
from tests.contract.test_loop import ANN, ask
from tests.support.scripted_model import ScriptedModel

FAR = "openai:far"


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the models that were loaded for runs."""
    names: list[str] = []

    def load(spec: str) -> ScriptedModel:
        names.append(spec)
        return ScriptedModel(script=[f"{spec} here"])

    monkeypatch.setattr(react_mem.agents.resolve, "load_chat_model", load)
    return names


@pytest.mark.parametrize(
    ("left", "chosen", "said"),
    [
        ({}, {"model": FAR}, "models.choices"),
        ({"models": {"choices": ["openai:near"]}}, {"model": FAR}, "openai:near"),
        ({}, {"system_prompt": "Say what you were told."}, "list system_prompt"),
        ({"max_iterations": 3}, {"max_iterations": 4}, "at most 3"),
        ({"memory": {"recall": {"max_memories": 3}}}, {"max_memories": 4}, "at most 3 memories"),
        ({"overridable": ["model"]}, {"use_memory": False}, "list use_memory"),
    ],
)
async def test_a_choice_that_is_not_left_to_callers_is_refused_before_a_model_is_asked_and_anything_is_stored(
    build: Build, loaded: list[str], left: dict[str, Any], chosen: dict[str, Any], said: str
) -> None:
    model = ScriptedModel(script=["hi"])
    graph = build(model, **left)
    with pytest.raises(ChoiceRefused, match=said) as refused:
        await ask(graph, context={**ANN, **chosen})
    assert not loaded
    assert not model.prompts
    assert not await graph.store.alist_namespaces()
    assert "far" not in str(refused.value)
    assert "Say what" not in str(refused.value)


async def test_what_is_left_to_callers_and_what_is_the_agents_own_may_be_named(build: Build, loaded: list[str]) -> None:
    model = ScriptedModel(script=["own"])
    graph = build(model, models={"choices": [FAR]}, max_iterations=3)
    for chosen, answer in (
        ({"model": FAR, "max_iterations": 3}, f"{FAR} here"),
        ({"model": "auto"}, "own"),
        ({"model": "", "system_prompt": ""}, "own"),
        ({"use_memory": True, "max_memories": 8}, "own"),
        ({"use_memory": False, "max_memories": 1}, "own"),
        ({"model": FAR}, f"{FAR} here"),
    ):
        assert (await ask(graph, context={**ANN, **chosen}))["messages"][-1].text == answer
    assert loaded == [FAR]


async def test_a_context_of_the_wrong_form_is_refused_without_repeating_it(build: Build) -> None:
    graph = build(["hi"])
    wrong_ones = {"model": ["my diary"], "max_iterations": "many words", "use_memory": "false"}
    config = {"configurable": {"thread_id": "1", **wrong_ones}}
    with pytest.raises(ChoiceRefused, match=r"max_iterations.*use_memory") as refused:
        await graph.ainvoke({"messages": [("user", "hello")]}, config)
    assert "diary" not in str(refused.value)
    assert "words" not in str(refused.value)
    for chosen in ({"max_iterations": "many words"}, {"max_memories": 0}, {"max_memories": "words"}, {"user_id": ""}):
        with pytest.raises(ChoiceRefused, match=next(iter(chosen))) as wrong:
            await ask(graph, context={**ANN, **chosen})
        assert "words" not in str(wrong.value)
        assert "http" not in str(wrong.value)


MISSPELT = {"use_memroy": "use_memory", "useMemory": "use_memory", "userid": "user_id"}


@pytest.mark.parametrize(("name", "meant"), MISSPELT.items())
async def test_a_name_misspelt_is_refused_with_the_one_that_is_meant(build: Build, name: str, meant: str) -> None:
    model = ScriptedModel(script=["hi"])
    graph = build(model)
    with pytest.raises(ChoiceRefused, match=f"is '{meant}' meant"):
        await ask(graph, context={**ANN, name: False})
    config: dict[str, Any] = {"configurable": {"thread_id": "1", **ANN, name: False}}
    with pytest.raises(ChoiceRefused, match=f"is '{meant}' meant"):
        await graph.ainvoke({"messages": [("user", "hello")]}, config)
    assert not model.prompts
    assert not await graph.store.alist_namespaces()


async def test_names_of_others_pass_where_others_may_have_names(build: Build) -> None:
    graph = build(["hi", "ho"])
    with pytest.raises(ChoiceRefused, match=r"no 'bogus', but agent, .*use_memory"):
        await ask(graph, context={**ANN, "bogus": 1})
    # beside a context, and of those that choose something, one is refused there too
    config = {"configurable": {"thread_id": "1", "use_memroy": False}}
    with pytest.raises(ChoiceRefused, match="is 'use_memory' meant"):
        await graph.ainvoke({"messages": [("user", "hello")]}, config, context=AgentContext(user_id="ann"))
    with pytest.raises(ChoiceRefused, match="does not leave its manager to callers"):
        await ask(graph, context={**ANN, "manager": "neither"})
    for name in ("thread_id", "langgraph_auth_user", "__request_start_time_ms__", "checkpoint_ns"):
        assert AgentContext(user_id="ann", **{name: "1"}).user_id == "ann"
    # a tool may read a name of its own from `configurable`
    config = {"configurable": {"thread_id": "1", **ANN, "tenant": "acme"}}
    assert (await graph.ainvoke({"messages": [("user", "hello")]}, config))["messages"][-1].text == "hi"


def test_an_agent_leaves_only_so_many_models_to_its_callers() -> None:
    with pytest.raises(ValueError, match=f"at most {MOST_CHOICES} items"):
        AgentConfig(name="a", manager="react", models={"choices": [f"openai:{n}" for n in range(MOST_CHOICES + 1)]})
