"""The life of a turn is one, whoever begins and ends it: the graph, `create_agent` with the middleware, or a hook."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore

from react_mem.memory.facade import MemoryFacade
from tests.contract.conftest import Graph, build_manager
from tests.contract.test_loop import ANN, thread
from tests.integration.memory.test_hooks import WHO, one_node
from tests.support.scripted_model import ScriptedModel
from tests.unit.graphs.test_memory_nodes import BrokenStore

LIVES = ["react_mem", "middleware", "hook"]


def living(life: str, store: Any, model: ScriptedModel) -> Graph:
    if life == "hook":
        return one_node(store)
    return build_manager(life, model, store=store)


async def told(graph: Graph, text: str, name: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the events about memory of a turn, and its result."""
    seen: list[dict[str, Any]] = []
    result: dict[str, Any] = {}
    stream = graph.astream(
        {"messages": [HumanMessage(text)]}, thread(name), context=ANN, stream_mode=["custom", "values"]
    )
    async for mode, payload in stream:
        if mode == "values":
            result = payload
        elif payload["type"] == "memory":
            seen.append(payload)
    return seen, result


def shown(model: ScriptedModel, result: dict[str, Any]) -> str:
    """Return what the model was shown in the last turn; a node with hooks answers with it."""
    return str(model.prompts[-1]) if model.prompts else str(result["answer"])


@pytest.mark.parametrize("life", LIVES)
async def test_what_was_last_read_stands_in_while_the_database_is_down(
    life: str, caplog: pytest.LogCaptureFixture
) -> None:
    store, model = BrokenStore(), ScriptedModel(script=["ok"])
    await MemoryFacade(store).semantic.add(["User likes tea"], **WHO)
    graph = living(life, store, model)
    await told(graph, "What do I like?", "1")
    store.broken = True
    caplog.set_level(logging.WARNING)
    seen, result = await told(graph, "What do I like?", "2")
    store.broken = False
    assert "User likes tea" in shown(model, result)
    assert [event["status"] for event in seen] == ["degraded", "degraded"]
    assert "the database is down" in seen[0]["message"]
    assert [item["text"] for item in seen[0]["items"]] == ["User likes tea"]
    logged = [record.getMessage() for record in caplog.records if "memory is unavailable" in record.getMessage()]
    # once for what could not be read, once for what could not be stored
    assert [("what was last read stands in" in line) for line in logged] == [True, False]
    assert not [line for line in logged if "tea" in line]


@pytest.mark.parametrize("life", LIVES)
async def test_a_turn_that_memory_fails_from_the_start_says_so_once_for_each_end(
    life: str, caplog: pytest.LogCaptureFixture
) -> None:
    store, model = BrokenStore(), ScriptedModel(script=["ok"])
    store.broken = True
    caplog.set_level(logging.WARNING)
    seen, result = await told(living(life, store, model), "My cat is called Mimi.", "1")
    store.broken = False
    assert "Mimi" not in str(result.get("answer", ""))
    last = "store" if life == "hook" else "extract"
    assert [(event["operation"], event["status"]) for event in seen] == [("retrieve", "degraded"), (last, "degraded")]
    assert len([record for record in caplog.records if "memory is unavailable" in record.getMessage()]) == 2


@pytest.mark.parametrize("life", ["react_mem", "middleware"])
async def test_a_turn_is_stored_though_drawing_from_it_failed(life: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(self: Any) -> Any:
        raise ConnectionError("the model's gateway is down")

    store, model = BrokenStore(), ScriptedModel(script=["ok"])
    graph = living(life, store, model)
    with monkeypatch.context() as broken:
        broken.setattr("react_mem.memory.write.turns.Turns.extract", fails)
        seen, _ = await told(graph, "My cat is called Mimi.", "1")
    assert [(event["operation"], event["status"]) for event in seen] == [("retrieve", "ok"), ("extract", "degraded")]
    kept = (await graph.checkpointer.aget(thread()))["channel_values"]
    mark = kept["remembered"] if life == "react_mem" else kept["memory_mark"]["id"]
    assert mark == (await graph.aget_state(thread())).values["messages"][-1].id


@pytest.mark.parametrize("life", LIVES)
async def test_while_memory_is_paused_a_turn_uses_it_and_leaves_nothing_in_it(life: str) -> None:
    store, model = InMemoryStore(), ScriptedModel(script=["ok"])
    memory = MemoryFacade(store)
    await memory.semantic.add(["User likes tea"], **WHO)
    graph = living(life, store, model)
    await memory.pause("ann")
    before = _entries(store)
    seen, result = await told(graph, "Do I like tea? My boat is called Wanda.", "1")
    assert "User likes tea" in shown(model, result)
    assert [event["status"] for event in seen if event["operation"] == "store"] == ["off"]
    assert "paused" in str(seen)
    assert _entries(store) == before
    # the conversation goes on, and what was said in the pause is not made up for
    assert await memory.pause("ann", paused=False) is False
    await told(graph, "My horse is called Otto.", "1")
    assert "Wanda" not in str(_entries(store))
    assert "Otto" in str(_entries(store))


def _entries(store: InMemoryStore) -> dict[Any, Any]:
    """Return all that is stored, but which threads are the user's: by that they are found to be erased."""
    spaces = store.list_namespaces(limit=1_000)
    items = [(space, item) for space in spaces for item in store.search(space, limit=1_000)]
    return {(space, item.key): item.value for space, item in items if item.value.get("kind") != "thread"}
