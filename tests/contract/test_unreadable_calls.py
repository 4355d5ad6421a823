"""Tool calls that cannot be read, or that have no id: few model calls, and every result knows its call."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call, tool_call
from langchain_openai import ChatOpenAI

from tests.contract.conftest import Build, Graph
from tests.contract.test_loop import ANN, ask, thread, weather
from tests.support.openai_server import OpenAIServer, Reply, ToolCall
from tests.support.scripted_model import ScriptedModel, calls


def unreadable(args: str = '{"city": ', id_: str | None = "c1", name: str = "weather") -> AIMessage:
    return AIMessage("", invalid_tool_calls=[invalid_tool_call(name=name, args=args, id=id_, error=None)])


def different(messages: Any) -> AIMessage:
    """Return a call that cannot be read, another one each time."""
    return unreadable(args=f'{{"city": {len(messages)}', id_=f"c{len(messages)}")


def assert_each_result_has_its_call(messages: list[AnyMessage]) -> None:
    """Check what providers check: ids that are given and unique, and a result behind each call."""
    open_: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            open_.remove(message.tool_call_id)
            continue
        assert not open_
        if isinstance(message, AIMessage):
            open_ = [str(call["id"]) for call in [*message.tool_calls, *message.invalid_tool_calls]]
            assert len(set(open_)) == len(open_)
            assert not {"", "None"} & set(open_)
    assert not open_


@pytest.mark.parametrize("said", [unreadable(), different], ids=["the same", "different"])
async def test_a_model_whose_calls_cannot_be_read_is_asked_three_times(build: Build, said: Any) -> None:
    model = ScriptedModel(script=[said])
    result = await ask(build(model, [weather], max_iterations=10))
    assert len(model.prompts) == 3
    answer = result["messages"][-1]
    assert isinstance(answer, AIMessage)
    assert "3 times in a row the tool call that I wrote could not be read (its arguments are not valid" in answer.text
    assert not answer.invalid_tool_calls
    assert_each_result_has_its_call(result["messages"])


async def test_a_thread_that_ends_with_a_call_that_cannot_be_read_goes_on(build: Build) -> None:
    model = ScriptedModel(script=["sunny"])
    result = await build(model, [weather]).ainvoke(
        {"messages": [("user", "weather?"), unreadable()]}, thread(), context=ANN
    )
    assert result["messages"][-1].text == "sunny"
    assert_each_result_has_its_call(model.prompts[0])


async def whole(graph: Graph, text: str) -> None:
    await graph.ainvoke({"messages": [("user", text)]}, thread(), context=ANN)


async def as_events(graph: Graph, text: str) -> None:
    async for _ in await graph.astream_events({"messages": [("user", text)]}, thread(), context=ANN, version="v3"):
        pass


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
@pytest.mark.parametrize("run", [whole, as_events])
@pytest.mark.parametrize("args", ["[1, 2]", '"Huế"'])
@pytest.mark.parametrize("models", [{}, {"fallback": ["extractive"]}], ids=["alone", "with a fallback"])
async def test_arguments_that_are_no_object_cannot_be_read(
    build: Build, openai_server: OpenAIServer, run: Any, args: str, models: dict[str, Any]
) -> None:
    both = (ToolCall("weather", args), ToolCall("weather", args))
    openai_server.add(*[Reply(tool_calls=both)] * 3, Reply(tool_calls=both[:1]), Reply(text="sunny"))
    model = ChatOpenAI(base_url=openai_server.base_url, api_key="none", model="scripted", max_retries=0)
    graph = build(model, [weather], max_iterations=10, models=models)
    await run(graph, "hello")
    messages = (await graph.aget_state(thread())).values["messages"]
    assert len(openai_server.chats()) == 3
    assert "3 times in a row the tool call that I wrote could not be read" in messages[-1].text
    # the server refuses a prompt that OpenAI would refuse, so that the next turn shows that it can be sent
    await run(graph, "again")
    messages = (await graph.aget_state(thread())).values["messages"]
    assert messages[-1].text == "sunny"
    assert_each_result_has_its_call(messages)
    assert "no object" in openai_server.chats()[-1].last


async def test_a_call_that_can_be_read_starts_the_count_anew(build: Build) -> None:
    good = calls(("weather", {"city": "Huế"}))
    model = ScriptedModel(script=[different, different, good, different, different, "sunny"])
    result = await ask(build(model, [weather], max_iterations=10))
    assert result["messages"][-1].text == "sunny"
    assert len(model.prompts) == 6


@pytest.mark.parametrize("id_", [None, ""], ids=["no id", "an empty id"])
async def test_calls_without_an_id_get_one(build: Build, id_: str | None) -> None:
    wanted = [tool_call(name="weather", args={"city": city}, id=id_) for city in ("Huế", "Vinh")]
    model = ScriptedModel(script=[AIMessage("", tool_calls=wanted), unreadable(id_=id_), "sunny"])
    result = await ask(build(model, [weather]))
    assert [m.text for m in result["messages"] if m.type == "tool"][:2] == ["sunny in Huế", "sunny in Vinh"]
    assert_each_result_has_its_call(result["messages"])
    assert_each_result_has_its_call(model.prompts[-1])


@pytest.mark.parametrize("result_id", ["", "None"])
async def test_a_thread_of_before_that_has_calls_without_an_id_goes_on(build_any: Build, result_id: str) -> None:
    model = ScriptedModel(script=["hello"])
    graph = build_any(model, [weather])
    kept = unreadable(id_=None)
    stored = [kept, ToolMessage("could not be read", tool_call_id=result_id), AIMessage("sorry")]
    open_call = AIMessage("", tool_calls=[tool_call(name="weather", args={}, id=None)])
    await graph.aupdate_state(thread(), {"messages": [("user", "hi"), *stored, ("user", "and?"), open_call]})
    await ask(graph, "again")
    assert next(m.text for m in model.prompts[0] if m.type == "tool") == "could not be read"
    assert_each_result_has_its_call(model.prompts[0])
    before = model.prompts[0]
    await ask(graph, "and again")
    assert model.prompts[1][1 : len(before)] == before[1:]
