"""Streaming: the same modes, tokens and events whichever manager runs."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessageChunk

from tests.contract.conftest import Build
from tests.contract.test_loop import ANN, thread, weather
from tests.support.scripted_model import ScriptedModel, calls

QUESTION = {"messages": [("user", "how is Huế?")]}


async def collect(graph: Any, mode: str) -> list[Any]:
    return [part async for part in graph.astream(QUESTION, thread(), context=ANN, stream_mode=mode)]


def script() -> ScriptedModel:
    return ScriptedModel(script=[calls(("weather", {"city": "Huế"}), text="let me look"), "it is sunny there"])


async def test_tokens_of_the_answer_come_one_by_one(build_any: Build) -> None:
    parts = await collect(build_any(script(), [weather]), "messages")
    tokens = [c.text for c, _ in parts if isinstance(c, AIMessageChunk) and c.text]
    assert tokens == ["let", " me", " look", "it", " is", " sunny", " there"]


async def test_the_steps_are_told_as_events(build: Build) -> None:
    events = await collect(build(script(), [weather]), "custom")
    assert [event for event in events if event["type"] not in {"memory", "context"}] == [
        {"type": "thought", "text": "let me look"},
        {"type": "action", "id": "call-weather-0", "name": "weather", "args": {"city": "Huế"}},
        {"type": "observation", "id": "call-weather-0", "name": "weather", "content": "sunny in Huế", "error": False},
        {"type": "answer", "text": "it is sunny there"},
    ]


async def test_values_end_in_the_answer(build: Build) -> None:
    values = await collect(build(script(), [weather]), "values")
    assert values[-1]["messages"][-1].text == "it is sunny there"
    assert set(values[-1]) == {"messages"}
