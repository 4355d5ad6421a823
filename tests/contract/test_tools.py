"""Tools: those that change the state or ask a person, and those that fail, end the turn or need more than arguments."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain.agents import AgentState
from langchain.tools import InjectedState, InjectedStore, InjectedToolCallId, tool
from langchain_core.messages import HumanMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.store.base import BaseStore
from langgraph.types import Command, interrupt

from tests.contract.conftest import Build
from tests.contract.test_loop import ANN, ask, shape, thread, weather
from tests.support.scripted_model import ScriptedModel, calls


class Trip(AgentState[Any]):
    """A state with a field of a caller's own."""

    city: str


def results(result: dict[str, Any]) -> list[str]:
    return [message.text for message in result["messages"] if message.type == "tool"]


# --- tools that return a Command --------------------------------------------------------------------------------------


@tool
def move(city: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Move to a city."""
    return Command(update={"city": city, "messages": [ToolMessage(f"now in {city}", tool_call_id=tool_call_id)]})


MOVE = calls(("move", {"city": "Huế"}))


async def test_a_tool_changes_the_state(build_any: Build) -> None:
    model = ScriptedModel(script=[MOVE, "moved"])
    result = await ask(build_any(model, [move], state_schema=Trip))
    assert result["city"] == "Huế"
    assert shape(result) == [("human", "hello"), ("ai", ""), ("tool", "now in Huế"), ("ai", "moved")]
    assert result["messages"][2].name == "move"
    assert len(model.prompts) == 2


async def test_what_it_says_is_told_as_an_observation(build: Build) -> None:
    graph = build([MOVE, "moved"], [move], state_schema=Trip)
    given = {"messages": [("user", "hi")]}
    events = [event async for event in graph.astream(given, thread(), context=ANN, stream_mode="custom")]
    assert [(e["id"], e["name"], e["content"], e["error"]) for e in events if e["type"] == "observation"] == [
        ("call-move-0", "move", "now in Huế", False)
    ]


async def test_commands_of_parallel_calls_all_count(build_any: Build) -> None:
    both = calls(("move", {"city": "Huế"}), ("weather", {"city": "Vinh"}))
    result = await ask(build_any([both, "done"], [move, weather], state_schema=Trip))
    assert (result["city"], results(result)) == ("Huế", ["now in Huế", "sunny in Vinh"])


async def test_a_command_without_a_result_is_an_error_that_the_model_sees(build: Build) -> None:
    @tool
    def forgets() -> Command[Any]:
        """Say nothing."""
        return Command(update={"city": "Huế"})

    result = await ask(build([calls(("forgets", {})), "sorry"], [forgets], state_schema=Trip))
    [message] = [m for m in result["messages"] if m.type == "tool"]
    assert message.status == "error"
    assert "matching ToolMessage" in message.text
    assert shape(result)[-1] == ("ai", "sorry")
    assert "city" not in result


async def test_a_jump_to_the_model_asks_it_once(build_any: Build) -> None:
    @tool
    def onward(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Go on."""
        return Command(goto="reason", update={"messages": [ToolMessage("on", tool_call_id=tool_call_id)]})

    model = ScriptedModel(script=[calls(("onward", {})), "there", "twice"])
    assert shape(await ask(build_any(model, [onward])))[-2:] == [("tool", "on"), ("ai", "there")]
    assert len(model.prompts) == 2


async def test_a_tool_starts_the_thread_anew(build_any: Build) -> None:
    @tool
    def reset() -> Command[Any]:
        """Forget the thread."""
        return Command(update={"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]})

    @tool
    def restart(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Start the thread anew."""
        kept = [HumanMessage("anew"), calls(("restart", {})), ToolMessage("restarted", tool_call_id=tool_call_id)]
        return Command(update={"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *kept]})

    result = await ask(build_any([calls(("restart", {})), "ready"], [reset, restart]))
    assert shape(result) == [("human", "anew"), ("ai", ""), ("tool", "restarted"), ("ai", "ready")]


# --- a person decides -------------------------------------------------------------------------------------------------


def guarded(ran: list[str]) -> Any:
    @tool
    def book(city: str) -> str:
        """Book a trip, once a person agrees."""
        answer = interrupt({"tool": "book", "args": {"city": city}})
        if answer["type"] == "reject":
            return f"refused: {answer['message']}"
        if answer["type"] == "edit":
            city = answer["args"]["city"]
        ran.append(city)
        return f"booked {city}"

    return book


@pytest.mark.parametrize(
    ("decision", "said", "done"),
    [
        ({"type": "accept"}, "booked Huế", ["Huế"]),
        ({"type": "edit", "args": {"city": "Vinh"}}, "booked Vinh", ["Vinh"]),
        ({"type": "reject", "message": "too far"}, "refused: too far", []),
    ],
    ids=["accepted", "edited", "rejected"],
)
async def test_a_person_accepts_edits_or_rejects(
    build_any: Build, decision: dict[str, Any], said: str, done: list[str]
) -> None:
    ran: list[str] = []
    model = ScriptedModel(script=[calls(("book", {"city": "Huế"})), "fine"])
    graph = build_any(model, [guarded(ran)])
    paused = await ask(graph)
    assert paused["__interrupt__"][0].value == {"tool": "book", "args": {"city": "Huế"}}
    assert ran == []
    result = await graph.ainvoke(Command(resume=decision), thread(), context=ANN)
    assert (results(result), ran) == ([said], done)
    assert model.prompts[-1][-1].text == said
    assert shape(result)[-1] == ("ai", "fine")


async def test_each_of_two_questions_gets_its_own_answer(build_any: Build) -> None:
    ran: list[str] = []
    graph = build_any([calls(("book", {"city": "Huế"}), ("book", {"city": "Vinh"})), "ok"], [guarded(ran)])
    paused = await ask(graph)
    answers = {"Huế": {"type": "accept"}, "Vinh": {"type": "reject", "message": "no"}}
    resume = {asked.id: answers[asked.value["args"]["city"]] for asked in paused["__interrupt__"]}
    assert len(resume) == 2
    result = await graph.ainvoke(Command(resume=resume), thread(), context=ANN)
    assert results(result) == ["booked Huế", "refused: no"]
    assert ran == ["Huế"]


# --- more than arguments ----------------------------------------------------------------------------------------------


async def test_tools_are_given_state_store_and_call_id_and_the_model_does_not_see_them(build_any: Build) -> None:
    @tool
    async def look(
        place: str,
        state: Annotated[dict[str, Any], InjectedState],
        city: Annotated[str, InjectedState("city")],
        store: Annotated[BaseStore, InjectedStore()],
        call: Annotated[str, InjectedToolCallId],
    ) -> str:
        """Look at a place."""
        await store.aput(("places",), place, {"text": city})
        return f"{place} in {city}, {len(state['messages'])} messages, {call}"

    graph = build_any([calls(("look", {"place": "bridge"})), "ok"], [look], state_schema=Trip)
    given = {"messages": [("user", "hi")], "city": "Huế"}
    result = await graph.ainvoke(given, thread(), context=ANN)
    assert results(result) == ["bridge in Huế, 2 messages, call-look-0"]
    assert (await graph.store.aget(("places",), "bridge")).value == {"text": "Huế"}
    assert set(look.tool_call_schema.model_json_schema()["properties"]) == {"place"}


# --- failures and ends ------------------------------------------------------------------------------------------------


async def test_one_failure_of_several_calls_leaves_the_others(build: Build) -> None:
    @tool
    async def fails() -> str:
        """Fail."""
        raise ConnectionError("no line")

    result = await ask(build([calls(("fails", {}), ("weather", {"city": "Huế"})), "half"], [fails, weather]))
    assert [(m.status, m.text) for m in result["messages"] if m.type == "tool"] == [
        ("error", results(result)[0]),
        ("success", "sunny in Huế"),
    ]
    assert "no line" in results(result)[0]


@tool(return_direct=True)
def final(city: str) -> str:
    """Say it all."""
    return f"all about {city}"


async def test_of_several_tools_all_must_return_directly_to_end_the_turn(build_any: Build) -> None:
    direct, other = ("final", {"city": "Huế"}), ("weather", {"city": "Huế"})
    ended = await ask(build_any([calls(direct, direct), "never said"], [final, weather]))
    assert shape(ended)[-1] == ("tool", "all about Huế")
    went_on = await ask(build_any([calls(direct, other), "said"], [final, weather]))
    assert shape(went_on)[-1] == ("ai", "said")
