"""The loop: what goes in, what comes out, what the model sees."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.tools import tool
from langgraph.errors import EmptyInputError
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel

from react_mem.errors import InvalidInputError
from tests.contract.conftest import Build, Graph
from tests.support.scripted_model import ScriptedModel, calls

ANN = {"user_id": "ann"}


def thread(name: str = "1") -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


async def ask(graph: Graph, text: Any = "hello", name: str = "1", **kwargs: Any) -> dict[str, Any]:
    messages = text if isinstance(text, list) else [{"role": "user", "content": text}]
    return await graph.ainvoke({"messages": messages}, thread(name), context=kwargs.pop("context", ANN), **kwargs)


def shape(result: dict[str, Any]) -> list[tuple[str, str]]:
    return [(message.type, message.text) for message in result["messages"]]


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"sunny in {city}"


@tool
def broken(city: str) -> str:
    """Fail."""
    raise RuntimeError(f"no station in {city}")


async def test_a_tool_call_is_run_and_seen_by_the_model(build_any: Build) -> None:
    model = ScriptedModel(script=[calls(("weather", {"city": "Huế"}), text="let me look"), "it is sunny"])
    result = await ask(build_any(model, [weather]))
    assert shape(result) == [
        ("human", "hello"),
        ("ai", "let me look"),
        ("tool", "sunny in Huế"),
        ("ai", "it is sunny"),
    ]
    assert [message.type for message in model.prompts[1]] == ["system", "human", "ai", "tool"]


async def test_a_tool_error_is_an_observation(build: Build) -> None:
    model = ScriptedModel(script=[calls(("broken", {"city": "Huế"})), "I could not find out"])
    result = await ask(build(model, [broken]))
    seen = model.prompts[1][-1]
    assert isinstance(seen, ToolMessage)
    assert seen.status == "error"
    assert "no station in Huế" in seen.text
    assert result["messages"][-1].text == "I could not find out"


async def test_an_unknown_tool_is_an_observation_that_names_the_tools(build_any: Build) -> None:
    result = await ask(build_any([calls(("wether", {"city": "Huế"})), "sorry"], [weather]))
    [observation] = [m for m in result["messages"] if m.type == "tool"]
    assert "weather" in observation.text
    assert result["messages"][-1].text == "sorry"


async def test_arguments_that_are_no_json_can_be_repaired(build: Build) -> None:
    bad = AIMessage("", invalid_tool_calls=[invalid_tool_call(name="weather", args='{"city": ', id="c1", error=None)])
    model = ScriptedModel(script=[bad, calls(("weather", {"city": "Huế"})), "sunny"])
    result = await ask(build(model, [weather]))
    assert "not valid JSON" in model.prompts[1][-1].text
    assert "Nothing was run" in model.prompts[1][-1].text
    assert result["messages"][-1].text == "sunny"


async def test_a_model_that_never_stops_ends_in_an_honest_answer(build: Build) -> None:
    model = ScriptedModel(script=[calls(("weather", {"city": "Huế"}))])
    result = await ask(build(model, [weather], max_iterations=3))
    answer = result["messages"][-1]
    assert answer.type == "ai"
    assert not answer.tool_calls
    assert "stopped after 3 steps" in answer.text
    assert "weather" in answer.text
    assert "sunny in Huế" in answer.text
    assert len(model.prompts) == 3


async def test_the_context_may_lower_the_limit_and_change_the_instructions(build: Build) -> None:
    model = ScriptedModel(script=[calls(("weather", {"city": "Huế"}))])
    context = {**ANN, "max_iterations": 2, "system_prompt": "Be brief."}
    left = ["max_iterations", "system_prompt"]
    result = await ask(build(model, [weather], overridable=left), context=context)
    assert "stopped after 2 steps" in result["messages"][-1].text
    assert isinstance(model.prompts[0][0], SystemMessage)
    assert model.prompts[0][0].text.startswith("Be brief.")


async def test_an_empty_answer_is_named_as_one(build: Build) -> None:
    result = await ask(build([AIMessage("", response_metadata={"finish_reason": "content_filter"})]))
    assert "empty answer: content_filter" in result["messages"][-1].text


async def test_the_thread_goes_on_and_threads_do_not_mix(build_any: Build) -> None:
    model = ScriptedModel(script=["one", "two", "three"])
    graph = build_any(model)
    await ask(graph, "first")
    await ask(graph, "second")
    await ask(graph, "elsewhere", name="2")
    assert [m.text for m in model.prompts[1] if m.type != "system"] == ["first", "one", "second"]
    assert [m.text for m in model.prompts[2] if m.type == "human"] == ["elsewhere"]


class City(BaseModel):
    """A city."""

    name: str
    people: int


@pytest.mark.parametrize(
    "given",
    ["hi", [("user", "hi")], [HumanMessage("hi")]],
    ids=["text", "pairs", "messages"],
)
async def test_messages_come_in_every_form_and_keep_their_ids(build_any: Build, given: Any) -> None:
    graph = build_any(["hello"])
    result = await graph.ainvoke({"messages": given}, thread(), context=ANN)
    assert shape(result) == [("human", "hi"), ("ai", "hello")]
    first = (await graph.aget_state(thread())).values["messages"]
    again = (await graph.aget_state(thread())).values["messages"]
    assert [m.id for m in result["messages"]] == [m.id for m in first] == [m.id for m in again]


@pytest.mark.parametrize("given", ["", [{"type": "text", "text": " "}]], ids=["nothing", "block"])
async def test_an_empty_message_is_refused_in_words(build: Build, given: Any) -> None:
    graph = build(["never said", "hello"])
    with pytest.raises(InvalidInputError, match="message is empty: write something"):
        await ask(graph, [{"role": "user", "content": given}])
    assert (await ask(graph, "hi"))["messages"][-1].text == "never said"


@pytest.mark.parametrize("given", [{"messages": []}, {"input": "and now?"}, {}], ids=["empty", "unknown", "nothing"])
async def test_a_question_that_is_answered_is_not_answered_again(build: Build, given: dict[str, Any]) -> None:
    graph = build(["the answer", "never said"])
    await ask(graph)
    with pytest.raises((InvalidInputError, EmptyInputError)):
        await graph.ainvoke(given, thread("1"), context=ANN)
    state = await graph.aget_state(thread("1"))
    assert [message.text for message in state.values["messages"]] == ["hello", "the answer"]


async def test_within_another_graph_an_answer_is_gone_on_from(build_any: Build) -> None:
    graph = build_any(["the rest"])
    outer = StateGraph(MessagesState)
    outer.add_node("inner", graph)
    outer.add_edge(START, "inner")
    said = {"messages": [("user", "hello"), ("ai", "the first half")]}
    done = await outer.compile().ainvoke(said, context=ANN)
    assert done["messages"][-1].text == "the rest"


async def test_both_managers_have_the_same_schemas() -> None:
    from tests.contract.conftest import build_manager

    react, mem = build_manager("react", ["x"]), build_manager("react_mem", ["x"])
    assert react.get_input_jsonschema() == mem.get_input_jsonschema() | {"title": react.get_input_jsonschema()["title"]}
    assert react.get_context_jsonschema() == mem.get_context_jsonschema()
    ours, theirs = react.get_output_jsonschema()["properties"], mem.get_output_jsonschema()["properties"]
    assert ours == theirs
    assert set(ours) == {"messages", "structured_response"}


async def test_a_model_going_in_circles_is_stopped(build: Build) -> None:
    model = ScriptedModel(script=[calls(("weather", {"city": "Huế"}))])
    result = await ask(build(model, [weather], max_iterations=50))
    assert "called weather 3 times with the same arguments" in result["messages"][-1].text
    assert len(model.prompts) == 4


@tool
def archive(page: int) -> str:
    """Read a page of the archive."""
    row = f"Row {page * 1111} of page {page} is about nothing in particular. "
    return f"{row * 30}The key of page {page} is key_{page}{page}. {row * 30}"


async def test_twelve_steps_give_the_same_messages_and_a_prompt_that_stays_small() -> None:
    from tests.contract.conftest import build_manager

    def said(model: ScriptedModel) -> list[int]:
        return [sum(len(message.text) for message in prompt) // 3 for prompt in model.prompts]

    script = [calls(("archive", {"page": page}), text=f"after key_{page - 1}{page - 1}") for page in range(1, 13)]
    results, sizes = {}, {}
    for manager in ("react", "react_mem"):
        model = ScriptedModel(script=[*script, "the keys are found"])
        result = await ask(build_manager(manager, model, [archive], max_iterations=20), "Collect the keys.")
        results[manager] = [(m.type, m.text, getattr(m, "tool_calls", None)) for m in result["messages"]]
        sizes[manager] = said(model)
        last = model.prompts[-1]
    assert results["react_mem"] == results["react"]
    assert len(results["react"]) == 26
    # three raw results of 1,000 tokens, the one that makes it too much, and the notes on nine
    assert max(sizes["react"]) > 12_000
    assert max(sizes["react_mem"]) < 5_500
    assert all(f"key of page {page} is key_{page}{page}" in str(last) for page in range(1, 13))


async def test_a_compressed_step_can_be_looked_at_again() -> None:
    from tests.contract.conftest import build_manager

    script = [*(calls(("archive", {"page": page})) for page in range(1, 7)), calls(("recall_step", {"step": 2})), "ok"]
    model = ScriptedModel(script=script)
    result = await ask(build_manager("react_mem", model, [archive]), "Collect the keys.")
    assert "recall_step(2)" in str(model.prompts[6])
    [recalled] = [m.text for m in result["messages"] if m.type == "tool" and m.name == "recall_step"]
    assert recalled == f'archive({{"page": 2}})\n{archive.invoke({"page": 2})}'
    # it is offered once there is something to recall
    assert ["archive"] in model.bound
    assert model.bound[-1] == ["archive", "recall_step"]


async def test_an_image_reaches_the_model_as_it_is(build_any: Build) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    model = ScriptedModel(script=["a cat"])
    await ask(build_any(model), [{"role": "user", "content": [{"type": "text", "text": "what is it?"}, image]}])
    assert image in model.prompts[0][-1].content
