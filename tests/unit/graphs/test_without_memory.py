"""A run whose caller has switched memory off, with the manager that remembers and with the middleware."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from react_mem.errors import QuotaExceeded
from react_mem.memory.adapters import MemoryMiddleware
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.forks import root_of
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.tools.memory_tools import retrieve_facts, store_fact
from tests.contract.conftest import INLINE, Build, Graph, build_manager, memory_store
from tests.contract.test_loop import ANN, ask, thread
from tests.support.scripted_model import ScriptedModel, calls
from tests.unit.graphs.test_memory_nodes import build, events

APP = {"user_id": "ann", "session_id": "app", "agent_id": "app"}
OFF = {**ANN, "use_memory": False}


@pytest.fixture(params=["react_mem", "middleware"])
def remembering(request: pytest.FixtureRequest) -> Build:
    """Build a graph that remembers, in each of the two ways."""
    return lambda *args, **kwargs: build_manager(request.param, *args, **kwargs)


async def said(store: InMemoryStore) -> list[str]:
    found = await store.asearch(scope_namespace("ann", MemoryScope.DIALOG), limit=50)
    return sorted(item.value["text"] for item in found if item.value["kind"] == "message")


async def test_nothing_is_read_and_nothing_is_kept(remembering: Build) -> None:
    store, model = memory_store(), ScriptedModel(script=["noted", "no idea", "it is Mimi"])
    graph = remembering(model, store=store)
    await ask(graph, "My cat is called Mimi.", "1")
    kept = await said(store)
    await ask(graph, "What is my cat called? My dog is called Rex.", "2", context=OFF)
    assert "Mimi" not in str(model.prompts[1])
    # so that it does not promise to
    assert "Memory is off" in str(model.prompts[1])
    assert await said(store) == kept
    await ask(graph, "What is my cat called?", "3")
    assert "Mimi" in str(model.prompts[2])
    assert "Rex" not in str(model.prompts[2])


async def test_what_was_said_without_memory_is_not_kept_with_the_next_turn_of_the_thread(remembering: Build) -> None:
    store, model = memory_store(), ScriptedModel(script=["one", "secret answer", "three", "four"])
    graph = remembering(model, store=store)
    await ask(graph, "first")
    await ask(graph, "the secret", context=OFF)
    await ask(graph, "third")
    await ask(graph, "fourth")
    assert await said(store) == ["first", "four", "fourth", "one", "third", "three"]
    # the thread has it all the same
    assert "the secret" in str(model.prompts[3])
    # and memory still knows one conversation, which it can follow when it forks
    found = await store.asearch(scope_namespace("ann", MemoryScope.DIALOG), limit=50)
    after = {item.key: item.value.get("after", "") for item in found if item.value["kind"] == "message"}
    assert len({root_of(id_, after) for id_ in after}) == 1


async def test_a_turn_that_is_continued_without_saying_so_is_not_kept_either(remembering: Build) -> None:
    store = memory_store()
    graph = remembering(ScriptedModel(script=["one"]), store=store, interrupt_before=["reason"])
    await ask(graph, "the secret", context=OFF)
    await graph.ainvoke(Command(resume=True), thread("1"), context=ANN)
    assert await said(store) == []


async def test_quotas_are_counted_all_the_same() -> None:
    quotas = MemoryPolicy(quotas={"messages_a_day": 1}).quotas
    graph = build(ScriptedModel(script=["one", "two"]), memory_store(), quotas=quotas)
    await events(graph, "one", context=OFF)
    with pytest.raises(QuotaExceeded):
        await events(graph, "two", context=OFF)


async def test_tools_have_no_memory_either() -> None:
    store = memory_store()
    await MemoryFacade(store).semantic.add(["Ann lives in Hue."], **APP)
    asked = [("retrieve_facts", {"query": "Hue"}), ("store_fact", {"text": "Ann lives in Rome."})]
    model = ScriptedModel(script=[*(calls((name, arguments)) for name, arguments in asked), "no idea"])
    graph = build(model, store, tools=[retrieve_facts, store_fact])
    await events(graph, "Where do I live?", context=OFF)
    assert str(model.prompts[-1]).count("its caller has switched it off") == 2
    assert "Hue." not in str(model.prompts[-1])
    # whose the thread is, is noted all the same: forgetting a user is to find it
    kept = await store.asearch(("memory",), limit=100)
    assert {item.key for item in kept if "Rome" in str(item.value)} == set()


@pytest.mark.parametrize("given", ["false", False])
async def test_what_is_not_clearly_true_is_no_leave_to_remember(given: Any) -> None:
    store = memory_store()
    memory = MemoryMiddleware(policy=INLINE)
    model = ScriptedModel(script=["hello"])
    agent: Graph = create_agent(model, middleware=[memory], store=store, checkpointer=InMemorySaver())  # type: ignore[assignment]
    config = thread("1")
    config["configurable"] |= {"user_id": "ann", "use_memory": given}
    await agent.ainvoke({"messages": [HumanMessage("the secret")]}, config)
    assert await said(store) == []


async def test_fewer_memories_stand_in_the_prompt() -> None:
    store = memory_store()
    facts = [f"Ann has a cat called Mimi{number}." for number in range(4)]
    await MemoryFacade(store).semantic.add(facts, **APP)
    model = ScriptedModel(script=["one", "two"])
    graph = build(model, store)
    await events(graph, "Which cat has Ann?", name="1")
    await events(graph, "Which cat has Ann?", name="2", context={**ANN, "max_memories": 1})
    assert [sum(f"Mimi{number}" in prompt[0].text for number in range(4)) for prompt in model.prompts] == [4, 1]
