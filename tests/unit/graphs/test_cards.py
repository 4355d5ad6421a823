"""Cards of what was recalled and remembered: with the answer, once, and only where an agent's config asks for them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from react_mem.agents.config import AgentConfig
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.graphs.cards.memory_cards import MOST_CARDS, MOST_MEMORIES, latest_cards, recalled_memories
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryResultItem, MemoryScope
from react_mem.memory.model.policy import MemoryPolicy
from tests.contract.conftest import Graph, memory_store
from tests.contract.test_loop import ANN, ask, thread
from tests.support.labels import fact, proposal
from tests.support.scripted_model import ScriptedModel
from tests.unit.graphs.test_memory_nodes import BrokenStore

APP = {"session_id": "app", "agent_id": "app"}


def build(
    script: list[Any] | None = None,
    store: InMemoryStore | None = None,
    *,
    manager: str = "react_mem",
    cards: bool = True,
    small: list[Any] | None = None,
    **memory: Any,
) -> Graph:
    config = AgentConfig(
        name="tester",
        manager=manager,
        cards=cards,
        memory=MemoryPolicy.model_validate({"summaries": {"enabled": False}, **memory}),
    )
    model = ScriptedModel(script=script or ["noted", "noted", "noted"])
    agent = resolve_agent(config, model=model, small_model=ScriptedModel(script=small or ["no facts here"]))
    return build_agent(agent, store=store or memory_store(), checkpointer=InMemorySaver())


def named(result: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [card for card in result.get("ui", []) if card["name"] == name]


async def test_what_stood_in_the_prompt_and_what_was_kept_come_with_the_answer() -> None:
    store = memory_store()
    await MemoryFacade(store).semantic.add(["Ann has a cat called Mimi."], user_id="ann", **APP)
    graph = build(["it is Mimi"], store)
    result = await ask(graph, "What is my cat called?")
    answer = result["messages"][-1].id
    recalled, remembered = result["ui"]
    assert (recalled["id"], remembered["id"]) == (f"recalled-{answer}", f"remembered-{answer}")
    assert {card["metadata"]["message_id"] for card in result["ui"]} == {answer}
    [memory] = recalled["props"]["memories"]
    assert memory["text"] == "Ann has a cat called Mimi."
    assert (memory["scope"], memory["origin"]) == ("semantic", "import")
    assert memory["date"].startswith("20")
    # nothing is drawn yet, and the card does not claim so
    assert remembered["props"]["state"] == "reading"
    assert remembered["props"]["stored"] == []
    # what the prompt of the turn had is private to it
    assert "recall_card" not in result
    saved = await graph.checkpointer.aget_tuple(thread())  # type: ignore[union-attr]
    assert saved.checkpoint["channel_values"].get("recall_card") is None  # type: ignore[union-attr]


async def test_what_is_drawn_at_once_is_merged_into_the_card_that_said_it_is_kept() -> None:
    drawn = json.dumps(proposal(facts=[fact(1, "I live in Hue")]))
    graph = build(small=[drawn], extraction={"mode": "inline"})
    stream = graph.astream({"messages": [("user", "I live in Hue")]}, thread(), context=ANN, stream_mode="custom")
    pushed = [event async for event in stream if event["type"] == "ui"]
    assert [(card["props"]["state"], card["metadata"]["merge"]) for card in pushed] == [
        ("reading", False),
        ("read", True),
    ]
    [card] = (await graph.aget_state(thread())).values["ui"]
    assert card["props"]["stored"] == ["I live in Hue"]
    # of the card before
    assert "page" in card["props"]


async def test_with_it_both_managers_have_the_same_fields_and_take_the_same_input() -> None:
    react, react_mem = build(manager="react"), build()
    for schema in ("get_input_jsonschema", "get_output_jsonschema"):
        assert getattr(react, schema)() == getattr(react_mem, schema)()
    assert "ui" not in react_mem.get_input_jsonschema()["properties"]
    assert "ui" in react_mem.get_output_jsonschema()["properties"]
    assert not (await ask(react)).get("ui")


@pytest.mark.parametrize("context", [None, {**ANN, "use_memory": False}])
async def test_where_memory_is_off_there_is_no_card(context: Any) -> None:
    assert not (await ask(build(), "I live in Hue", context=context)).get("ui")


async def test_where_memory_is_down_there_is_no_card_and_the_answer_comes() -> None:
    store = BrokenStore()
    store.broken = True
    result = await ask(build(["hello"], store), "I live in Hue")
    assert result["messages"][-1].text == "hello"
    assert not result.get("ui")


def found(text: str, **payload: Any) -> MemoryResultItem:
    return MemoryResultItem(scope=MemoryScope.SEMANTIC, id=text[:10], payload={"text": text, **payload})


def test_a_card_has_so_many_memories_and_says_how_many_more_there_were() -> None:
    card = recalled_memories(found(f"fact {number % 20}") for number in range(40))
    assert card is not None
    assert (len(card["memories"]), card["more"]) == (MOST_MEMORIES, 20 - MOST_MEMORIES)
    assert recalled_memories([found("")]) is None


def test_a_thread_keeps_the_latest_cards() -> None:
    cards: list[Any] = []
    for number in range(MOST_CARDS + 5):
        cards = latest_cards(cards, {"type": "ui", "id": str(number), "name": "recalled", "props": {}, "metadata": {}})
    assert [card["id"] for card in cards] == [str(number) for number in range(5, MOST_CARDS + 5)]


@pytest.mark.parametrize(
    ("said", "page"),
    [("http://127.0.0.1:2024/", "http://127.0.0.1:2024/memory/ui#/memories"), ("javascript:alert(1)//", "")],
)
async def test_the_link_goes_where_the_server_says_it_listens(
    monkeypatch: pytest.MonkeyPatch, said: str, page: str
) -> None:
    monkeypatch.setenv("LANGGRAPH_API_URL", said)
    [card] = named(await ask(build(), "I live in Hue"), "remembered")
    assert card["props"]["page"] == page
