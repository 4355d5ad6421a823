"""The arguments of `create_agent` (name, state, context, prompt, tools in every form), and what its streams show."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from operator import add
from typing import Annotated, Any, NotRequired

import pytest
from langchain.agents import AgentState
from langchain.agents.middleware.types import OmitFromInput, OmitFromOutput, PrivateStateAttr
from langchain.tools import ToolRuntime, tool
from langchain_core.messages import AIMessage, AnyMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from typing_extensions import TypedDict

import react_mem.agents.resolve
from react_mem.agents import open_agent
from react_mem.agents.config import AgentConfig
from react_mem.errors import StateSchemaError
from react_mem.graphs.server import guard_clients
from tests.contract.conftest import INLINE, Build, build_manager, memory_store
from tests.contract.test_loop import ANN, ask, shape, thread, weather
from tests.support.scripted_model import ScriptedModel, calls

LOOK = calls(("weather", {"city": "Huế"}))


# --- the name ---------------------------------------------------------------------------------------------------------


async def test_answers_and_traces_carry_the_agents_name(build_any: Build) -> None:
    graph = build_any([LOOK, "sunny"], [weather], name="forecaster")
    assert graph.name == "forecaster"
    assert [m.name for m in (await ask(graph))["messages"] if m.type == "ai"] == ["forecaster"] * 2
    question = {"messages": [("user", "hello")]}
    parts = [meta async for _, meta in graph.astream(question, thread("2"), context=ANN, stream_mode="messages")]
    assert {meta["lc_agent_name"] for meta in parts} == {"forecaster"}


# --- fields of the state ----------------------------------------------------------------------------------------------


class Trip(AgentState[Any]):
    """A state of a caller's own."""

    city: str
    notes: Annotated[list[str], add]
    kept: NotRequired[Annotated[str, OmitFromInput]]
    sent: NotRequired[Annotated[str, OmitFromOutput]]
    hidden: NotRequired[Annotated[str, PrivateStateAttr]]


async def test_own_fields_go_in_reach_the_tools_are_kept_and_come_out(build_any: Build) -> None:
    seen: dict[str, Any] = {}

    @tool
    def look(runtime: ToolRuntime) -> str:
        """Look."""
        seen.update(runtime.state)
        return f"at {runtime.state['city']}"

    graph = build_any([calls(("look", {})), "done", "again"], [look], state_schema=Trip)
    given = {"messages": [("user", "hi")], "city": "Huế", "notes": ["a"], "kept": "x", "sent": "y", "hidden": "z"}
    result = await graph.ainvoke(given, thread(), context=ANN)
    assert {key: result.get(key) for key in Trip.__annotations__ if key not in {"messages", "structured_response"}} == {
        "city": "Huế", "notes": ["a"], "kept": None, "sent": None, "hidden": None, "jump_to": None,
    }  # fmt: skip
    assert (seen["city"], seen["sent"]) == ("Huế", "y")
    assert not {"kept", "hidden"} & seen.keys()
    later = await graph.ainvoke({"messages": [("user", "more")], "notes": ["b"]}, thread(), context=ANN)
    assert (later["city"], later["notes"]) == ("Huế", ["a", "b"])


@pytest.mark.parametrize("manager", ["react", "react_mem"])
def test_a_state_that_does_not_fit_is_refused_with_its_cause(manager: str) -> None:
    class Taken(AgentState[Any]):
        prefetched: str

    class Merges(TypedDict):
        messages: Annotated[list[AnyMessage], add]

    class NoDict:
        city: str

    for schema, says in ((Taken, "prefetched"), (Merges, "merges `messages`"), (NoDict, "must be a TypedDict")):
        with pytest.raises(StateSchemaError, match=says):
            build_manager(manager, ["hi"], state_schema=schema)


# --- the context of a run ---------------------------------------------------------------------------------------------


@dataclass
class Desk:
    """A context of a caller's own."""

    user_id: str
    desk: str


async def test_tools_see_a_context_of_the_callers_own(build_any: Build) -> None:
    @tool
    def where(runtime: ToolRuntime[Desk]) -> str:
        """Tell the desk."""
        return f"{runtime.context.user_id} at {runtime.context.desk}"

    graph = build_any([calls(("where", {})), "ok"], [where], context_schema=Desk)
    result = await ask(graph, context=Desk("ann", "window"))
    assert shape(result)[2] == ("tool", "ann at window")


# --- the prompt and the model -----------------------------------------------------------------------------------------

BLOCKS = [
    {"type": "text", "text": "You help with travel.", "cache_control": {"type": "ephemeral"}},
    {"type": "text", "text": "Be kind."},
]


async def test_a_system_message_reaches_the_model_with_its_blocks_and_its_cache_mark(build_any: Build) -> None:
    prompt = SystemMessage(BLOCKS, id="sys", additional_kwargs={"kept": True})
    model = ScriptedModel(script=["hi", "again"])
    graph = build_any(model, system_prompt=prompt)
    for question in ("My cat is called Miu.", "What is my cat called?"):
        await ask(graph, question)
    for messages in model.prompts:
        [system] = [message for message in messages if isinstance(message, SystemMessage)]
        assert messages[0] is system or messages[0] == system
        assert system.content[:2] == BLOCKS
        assert (system.id, system.additional_kwargs) == ("sys", {"kept": True})


async def test_what_is_remembered_comes_behind_the_blocks() -> None:
    model = ScriptedModel(script=["noted", "Miu"])
    graph = build_manager("react_mem", model, system_prompt=SystemMessage(BLOCKS))
    await ask(graph, "My cat is called Miu.")
    await ask(graph, "What is my cat called?", name="2")
    [*own, remembered] = model.prompts[1][0].content
    assert own == BLOCKS
    assert "Miu" in remembered["text"]


async def test_the_context_chooses_model_and_prompt_turn_by_turn(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    others = {name: ScriptedModel(script=[f"{name} here"]) for name in ("one", "two")}
    loaded: list[str] = []

    def load(spec: str) -> ScriptedModel:
        loaded.append(spec)
        return others[spec.removeprefix("openai:")]

    left = {"models": {"choices": ["openai:one", "openai:two"]}, "overridable": ["model", "system_prompt"]}
    graph = build(["own"], system_prompt=SystemMessage(BLOCKS), **left)
    monkeypatch.setattr(react_mem.agents.resolve, "load_chat_model", load)
    said = []
    for model in ("openai:one", None, "openai:two", "openai:one"):
        context = {**ANN, "model": model, "system_prompt": f"For {model}."}
        said.append((await ask(graph, context=context))["messages"][-1].text)
    assert said == ["one here", "own", "two here", "one here"]
    assert loaded == ["openai:one", "openai:two"]
    assert others["two"].prompts[0][0].text.startswith("For openai:two.")


# --- tools in every form ----------------------------------------------------------------------------------------------


async def test_a_tool_that_the_provider_runs_is_only_told_to_the_model(build_any: Build) -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    model = ScriptedModel(script=["found it"])
    result = await ask(build_any(model, [weather, search]))
    assert shape(result)[-1] == ("ai", "found it")
    assert model.bound[-1] == ["weather", str(search)]


# --- limits and stops -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["ainvoke", "astream_events", "served", "bound"])
@pytest.mark.parametrize("limit", [2, 6, 9, 25])
async def test_a_limit_of_the_caller_means_the_same_under_both_managers(limit: int, mode: str) -> None:
    def of(manager: str, rounds: int) -> Any:
        graph = build_manager(manager, [*[LOOK] * rounds, "sunny"], [weather], store=memory_store())
        if mode == "bound":
            return graph.with_config(recursion_limit=limit)
        # a server copies the graph for each run
        return guard_clients(graph).copy() if mode == "served" else graph

    async def answers(graph: Any) -> bool:
        config = thread() if mode == "bound" else {**thread(), "recursion_limit": limit}
        given = {"messages": [("user", "How is it?")]}
        try:
            if mode != "astream_events":
                await graph.ainvoke(given, config, context=ANN)
            else:
                async for _ in graph.astream_events(given, config, context=ANN, version="v2"):
                    pass
        except GraphRecursionError:
            return False
        return True

    answered = [[await answers(of(manager, rounds)) for rounds in (0, 2, 4, 8)] for manager in ("react", "react_mem")]
    assert answered[0] == answered[1]
    assert answered[0] == sorted(answered[0], reverse=True)


async def test_what_the_model_wanted_can_be_changed_before_it_runs(build_any: Build) -> None:
    graph = build_any([LOOK, "sunny"], [weather], interrupt_before=["act"])
    wanted = (await ask(graph))["messages"][-1]
    [call] = wanted.tool_calls
    changed = AIMessage("", id=wanted.id, tool_calls=[{**call, "args": {"city": "Vinh"}}])
    at = await graph.aupdate_state(thread(), {"messages": [changed]})
    assert shape(await graph.ainvoke(None, at, context=ANN))[2] == ("tool", "sunny in Vinh")


# --- streams of events by version 3 -----------------------------------------------------------------------------------


async def test_a_stream_of_events_shows_each_tool_call_apart(build_any: Build) -> None:
    @tool
    async def count(to: int, runtime: ToolRuntime) -> str:
        """Count."""
        for number in range(to):
            runtime.emit_output_delta(number)
        return "counted"

    graph = build_any([calls(("count", {"to": 2}), ("weather", {"city": "Huế"})), "done"], [count, weather])
    run = await graph.astream_events({"messages": [("user", "go")]}, thread(), context=ANN, version="v3")
    deltas: dict[str, list[Any]] = defaultdict(list)
    async for call in run.tool_calls:
        deltas[call.tool_name] = [delta async for delta in call.output_deltas]
        assert call.completed
        assert call.error is None
    assert deltas == {"count": [0, 1], "weather": []}


async def test_an_agent_that_a_tool_calls_is_shown_by_its_name(build_any: Build) -> None:
    inner = build_any([LOOK, "sunny"], [weather], name="forecaster")

    @tool
    async def delegate(question: str) -> str:
        """Ask the forecaster."""
        return (await inner.ainvoke({"messages": [("user", question)]}, context=ANN))["messages"][-1].text

    outer = build_any([calls(("delegate", {"question": "Huế?"})), "done"], [delegate], name="planner")
    run = await outer.astream_events({"messages": [("user", "go")]}, thread(), context=ANN, version="v3")
    names = [sub.name async for sub in run.subagents]
    assert names == ["forecaster"]


# --- from one call ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("manager", ["react", "react_mem"])
async def test_open_agent_takes_all_of_it(manager: str) -> None:
    config = AgentConfig(name="tester", manager=manager, memory=INLINE)
    model = ScriptedModel(script=[LOOK, "sunny"])
    async with open_agent(
        config,
        model=model,
        tools=[weather],
        system_prompt=SystemMessage(BLOCKS),
        state_schema=Trip,
        context_schema=Desk,
        name="forecaster",
        interrupt_before=["act"],
        store=memory_store(),
        checkpointer=InMemorySaver(),
    ) as graph:
        desk = Desk("ann", "window")
        given = {"messages": [("user", "hi")], "city": "Huế", "notes": []}
        waiting = await graph.ainvoke(given, thread(), context=desk)
        assert waiting["messages"][-1].tool_calls
        result = await graph.ainvoke(None, thread(), context=desk)
    assert (result["messages"][-1].name, result["city"]) == ("forecaster", "Huế")
    assert model.prompts[0][0].content[:2] == BLOCKS
