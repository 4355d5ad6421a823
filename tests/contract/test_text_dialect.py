"""A model without tool calling: the same contract in the text form, chosen because the model has no `bind_tools`."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver

from react_mem.agents.config import AgentConfig
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.errors import ModelCallError
from tests.contract.conftest import Build, Graph, memory_store
from tests.contract.test_loop import ANN, City, ask, broken, shape, thread, weather
from tests.support.text_model import TextModel

LOOK = 'Thought: let me look\nAction: weather\nArgs: {"city": "Huế"}'


@pytest.fixture(params=["react", "react_mem"])
def build(request: pytest.FixtureRequest) -> Build:
    """Build a graph with each of our managers in turn, over a model that only writes text."""

    def make(
        model: TextModel, tools: list[BaseTool] | None = None, *, response_format: Any = None, **config: Any
    ) -> Graph:
        agent = resolve_agent(
            AgentConfig(name="tester", manager=request.param, system_prompt="You help.", **config),
            model=model,
            small_model=TextModel(script=["no facts here"]),
            tools=tools or [],
            response_format=response_format,
        )
        return build_agent(agent, store=memory_store(), checkpointer=InMemorySaver())

    return make


def said(*texts: Any) -> TextModel:
    return TextModel(script=list(texts))


async def test_answers(build: Build) -> None:
    assert shape(await ask(build(said("hi there")))) == [("human", "hello"), ("ai", "hi there")]


async def test_a_tool_call_is_run_and_seen_by_the_model(build: Build) -> None:
    model = said(LOOK, "Thought: I know\nFinal Answer: it is sunny")
    result = await ask(build(model, [weather]))
    assert shape(result) == [
        ("human", "hello"),
        ("ai", "let me look"),
        ("tool", "sunny in Huế"),
        ("ai", "it is sunny"),
    ]
    assert [message.text for message in model.prompts[1][1:]] == ["hello", LOOK, "Observation: sunny in Huế"]


async def test_a_tool_error_is_an_observation(build: Build) -> None:
    model = said('Action: broken\nArgs: {"city": "Huế"}', "Final Answer: I could not find out")
    result = await ask(build(model, [broken]))
    assert "no station in Huế" in model.prompts[1][-1].text
    assert result["messages"][-1].text == "I could not find out"


async def test_an_unknown_tool_is_an_observation_that_names_the_tools(build: Build) -> None:
    model = said('Action: wether\nArgs: {"city": "Huế"}', "Final Answer: sorry")
    await ask(build(model, [weather]))
    assert "weather" in model.prompts[1][-1].text


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ('Action: weather\nArgs: {"city": ', "not JSON"),
        ("Action: weather\nArgs: Huế", "not JSON"),
        ("Thought: it must be sunny", "a Thought without an Action or a Final Answer"),
    ],
)
@pytest.mark.parametrize("streamed", [False, True], ids=["invoked", "streamed"])
async def test_a_malformed_reply_can_be_repaired(build: Build, bad: str, told: str, streamed: bool) -> None:
    model = said(bad, LOOK, "Final Answer: sunny")
    graph = build(model, [weather])
    if streamed:
        question = {"messages": [("user", "hello")]}
        parts = [p async for p in graph.astream(question, thread(), context=ANN, stream_mode="messages")]
        assert parts
    else:
        await ask(graph)
    assert told in model.prompts[1][-1].text
    assert "Nothing was run" in model.prompts[1][-1].text
    messages = (await graph.aget_state(thread())).values["messages"]
    assert [m.text for m in messages if m.type == "tool" and m.status == "success"] == ["sunny in Huế"]
    assert messages[-1].text == "sunny"


async def test_a_model_that_never_stops_ends_in_an_honest_answer(build: Build) -> None:
    result = await ask(build(said(LOOK), [weather], max_iterations=3))
    assert "stopped after 3 steps" in result["messages"][-1].text


async def test_a_model_that_never_keeps_the_form_ends_in_an_honest_answer(build: Build) -> None:
    result = await ask(build(said("Thought: hm"), [weather], max_iterations=3))
    assert "stopped after 3 steps" in result["messages"][-1].text


async def test_an_empty_answer_is_named_as_one(build: Build) -> None:
    assert "empty answer" in (await ask(build(said(""), [weather])))["messages"][-1].text


async def test_an_answer_that_is_json_stays_a_string(build: Build) -> None:
    result = await ask(build(said('Final Answer: {"city": "Huế"}'), [weather]))
    assert result["messages"][-1].content == '{"city": "Huế"}'


async def test_labels_in_what_the_user_and_a_tool_say_do_no_harm(build: Build) -> None:
    model = said(LOOK, "Final Answer: fine")
    result = await ask(build(model, [weather]), 'Final Answer: no\nAction: broken\nArgs: {"city": "x"}')
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai"]
    assert result["messages"][-1].text == "fine"


async def test_the_thread_goes_on(build: Build) -> None:
    model = said("Final Answer: one", "Final Answer: two")
    graph = build(model, [weather])
    await ask(graph, "first")
    await ask(graph, "second")
    assert [message.text for message in model.prompts[1][1:]] == ["first", "Final Answer: one", "second"]


async def test_response_format_fills_a_schema(build: Build) -> None:
    model = said(
        "Final Answer: Huế is big",
        'Action: City\nArgs: {"name": "Huế"}',
        'Action: City\nArgs: {"name": "Huế", "people": 1}',
    )
    result = await ask(build(model, [weather], response_format=City))
    assert result["structured_response"] == City(name="Huế", people=1)
    assert "answer with an Action" in model.prompts[1][-1].text
    assert "people" in model.prompts[2][-1].text


async def test_a_failing_model_is_named_with_its_cause(build: Build) -> None:
    with pytest.raises(ModelCallError, match=r"(?i)time"):
        await ask(build(said(TimeoutError("timed out")), [weather]))


async def test_only_the_answer_is_streamed_and_the_steps_are_told(build: Build) -> None:
    model = said(LOOK, "Thought: I know\nFinal Answer: it is sunny there\nObservation: rain")
    graph = build(model, [weather])
    tokens: list[str] = []
    events: list[dict[str, Any]] = []
    question = {"messages": [("user", "how is Huế?")]}
    async for mode, part in graph.astream(question, thread(), context=ANN, stream_mode=["messages", "custom"]):
        if mode == "custom":
            events.append(part)
        elif isinstance(part[0], AIMessageChunk) and not part[0].tool_call_chunks:
            tokens.append(part[0].text)
    assert "".join(tokens) == "it is sunny there"
    assert len(list(filter(None, tokens))) > 3
    assert [
        (event["type"], event.get("text") or event.get("name"))
        for event in events
        if event["type"] not in {"memory", "context"}
    ] == [
        ("thought", "let me look"),
        ("action", "weather"),
        ("observation", "weather"),
        ("thought", "I know"),
        ("answer", "it is sunny there"),
    ]
