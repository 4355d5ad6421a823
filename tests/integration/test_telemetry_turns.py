"""Turns over a real database, as telemetry tells them: what, how long, how much - and not a word of what was said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from prometheus_client.parser import text_string_to_metric_families

from react_mem.agents.config import AgentConfig
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.postgres import MemoryStore
from react_mem.memory.telemetry import watch_pool
from react_mem.memory.telemetry.catalogue import INSTRUMENTS
from react_mem.memory.telemetry.prometheus import exposition
from tests.support.databases import open_memory_store
from tests.support.heard import Heard, hear
from tests.support.recalling import SenseEmbeddings
from tests.support.scripted_model import ScriptedModel, calls

MARK = "zqxmarker"
"""In every text, name and id of the turns; a word that passes for a model's or a tool's name."""


@pytest.fixture
def heard() -> Iterator[Heard]:
    with hear() as heard:
        yield heard


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    if "nowhere" in city:
        raise LookupError(f"{city} {MARK}")
    return f"{MARK} sunny in {city}"


def spent(message: AIMessage, read: int, written: int) -> AIMessage:
    usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    return message.model_copy(update={"usage_metadata": usage})


def graph(store: Any, script: list[Any], facts: list[Any]) -> Any:
    agent = resolve_agent(
        AgentConfig(
            name="tester", manager="react_mem", system_prompt=MARK, memory=MemoryPolicy(extraction={"mode": "inline"})
        ),
        model=ScriptedModel(script=script, name="big-model"),
        small_model=ScriptedModel(script=facts, name="small-model"),
        tools=[weather],
    )
    return build_agent(agent, store=store, checkpointer=InMemorySaver())


async def turn(graph: Any, text: str, thread: str = f"thread-{MARK}", user: str = f"{MARK}@example.com") -> Any:
    config = {"configurable": {"thread_id": thread}}
    return await graph.ainvoke({"messages": [("user", text)]}, config, context={"user_id": user})


async def test_a_turn_tells_what_it_did(memory_store: MemoryStore, heard: Heard) -> None:
    script = [
        spent(calls(("weather", {"city": "Huế"})), 100, 10),
        spent(calls(("weather", {"city": "nowhere"})), 120, 10),
        spent(AIMessage("It is sunny."), 150, 5),
    ]
    facts = [spent(AIMessage("no facts here"), 400, 7)]
    built = graph(memory_store, script, facts)
    await turn(built, "How is the weather in Huế?")

    assert heard.total("turns") == 1
    assert heard.points("turn.tokens") == {
        frozenset({("direction", "input")}): (1, 370),
        frozenset({("direction", "output")}): (1, 25),
    }
    assert heard.total("model.duration", purpose="answer", model="big-model") == 3
    assert heard.total("model.tokens", purpose="answer", direction="input") == 370
    # two attempts, since the first was no JSON
    assert heard.total("model.tokens", purpose="extraction", model="small-model", direction="input") == 800
    assert heard.total("tool.duration", tool="weather") == 2
    assert heard.total("errors", operation="tool", error_type="ToolError") == 1
    assert heard.total("read.duration") >= 1
    assert heard.total("write.duration") >= 1
    assert heard.total("embedding.duration", model="test:words", input="query") >= 1
    assert heard.total("embedding.texts", input="documents") >= 1
    assert heard.total("errors", operation="read") == 0


async def test_what_is_retrieved_is_counted_by_what_it_is(memory_store: MemoryStore, heard: Heard) -> None:
    memory = MemoryFacade(memory_store)
    fact = {"text": "User has a cat", "source_ids": ["1"]}
    await memory.semantic.add([fact], user_id="ann", session_id="monday", agent_id="tester")
    query = MemoryQuery(
        user_id="ann", session_id="today", agent_id="tester", scopes=[MemoryScope.SEMANTIC], query="the cat"
    )
    assert len(await memory.read(query)) == 1
    assert heard.total("retrieved", source="fact") == 1
    assert heard.points("read.results") == {frozenset(): (1, 1)}
    # spans know their parents across tasks
    [span] = [span for span in heard.spans if span.name == "react_mem.read"]
    inside = [other for other in heard.spans if other.parent and other.parent.span_id == span.context.span_id]
    assert "react_mem.embedding" in {other.name for other in inside}


async def test_a_failing_embedder_shows_as_an_error_and_what_was_done_without(database_url: str, heard: Heard) -> None:
    embeddings = SenseEmbeddings()
    embeddings.error = ConnectionError(f"no route {MARK}")
    async with open_memory_store(database_url, EmbeddingModel("test:failing", 256, embeddings)) as store:
        query = MemoryQuery(user_id="ann", session_id="s", agent_id="a", scopes=[MemoryScope.SEMANTIC], query="the cat")
        assert "vector" in (await MemoryFacade(store).read(query)).missing
        await store.scale.settle()
    # the question's, and those by which the model's scale would have been measured
    assert heard.total("errors", operation="embedding", error_type="ConnectionError") > 1
    assert heard.total("embedding.duration", error_type="ConnectionError") == heard.total("errors")
    assert heard.total("degradations", part="vector") == 1
    assert heard.total("errors", operation="read") == 0
    assert MARK not in heard.everything()


async def test_a_database_that_is_down_shows_as_an_error(heard: Heard) -> None:
    class Down(InMemoryStore):
        async def abatch(self, ops: Any) -> Any:
            raise ConnectionError(f"refused {MARK}")

    result = await turn(graph(Down(), ["hello"], ["none"]), "hi")
    assert result["messages"][-1].text == "hello"
    assert heard.total("errors", operation="read", error_type="ConnectionError") == 1
    assert MARK not in heard.everything()


async def test_a_model_that_fails_shows_as_an_error_by_model(memory_store: MemoryStore, heard: Heard) -> None:
    with pytest.raises(Exception, match="big-model"):
        await turn(graph(memory_store, [TimeoutError(MARK)], ["none"]), "hi")
    assert heard.total("model.duration", model="big-model", error_type="TimeoutError") >= 1
    assert MARK not in heard.everything()


async def test_the_pool_is_told_while_it_is_open(database_url: str, words: EmbeddingModel, heard: Heard) -> None:
    before = heard.total("pool.limit")
    async with open_memory_store(database_url, words) as store:
        watch_pool(store.pool)
        assert heard.total("pool.limit") == before + store.pool.max_size
        async with store.pool.connection():
            assert heard.total("pool.connections", state="used") >= 1
    assert heard.total("pool.limit") == before


async def test_nothing_of_what_was_said_is_told(memory_store: MemoryStore, heard: Heard) -> None:
    def schema_filled(text: str) -> AIMessage:
        proposal = {"facts": [{"op": "add", "text": f"{MARK} {text}"}], "summary": f"{MARK} summary"}
        return AIMessage(json.dumps(proposal))

    script = [
        calls(("weather", {"city": f"nowhere {MARK}"}), text=f"thinking of {MARK}"),
        # a tool that there is not, by a name that is content
        calls((f"tell_{MARK}", {"x": MARK}), (MARK, {})),
        AIMessage(f"{MARK} is all I know", response_metadata={"finish_reason": MARK}),
    ]
    exposition()  # it counts from now on
    built = graph(memory_store, [*script, *script], [schema_filled("one"), TimeoutError(MARK)])
    for number in range(2):
        said = await turn(built, f"{MARK} wrote {number} to {MARK}@example.com", thread=f"{MARK}-{number}")
        assert any(isinstance(message, ToolMessage) and MARK in message.text for message in said["messages"])
    told, scraped = heard.everything(), exposition().decode()
    for text in (told, scraped):
        assert MARK not in text
        assert "example.com" not in text
    # and it did tell of these turns
    assert heard.total("tool.duration", tool="unknown") >= 2
    assert "react_mem_turns_total" in scraped
    _is_of_the_catalogue(scraped)


def _is_of_the_catalogue(scraped: str) -> None:
    """Check that everything that is told is declared, with no label besides."""
    units = {"s": "_seconds"}
    declared = {
        f"react_mem_{i.name.replace('.', '_')}{units.get(i.unit, '')}": {label.name for label in i.labels}
        for i in INSTRUMENTS
    }
    ratios = {name + "_ratio": labels for name, labels in declared.items()}
    families = list(text_string_to_metric_families(scraped))
    assert families
    for family in families:
        labels = {**ratios, **declared}[family.name]
        for sample in family.samples:
            assert set(sample.labels) - {"le"} <= labels
