"""A model that fails: what stands in for it, what is told, and what is raised - the same whichever manager runs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from langchain_core import exceptions as core
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

import react_mem.agents.resolve
from react_mem.agents.config import AgentConfig
from react_mem.agents.models import load_chat_model
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.errors import ModelCallError
from react_mem.graphs.model_call import ANSWERED_BY
from react_mem.memory.merging.transcript import NOTICE, PREAMBLE
from tests.contract.conftest import INLINE, Graph, memory_store
from tests.contract.test_loop import ANN, ask, shape, thread, weather
from tests.support.scripted_model import ScriptedModel, calls

SECOND, THIRD = "openai:second", "openai:third"
BANNER = "[extractive: the language model cannot be reached at the moment, so I only quote what I remember.]"

DOWN = httpx.ConnectError("refused")
REFUSED = core.ModelAuthenticationError("401")


class Hangs(ScriptedModel):
    """Says the first words of its line, then nothing more."""

    async def _astream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        for word in str(self._next(messages).content).split():
            chunk = ChatGenerationChunk(message=AIMessageChunk(word))
            if kwargs.get("run_manager"):
                await kwargs["run_manager"].on_llm_new_token(word, chunk=chunk)
            yield chunk
        await asyncio.Event().wait()


class Breaks(Hangs):
    """Says the first words of its line, then loses its connection."""

    async def _astream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        words = super()._astream(messages, *args, **kwargs)
        yield await anext(words)
        raise httpx.ReadError("gone")


Answering = Callable[..., Graph]


@pytest.fixture(params=["react", "react_mem"])
def answering(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Answering:
    """Build a manager over a model and what stands in for it, by name."""

    def build(first: Any, tools: Any = (), response_format: Any = None, after: float = 60, **others: Any) -> Graph:
        named = {f"openai:{name}": _model(script) for name, script in others.items() if name != "extractive"}
        fallback = [*named, *(["extractive"] if "extractive" in others else [])]
        monkeypatch.setattr(
            react_mem.agents.resolve, "load_chat_model", lambda spec: named.get(spec) or load_chat_model(spec)
        )
        config = AgentConfig.model_validate(
            {
                "name": "tester",
                "manager": request.param,
                "system_prompt": "You help.",
                "models": {"fallback": fallback, "fallback_after": after},
                "memory": INLINE,
            }
        )
        agent = resolve_agent(
            config,
            model=_model(first),
            small_model=ScriptedModel(script=["no facts here"]),
            tools=list(tools),
            response_format=response_format,
        )
        return build_agent(agent, store=memory_store(), checkpointer=InMemorySaver())

    return build


def _model(script: Any) -> BaseChatModel:
    return script if isinstance(script, BaseChatModel) else ScriptedModel(script=script)


async def told(graph: Graph, text: str = "hello", name: str = "1") -> tuple[list[dict[str, Any]], Any]:
    """Return the events about models of a turn, and its answer."""
    events, last = [], None
    async for mode, part in graph.astream(
        {"messages": [("user", text)]}, thread(name), context=ANN, stream_mode=["custom", "values"]
    ):
        if mode == "custom":
            events += [part] if part["type"] == "model" else []
        else:
            last = part["messages"][-1]
    return events, last


# --- which model answers ----------------------------------------------------------------------------------------------


async def test_the_next_model_answers_and_the_stream_and_the_message_say_so(answering: Answering) -> None:
    events, answer = await told(answering([DOWN], second=["here I am"]))
    assert answer.text == "here I am"
    assert answer.additional_kwargs == {ANSWERED_BY: SECOND}
    [event] = events
    assert (event["status"], event["model"], event["instead"], event["kind"]) == (
        "degraded",
        "ScriptedModel",
        SECOND,
        "connection",
    )
    assert "cannot be reached (refused)" in event["message"]


async def test_a_healthy_model_is_all_that_is_asked(answering: Answering) -> None:
    second = ScriptedModel(script=["no"])
    events, answer = await told(answering(["fine"], second=second, extractive=True))
    assert (answer.text, answer.additional_kwargs, events, second.prompts) == ("fine", {}, [], [])


async def test_a_stand_in_uses_the_tools(answering: Answering) -> None:
    second = ScriptedModel(script=[calls(("weather", {"city": "Huế"})), "sunny"])
    result = await ask(answering([DOWN], [weather], second=second))
    assert shape(result)[-2:] == [("tool", "sunny in Huế"), ("ai", "sunny")]
    assert second.bound == [["weather"]] * 2


# --- the last resort --------------------------------------------------------------------------------------------------


async def test_when_no_model_can_be_reached_what_was_said_is_quoted(answering: Answering) -> None:
    graph = answering(["noted", DOWN], second=[TimeoutError()], extractive=True)
    await ask(graph, "My cat is called Miu.")
    events, answer = await told(graph, "What is my cat called?")
    assert answer.text == f"{BANNER}\nYou said: “My cat is called Miu.”"
    assert answer.additional_kwargs == {ANSWERED_BY: "extractive", NOTICE: True, PREAMBLE: BANNER}
    assert events[-1]["instead"] == "extractive"


async def test_it_is_said_in_the_users_language(answering: Answering) -> None:
    result = await ask(answering([DOWN], extractive=True), "Tôi sống ở đâu?")
    assert shape(result)[-1][1].startswith("[extractive: hiện không kết nối được với mô hình ngôn ngữ")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (REFUSED, "refused the API key"),
        (core.ContextOverflowError("long"), "longer than the model"),
        (ValueError("a bug"), "a bug"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
async def test_what_somebody_has_to_fix_is_not_hidden_behind_quotes(
    answering: Answering, error: Exception, says: str
) -> None:
    with pytest.raises(ModelCallError, match=says):
        await ask(answering([error], extractive=True))


async def test_quotes_do_not_fill_a_schema(answering: Answering) -> None:
    class Weather(BaseModel):
        """The weather."""

        sky: str

    with pytest.raises(ModelCallError, match="cannot be reached"):
        await ask(answering([DOWN], response_format=Weather, extractive=True))


async def test_when_everything_fails_each_cause_is_named(answering: Answering) -> None:
    with pytest.raises(ModelCallError, match=r"ScriptedModel.*cannot be reached.*'openai:second'.*refused the API key"):
        await ask(answering([DOWN], second=[REFUSED]))


# --- a model that is down ---------------------------------------------------------------------------------------------


async def test_a_model_that_is_down_is_left_alone_for_a_while_and_each_turn_is_told(answering: Answering) -> None:
    first = ScriptedModel(script=[DOWN])
    graph = answering(first, second=["I can"])
    told_of = [await told(graph) for _ in range(4)]
    assert [answer.text for _, answer in told_of] == ["I can"] * 4
    assert len(first.prompts) == 2
    messages = [event["message"] for events, _ in told_of for event in events]
    assert len(messages) == 4
    assert all("cannot be reached" in message for message in messages)
    assert re.search(r"The next attempt is in (?:30|2\d) seconds", messages[-1])


async def test_a_model_that_is_back_says_so(answering: Answering) -> None:
    graph = answering([DOWN, "back"], second=["I can"])
    await told(graph)
    events, answer = await told(graph)
    assert answer.text == "back"
    assert [(event["status"], event["model"]) for event in events] == [("ok", "ScriptedModel")]


# --- streaming --------------------------------------------------------------------------------------------------------


async def streamed(graph: Graph) -> tuple[dict[str, str], list[dict[str, Any]], Any]:
    """Return the text of each message id that was streamed, the events about models, and the answer."""
    texts: dict[str, str] = {}
    events, last = [], None
    async for mode, part in graph.astream(
        {"messages": [("user", "hello")]}, thread(), context=ANN, stream_mode=["messages", "custom", "values"]
    ):
        if mode == "messages" and isinstance(part[0], AIMessageChunk):
            texts[part[0].id or ""] = texts.get(part[0].id or "", "") + part[0].text
        elif mode == "custom":
            events += [part] if part["type"] == "model" else []
        elif mode == "values":
            last = part["messages"][-1]
    return texts, events, last


async def test_half_an_answer_is_withdrawn_and_not_continued(answering: Answering) -> None:
    texts, [event], answer = await streamed(answering(Breaks(script=["half an answer"]), second=["a whole one"]))
    assert answer.text == "a whole one"
    assert texts == {event["replaces"]: "half", answer.id: "a whole one"}


async def test_a_model_that_falls_silent_is_not_waited_for(answering: Answering) -> None:
    texts, [event], answer = await streamed(answering(Hangs(script=["well"]), after=0.5, second=["a whole one"]))
    assert (answer.text, event["kind"]) == ("a whole one", "timeout")
    assert texts == {event["replaces"]: "well", answer.id: "a whole one"}
