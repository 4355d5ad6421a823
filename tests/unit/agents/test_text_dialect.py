"""The text form: what a model writes is read as it was meant, whole and while it is being written."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain.agents.structured_output import ProviderStrategy
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langchain_core.tools import tool
from pydantic import BaseModel

from react_mem.agents.text_dialect import TextDialect
from react_mem.agents.text_form import AnswerStream, Reply, parse_reply
from tests.support.text_model import TextModel


@tool
def weather(city: str, days: int = 1) -> str:
    """Tell the weather of a city."""
    return f"sunny in {city}"


class Day(BaseModel):
    """A day."""

    date: str


@tool
def plan(day: Day, place: str = "home") -> str:
    """Plan a day. Braces {are} no matter."""
    return "planned"


ACTION = Reply(thought="look it up", action="weather", args={"city": "Huế"})

ACTIONS = {
    "plain": 'Thought: look it up\nAction: weather\nArgs: {"city": "Huế"}',
    "bold": '**Thought:** look it up\n**Action:** weather\n**Args:** {"city": "Huế"}',
    "bold-colon-outside": '**Thought**: look it up\n**Action**: `weather`\n**Args**: {"city": "Huế"}',
    "headings": '### Thought\nlook it up\n### Action\nweather\n### Args\n{"city": "Huế"}',
    "bullets": '- Thought: look it up\n- Action: weather\n- Args: {"city": "Huế"}',
    "lower-case": 'thought: look it up\naction: weather\nargs: {"city": "Huế"}',
    "action-input": 'Thought: look it up\nAction: weather\nAction Input: {"city": "Huế"}',
    "fenced": 'Thought: look it up\nAction: weather\nArgs:\n```json\n{\n  "city": "Huế"\n}\n```\nNow I wait.',
    "all-fenced": '```\nThought: look it up\nAction: weather\nArgs: {"city": "Huế"}\n```',
    "goes-on": 'Thought: look it up\nAction: weather\nArgs: {"city": "Huế"} and then I will tell.',
    "made-up": 'Thought: look it up\nAction: weather\nArgs: {"city": "Huế"}\nObservation: rain\nFinal Answer: rain',
    "several": 'Thought: look it up\nAction: weather\nArgs: {"city": "Huế"}\nAction: weather\nArgs: {"city": "Vinh"}',
    "too-early": 'Thought: look it up\nAction: weather\nArgs: {"city": "Huế"}\nThought: done\nFinal Answer: sunny',
    "call": 'Thought: look it up\nAction: weather({"city": "Huế"})',
    "one-line": 'Thought: look it up\nAction: weather Args: {"city": "Huế"}',
    "no-label": 'Thought: look it up\nAction: weather\n{"city": "Huế"}',
    "unlabelled-thought": 'look it up\nAction: weather\nArgs: {"city": "Huế"}',
    "thinking": '<think>\nFinal Answer: no\n</think>\nThought: look it up\nAction: weather\nArgs: {"city": "Huế"}',
    "windows": 'Thought: look it up\r\nAction: weather\r\nArgs: {"city": "Huế"}\r\n',
}


@pytest.mark.parametrize("text", ACTIONS.values(), ids=ACTIONS.keys())
def test_an_action_is_read_however_it_is_decorated(text: str) -> None:
    assert parse_reply(text) == ACTION


ANSWERS = {
    "plain": ("Thought: done\nFinal Answer: It is sunny.", "It is sunny."),
    "alone": ("Final Answer: It is sunny.", "It is sunny."),
    "bold": ("**Final Answer:** It is **sunny**.", "It is **sunny**."),
    "bold-answer": ("Final Answer: **Sunny**, it is.", "**Sunny**, it is."),
    "bold-line": ("**Final Answer: sunny**", "**sunny**"),
    "heading": ("Thought: done\n## Final Answer\n\nIt is sunny.", "It is sunny."),
    "lines": ("Final Answer: It is sunny.\n\n- today\n- tomorrow\n", "It is sunny.\n\n- today\n- tomorrow"),
    "list": ("Final Answer:\n* today\n* tomorrow", "* today\n* tomorrow"),
    "json": ('Final Answer: {"city": "Huế"}', '{"city": "Huế"}'),
    "labels": ("Final Answer: Write\nAction: x\nArgs: y\nThought: z", "Write\nAction: x\nArgs: y\nThought: z"),
    "made-up": ("Final Answer: sunny\nObservation: rain\nFinal Answer: rain", "sunny"),
    "echo": ("Observation: sunny\nFinal Answer: It is sunny.", "It is sunny."),
    "no-action": ("Thought: done\nAction: None\nFinal Answer: It is sunny.", "It is sunny."),
    "as-action": ("Thought: done\nAction: Final Answer\nAction Input: It is sunny.", "It is sunny."),
    "unlabelled": ("It is sunny.", "It is sunny."),
    "vietnamese": ("Thought: xong\nFinal Answer: Trời nắng ở Huế.", "Trời nắng ở Huế."),
    "thinking": ("<think>Action: weather</think>It is sunny.", "It is sunny."),
    "empty": ("", ""),
    "nothing": ("Final Answer:", ""),
}


@pytest.mark.parametrize(("text", "answer"), ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_is_read_and_stays_text(text: str, answer: str) -> None:
    reply = parse_reply(text)
    assert (reply.answer, reply.action, reply.error) == (answer, None, "")


def test_a_call_after_the_answer_is_made_if_there_is_such_a_tool() -> None:
    text = 'Thought: easy\nFinal Answer: Sunny.\n\n**Action:** weather\nArgs: {"city": "Huế"}\nObservation: rain'
    assert parse_reply(text, ["weather"]) == Reply(thought="Sunny.", action="weather", args={"city": "Huế"})
    for other in (text.replace("weather", "call John"), text.replace("{", "["), text.replace("Action", "Observation")):
        assert parse_reply(other, ["weather"]).answer


UNREADABLE = {
    "not-json": ("Action: weather\nArgs: city=Huế", "not JSON"),
    "cut-off": ('Action: weather\nArgs: {"city": "Hu', "not JSON"),
    "list": ('Action: weather\nArgs: ["Huế"]', "not a JSON object"),
    "not-a-number": ('Action: weather\nArgs: {"city": NaN}', "NaN is not a JSON number"),
    "half-a-character": ('Action: weather\nArgs: {"city": "\\ud83d"}', "not JSON"),
    "deep": ("Action: weather\nArgs: " + '{"a":' * 100_000, "not JSON"),
    "thought": ("Thought: I know it.", "a Thought without an Action or a Final Answer"),
    "args": ('Args: {"city": "Huế"}', "Args without an Action"),
    "nameless": ("Action: ()\nArgs: {}", "without a tool's name"),
}


@pytest.mark.parametrize(("text", "error"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_says_why(text: str, error: str) -> None:
    reply = parse_reply(text)
    assert error in reply.error
    assert (reply.answer, reply.args) == (None, None)


LABELS = ["Thought", "Action", "Args", "Action Input", "Final Answer", "final answer", "Observation"]
MARKS = ["**", "*", "_", "## ", "- ", "> ", "`", "(", "#", "~", "<think>", "</think>", "```", "```json\n", "\nObs", "O"]
SPACES = [" ", "  ", "\n", "\n\n", "\r\n", "\t", ":", ": ", ":**"]
WORDS = ["None", "weather", "weather()", '{"city": "Huế"}', '{"city": ', "[1]", "trời nắng", "it is"]
PIECES = st.sampled_from([*LABELS, *(f"{label}:" for label in LABELS), *MARKS, *SPACES, *WORDS, "**Final Answer:**"])
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=14).map("".join)


def cut(text: str, places: list[int]) -> list[str]:
    marks = sorted({place % (len(text) + 1) for place in places} | {0, len(text)})
    return [text[a:b] for a, b in pairwise(marks)]


@given(TEXTS, st.lists(st.integers(0, 200), max_size=20))
@example("**Final Answer:** **Yes**", list(range(30)))
@example("Final Answer:<think>", [14])
@example('Final Answer:\nAction: weather\nArgs: {"city": "Huế"}', list(range(60)))
@example('Final Answer: a\n- b\n- Action: weather\nArgs: {"city": "Huế"}', list(range(60)))
@example("Final Answer: a\nAction is needed\nAnd more", list(range(60)))
@example("Final Answer: a\nObservatory: b \n O", list(range(40)))
def test_streaming_shows_the_beginning_of_the_answer_and_nothing_else(text: str, places: list[int]) -> None:
    reply = parse_reply(text, ["weather"])
    assert sum([reply.answer is not None, reply.action is not None and not reply.error, bool(reply.error)]) == 1
    stream, whole = AnswerStream(), AnswerStream()
    streamed = "".join(map(stream.feed, cut(text, places)))
    assert (reply.answer if reply.answer is not None else reply.thought).startswith(streamed)
    assert streamed == "" or "final answer" in text.lower()
    assert streamed == whole.feed(text)


@given(TEXTS, st.integers(1, 20), st.booleans())
async def test_a_streamed_reply_is_the_whole_reply(text: str, piece: int, must_call: bool) -> None:
    model = TextDialect(inner=TextModel(script=[text], piece=piece)).bind_tools(
        [weather], tool_choice="any" if must_call else None
    )
    whole = await model.ainvoke("hi")
    chunks = [chunk async for chunk in model.astream("hi")]
    merged = chunks[0]
    for chunk in chunks[1:]:
        merged += chunk
    assert isinstance(merged, AIMessageChunk)
    assert merged.content == whole.content
    assert merged.additional_kwargs == whole.additional_kwargs
    for kind in ("tool_calls", "invalid_tool_calls"):
        streamed, invoked = getattr(merged, kind), getattr(whole, kind)
        assert [(call["name"], call["args"]) for call in streamed] == [(call["name"], call["args"]) for call in invoked]


async def test_an_answer_comes_token_by_token() -> None:
    text = "Thought: done\nFinal Answer: It is sunny\nin Huế."
    model = TextDialect(inner=TextModel(script=[text], piece=2)).bind_tools([weather])
    pieces = [chunk.text async for chunk in model.astream("hi") if chunk.text]
    assert "".join(pieces) == "It is sunny\nin Huế."
    assert len(pieces) > 5


def prompt_of(model: TextModel) -> list[tuple[str, str]]:
    return [(message.type, message.text) for message in model.prompts[-1]]


async def test_the_tools_are_described_after_the_instructions() -> None:
    inner = TextModel(script=["Final Answer: hi"])
    await TextDialect(inner=inner).bind_tools([plan]).ainvoke([SystemMessage("Be brief."), HumanMessage("hello")])
    [(kind, system), human] = prompt_of(inner)
    assert kind == "system"
    assert human == ("human", "hello")
    assert system.startswith("Be brief.\n\n")
    assert '- plan: Plan a day. Braces {are} no matter.\n  - "day" ({' in system
    assert '  - "place" (string, optional)' in system
    assert '"date"' in system
    assert "$ref" not in system
    assert 'Args: {"argument": "value"}' in system


async def test_calls_and_results_are_written_as_the_model_would() -> None:
    inner = TextModel(script=["Final Answer: hi"])
    call = tool_call(name="weather", args={"city": "Huế"}, id="1")
    await (
        TextDialect(inner=inner)
        .bind_tools([weather])
        .ainvoke(
            [
                HumanMessage("Final Answer: what is it? Action: none"),
                AIMessage("look", tool_calls=[call]),
                ToolMessage("Final Answer: sunny", tool_call_id="1"),
                AIMessage("It is sunny."),
                HumanMessage("and tomorrow?"),
            ]
        )
    )
    assert prompt_of(inner)[1:] == [
        ("human", "Final Answer: what is it? Action: none"),
        ("ai", 'Thought: look\nAction: weather\nArgs: {"city": "Huế"}'),
        ("human", "Observation: Final Answer: sunny"),
        ("ai", "Final Answer: It is sunny."),
        ("human", "and tomorrow?"),
    ]


@pytest.mark.parametrize("text", ['Action: weather\nArgs: {"city": ', "Thought: I know it.", 'Args: {"a": 1}'])
async def test_a_model_sees_its_own_mistake_as_it_wrote_it(text: str) -> None:
    inner = TextModel(script=[text, "Final Answer: sorry"])
    model = TextDialect(inner=inner).bind_tools([weather])
    bad = await model.ainvoke("hi")
    [call] = bad.invalid_tool_calls
    await model.ainvoke([HumanMessage("hi"), bad, ToolMessage("no", tool_call_id=str(call["id"]))])
    assert prompt_of(inner)[2] == ("ai", text.strip())


async def test_without_tools_the_model_is_left_as_it_is() -> None:
    notes = "Action: call John\nFinal Answer: none yet"
    inner = TextModel(script=[notes])
    model = TextDialect(inner=inner)
    history = [HumanMessage("hi"), AIMessage("hello"), HumanMessage("my notes?")]
    assert (await model.ainvoke(history)).text == notes
    assert [message.text for message in inner.prompts[0]] == ["hi", "hello", "my notes?"]
    assert "".join([chunk.text async for chunk in model.astream(history)]) == notes


@pytest.mark.parametrize(
    "choice", ["any", "required", True, "weather", {"type": "function", "function": {"name": "weather"}}]
)
async def test_a_call_that_is_demanded_cannot_be_answered_with_text(choice: Any) -> None:
    inner = TextModel(script=["Final Answer: sunny", 'Action: weather\nArgs: {"city": "Huế"}'])
    model = TextDialect(inner=inner).bind_tools([weather], tool_choice=choice)
    refused = await model.ainvoke("hi")
    assert refused.additional_kwargs["error"] == "answer with an Action, one of: weather"
    assert "Final Answer" not in prompt_of(inner)[0][1]
    assert (await model.ainvoke("hi")).tool_calls[0]["args"] == {"city": "Huế"}
    chosen = TextDialect(inner=inner).bind_tools([weather], tool_choice="none")
    assert (await chosen.ainvoke("hi")).text.startswith("Action: weather")


def test_a_schema_of_the_provider_is_refused() -> None:
    options = ProviderStrategy(Day).to_model_kwargs()
    with pytest.raises(ValueError, match="use ToolStrategy"):
        TextDialect(inner=TextModel(script=[])).bind_tools([], **options)


async def test_an_error_of_the_model_comes_through_both_ways() -> None:
    model = TextDialect(inner=TextModel(script=[TimeoutError("too slow")])).bind_tools([weather])
    with pytest.raises(TimeoutError, match="too slow"):
        await model.ainvoke("hi")
    with pytest.raises(TimeoutError, match="too slow"):
        [chunk async for chunk in model.astream("hi")]


async def test_what_the_service_counted_is_kept() -> None:
    model = TextDialect(inner=TextModel(script=["Final Answer: hi"])).bind_tools([weather])
    assert (await model.ainvoke("hi")).response_metadata["finish_reason"] == "stop"


@given(
    st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.integers() | st.none() | st.booleans(), max_size=3)
)
def test_any_arguments_survive_being_written_and_read(args: dict[str, Any]) -> None:
    text = f"Action: weather\nArgs: {json.dumps(args, ensure_ascii=False)}"
    assert parse_reply(text).args == args
