"""A thread that the application trims outside of a turn goes on, whatever is left: no provider is sent half a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage, trim_messages
from langchain_openai import ChatOpenAI
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from tests.contract.conftest import Build
from tests.contract.test_loop import ask, shape, thread, weather
from tests.support.openai_server import OpenAIServer, Reply, Request, ToolCall
from tests.support.scripted_model import ScriptedModel

Trim = Callable[[Sequence[AnyMessage]], list[Any]]


def trimmed(**how: Any) -> Trim:
    """Return `trim_messages` as a trim: everything is removed, and what it leaves is put back."""

    def trim(messages: Sequence[AnyMessage]) -> list[Any]:
        left = trim_messages(messages, token_counter=len, **how)
        return [RemoveMessage(REMOVE_ALL_MESSAGES), *left]

    return trim


def without(drop: Callable[[int, AnyMessage], bool]) -> Trim:
    return lambda messages: [RemoveMessage(str(m.id)) for place, m in enumerate(messages) if drop(place, m)]


def _calls(message: AnyMessage) -> bool:
    return isinstance(message, AIMessage) and bool(message.tool_calls)


CITIES = ("Hue", "Hanoi")

# the thread: two turns of question, two calls in one answer, their two results, answer
TRIMS: dict[str, Trim] = {
    "the first three": without(lambda place, _: place < 3),
    "one of two results": without(lambda place, _: place == 2),
    "all questions": without(lambda _, m: isinstance(m, HumanMessage)),
    "trim_messages last": trimmed(strategy="last", max_tokens=3),
    "results out of order": lambda messages: [
        RemoveMessage(REMOVE_ALL_MESSAGES),
        *(m for m in messages if m.type != "tool"),
        *reversed([m for m in messages if m.type == "tool"]),
    ],
}


def openai(server: OpenAIServer) -> BaseChatModel:
    return ChatOpenAI(model="scripted", base_url=server.base_url, api_key="none", max_retries=0)  # type: ignore[arg-type]


def claude(server: OpenAIServer) -> BaseChatModel:
    anthropic = pytest.importorskip("langchain_anthropic")
    address = server.base_url.removesuffix("/v1")
    model: BaseChatModel = anthropic.ChatAnthropic(model="scripted", base_url=address, api_key="none", max_retries=0)
    return model


@pytest.mark.parametrize("provider", [openai, claude])
async def test_a_trimmed_thread_goes_on(
    build_any: Build, provider: Callable[[OpenAIServer], BaseChatModel], openai_server: OpenAIServer
) -> None:
    def answer(request: Request) -> Reply:
        calls = [ToolCall("weather", {"city": city}, f"call_{len(openai_server.requests)}_{city}") for city in CITIES]
        return Reply(tool_calls=calls) if request.last.startswith("Look") else Reply(text="fine")

    openai_server.add(answer, when=lambda _: True, repeat=True)
    graph = build_any(provider(openai_server), [weather])
    refused: dict[str, str] = {}
    for name, trim in TRIMS.items():
        await ask(graph, "Look, please.", name)
        before = (await ask(graph, "Look again.", name))["messages"]
        await graph.aupdate_state(thread(name), {"messages": trim(before)})
        try:
            for _ in range(2):
                assert shape(await ask(graph, "Go on.", name))[-1] == ("ai", "fine")
        except Exception as error:
            refused[name] = str(error)
    assert refused == {}


async def test_a_result_reaches_its_call_and_thinking_stays_with_it(build_any: Build) -> None:
    model = ScriptedModel(script=["fine"])
    call = {"name": "weather", "args": {"city": "Hue"}, "id": "toolu_1", "type": "tool_call"}
    thinking = {"type": "thinking", "thinking": "I look.", "signature": "s"}
    use = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Hue"}}
    said = [
        ToolMessage("lost", tool_call_id="toolu_0"),
        HumanMessage("Look."),
        AIMessage([thinking, use], tool_calls=[call]),
        AIMessage("Yes."),
        ToolMessage("sunny", tool_call_id="toolu_1"),
        HumanMessage("And?"),
    ]
    await ask(build_any(model, [weather]), said)
    shown = [message for message in model.prompts[0] if message.type != "system"]
    assert [message.type for message in shown] == ["human", "ai", "tool", "ai", "human"]
    assert shown[1].content == [thinking, use]
    assert shown[2].text == "sunny"
