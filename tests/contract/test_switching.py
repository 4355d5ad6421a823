"""Many tools: a handful reaches the model, all stay within reach, and whatever fails, the turn is answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from react_mem.agents.config import AgentConfig
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.errors import ToolConfigError
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.scopes.semantic import SemanticMemoryStore
from tests.contract.conftest import Graph
from tests.contract.test_loop import ANN, ask, thread
from tests.support.many_tools import FailingEmbeddings, make_tool, many_tools, vectors_made, word_store
from tests.support.scripted_model import ScriptedModel, calls

BOAT = "please paint the boat"
Build = Callable[..., Graph]


def build_switching(
    manager: str,
    model: ScriptedModel | list[Any],
    tools: list[BaseTool] | None = None,
    *,
    small: Any = None,
    store: InMemoryStore | None = None,
    policy: dict[str, Any] | None = None,
    **switching: Any,
) -> Graph:
    """Return a graph that chooses from many tools."""
    agent = resolve_agent(
        AgentConfig(
            name="tester",
            manager=manager,
            system_prompt="You help.",
            memory=MemoryPolicy.model_validate({"extraction": policy or {"mode": "off"}}),
            switching={"mode": "semantic", "max_tools": 6, **switching},
        ),
        model=model if isinstance(model, ScriptedModel) else ScriptedModel(script=model),
        small_model=small or ScriptedModel(script=["nothing"]),
        tools=many_tools() if tools is None else tools,
    )
    return build_agent(agent, store=store or word_store(), checkpointer=InMemorySaver())


@pytest.fixture(params=["react", "react_mem"])
def build(request: pytest.FixtureRequest) -> Build:
    """Build a graph with each of the managers in turn."""
    return lambda *args, **kwargs: build_switching(request.param, *args, **kwargs)


async def events(graph: Graph, text: str, name: str = "1") -> list[dict[str, Any]]:
    stream = graph.astream({"messages": [("user", text)]}, thread(name), context=ANN, stream_mode="custom")
    return [event async for event in stream]


async def warm(graph: Graph) -> None:
    """Have the tools embedded, as the first turn does."""
    await ask(graph, BOAT, name="warm")
    await vectors_made()


def of_type(seen: list[dict[str, Any]], type_: str) -> list[dict[str, Any]]:
    return [event for event in seen if event["type"] == type_]


async def test_only_a_handful_of_many_tools_reaches_the_model(build: Build) -> None:
    model = ScriptedModel(script=["ok", "ok"])
    graph = build(model)
    await warm(graph)
    await ask(graph, BOAT)
    assert len(model.bound[-1]) == 7
    assert "paint_boat" in model.bound[-1]
    assert model.bound[-1][-1] == "find_tools"


@pytest.mark.parametrize("number", [0, 1, 120])
async def test_one_call_chooses_tools_and_layers_of_any_number_of_tools(number: int) -> None:
    said = {"tools": ["paint_boat"] if number else ["rm_rf"], "layers": ["episodic"]}
    model, small = ScriptedModel(script=["ok", "ok"]), ScriptedModel(script=[json.dumps(said)])
    graph = build_switching("react_mem", model, many_tools(number), small=small, mode="model")
    await warm(graph)
    before = len(small.prompts)
    seen = await events(graph, f"please {BOAT}")
    assert len(small.prompts) == before + 1
    [event] = of_type(seen, "switch")
    assert (event["by"], event["status"], event["layers"]) == ("model", "ok", ["episodic"])
    assert event["picked"] == (["paint_boat"] if number else [])
    assert (event["tools"] is None) == (number < 120)
    assert any("find_tools" in names for names in model.bound) == (number == 120)


@pytest.mark.parametrize(("layers", "left"), [("first", 6), ("limit", 2)])
async def test_layers_that_are_not_chosen_show_their_best_alone_where_they_are_limited(layers: str, left: int) -> None:
    model = ScriptedModel(script=["ok"])
    small = ScriptedModel(script=[json.dumps({"tools": [], "layers": ["episodic"]})])
    graph = build_switching("react_mem", model, [], small=small, mode="model", layers=layers)
    assert graph.store is not None
    facts = SemanticMemoryStore(graph.store, MemoryPolicy())
    said = [f"The boat of friend number {number} is red." for number in range(6)]
    await facts.add(said, user_id="ann", session_id="s", agent_id="tester")
    await ask(graph, "What colour is the boat?")
    assert sum(text in str(model.prompts[-1]) for text in said) == left


@pytest.mark.parametrize("said", [True, False])
async def test_a_request_that_decides_something_asks_for_a_snapshot_of_its_turn(said: bool) -> None:
    small = ScriptedModel(script=[json.dumps({"tools": [], "layers": [], "snapshot": said})])
    graph = build_switching("react_mem", ["ok"], [], small=small, mode="model", policy={"mode": "background"})
    [event] = of_type(await events(graph, "The boat it is, then: blue."), "switch")
    assert event["snapshot"] == said
    assert graph.store is not None
    [waiting] = await MemoryFacade(graph.store).pending("ann")
    assert waiting.get("snapshot", False) == said


async def test_a_tool_that_was_not_offered_runs_when_it_is_called(build: Build) -> None:
    model = ScriptedModel(script=[calls(("burn_kayak", {})), "burnt"])
    result = await ask(build(model), BOAT)
    assert "burn_kayak" not in model.bound[0]
    assert result["messages"][-2].text == "burn_kayak done"
    assert "burn_kayak" in model.bound[1]


async def test_the_model_finds_what_it_was_not_offered(build: Build) -> None:
    model = ScriptedModel(
        script=[calls(("find_tools", {"query": "weigh a sledge"})), calls(("weigh_sledge", {})), "it weighs"]
    )
    result = await ask(build(model), BOAT)
    assert "weigh_sledge" not in model.bound[0]
    assert model.bound[1][:7] == model.bound[0]
    assert "weigh_sledge" in model.bound[1]
    assert "- weigh_sledge: Weigh a sledge." in result["messages"][2].text
    assert result["messages"][-2].text == "weigh_sledge done"


async def test_the_small_model_picks_and_nobody_hears_it(build: Build) -> None:
    small = ScriptedModel(script=[json.dumps({"tools": ["sell_piano"], "layers": []})])
    graph = build(["ok"], small=small, mode="model")
    await warm(graph)
    said: list[str] = []
    seen: list[Any] = []
    stream = graph.astream(
        {"messages": [("user", "sell the boat and the piano")]},
        thread(),
        context=ANN,
        stream_mode=["custom", "messages"],
    )
    async for mode, part in stream:
        if mode == "messages":
            said.append(part[0].text)
        else:
            seen.append(part)
    [event] = of_type(seen, "switch")
    assert (event["by"], event["picked"], event["status"]) == ("model", ["sell_piano"], "ok")
    assert event["tools"][0] == "sell_piano"
    assert "".join(said) == "ok"


async def test_a_small_model_that_fails_costs_its_word_not_the_turn(build: Build) -> None:
    model = ScriptedModel(script=["ok"])
    graph = build(model, small=ScriptedModel(script=[ConnectionError("refused")]), mode="model")
    await warm(graph)
    seen = await events(graph, "sell the boat and the piano")
    [event] = of_type(seen, "switch")
    assert (event["by"], event["status"]) == ("semantic", "degraded")
    assert "without model" in event["message"]
    assert {"sell_boat", "sell_piano"} <= set(model.bound[-1])
    assert seen[-1]["type"] in {"answer", "memory"}


async def test_without_its_embedder_words_choose_or_all_tools_are_offered(build: Build) -> None:
    embeddings = FailingEmbeddings(64)
    model = ScriptedModel(script=["ok"])
    graph = build(model, store=word_store(embeddings))
    await warm(graph)
    embeddings.failing = True
    [event] = of_type(await events(graph, BOAT), "switch")
    assert (event["by"], event["status"]) == ("words", "degraded")
    assert "paint_boat" in model.bound[-1]
    [event] = of_type(await events(graph, "hãy sơn cái thuyền", name="2"), "switch")
    assert (event["by"], event["tools"]) == ("all", None)
    assert "sk-secret" not in str(event)
    assert len(model.bound[-1]) == 120


async def test_a_declared_next_step_is_suggested(build: Build) -> None:
    tools = many_tools(insure_boat={"after": ["paint_boat"]})
    graph = build(["ok"], tools)
    await warm(graph)
    [event] = of_type(await events(graph, BOAT), "suggestion")
    assert event == {
        "type": "suggestion",
        "tool": "insure_boat",
        "text": "Insure a boat.",
        "after": "paint_boat",
        "times": 0,
    }


async def test_what_a_user_does_next_is_learnt_from_what_that_user_did() -> None:
    script: list[Any] = [calls(("paint_boat", {})), calls(("rent_violin", {})), "done"] * 2
    graph = build_switching("react_mem", [*script, "ok"])
    for name in ("1", "2"):
        await ask(graph, BOAT, name=name)
    await vectors_made()
    [event] = of_type(await events(graph, BOAT, name="3"), "suggestion")
    assert (event["tool"], event["after"], event["times"]) == ("rent_violin", "paint_boat", 2)
    stream = graph.astream(
        {"messages": [("user", BOAT)]}, thread("4"), context={"user_id": "bob"}, stream_mode="custom"
    )
    assert of_type([event async for event in stream], "suggestion") == []


INSURED = {"tool": "insure_boat", "text": "Insure a boat.", "after": "paint_boat", "times": 0}


async def test_suggestions_stand_in_the_output_and_on_the_answer(build: Build) -> None:
    graph = build(["ok", calls(("paint_boat", {})), "painted", "ok"], many_tools(insure_boat={"after": ["paint_boat"]}))
    await warm(graph)
    result = await ask(graph, BOAT)
    assert result["suggestions"] == [INSURED]
    *before, answer = result["messages"]
    assert (answer.text, answer.additional_kwargs["suggestions"]) == ("painted", [INSURED])
    assert not any("suggestions" in message.additional_kwargs for message in before)
    assert (await ask(graph, "hello there, my good old friend", name="2"))["suggestions"] == []


async def test_suggestions_stand_at_the_end_of_the_answer_in_its_language_and_are_not_what_was_said() -> None:
    tools = many_tools(insure_boat={"after": ["paint_boat"]})
    model = ScriptedModel(script=["ok", "painted", "xong rồi", "ok"])
    graph = build_switching("react_mem", model, tools, show_suggestions=True)
    await warm(graph)
    answers = [(await ask(graph, text))["messages"][-1] for text in (BOAT, "hãy paint boat cho tôi với nhé")]
    assert [answer.text for answer in answers] == [
        "painted\n\nPossible next steps: Insure a boat (insure_boat)",
        "xong rồi\n\nBước tiếp theo có thể là: Insure a boat (insure_boat)",
    ]
    await ask(graph, "thanks")
    assert "painted" in str(model.prompts[-1])
    assert "next steps" not in str(model.prompts[-1])
    assert graph.store is not None
    kept = [item.value for item in await graph.store.asearch(("memory",), limit=100)]
    assert "painted" in str(kept)
    assert "next steps" not in str(kept)


# --- what runs ahead ---


class Agenda:
    """A tool that only reads, and remembers when it ran."""

    def __init__(self, **metadata: Any) -> None:
        self.ran: list[str] = []
        self.started = asyncio.Event()
        self.fails = False
        metadata = {"prefetch": True, **metadata}

        async def read_agenda(day: str = "today") -> str:
            """Paint the boat: read the agenda of it."""
            self.ran.append(day)
            self.started.set()
            if self.fails:
                raise ConnectionError("no agenda")
            return f"{day}: reading {len(self.ran)}"

        self.tool = StructuredTool.from_function(coroutine=read_agenda, metadata=metadata)

    @property
    def tools(self) -> list[BaseTool]:
        return [*many_tools(20), self.tool]


class Waiting(ScriptedModel):
    """Answers once a tool has started."""

    event: Any

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        async with asyncio.timeout(20):
            await self.event.wait()
        async for chunk in super()._astream(*args, **kwargs):
            yield chunk

    async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
        async with asyncio.timeout(20):
            await self.event.wait()
        return await super()._agenerate(*args, **kwargs)


async def test_what_runs_ahead_runs_beside_the_model_and_is_its_result(build: Build) -> None:
    agenda = Agenda()
    model = Waiting(script=[calls(("read_agenda", {})), "nothing"], event=agenda.started)
    seen = await events(build(model, agenda.tools), BOAT)
    assert agenda.ran == ["today"]
    [observed] = of_type(seen, "observation")
    assert (observed["id"], observed["content"]) == ("call-read_agenda-0", "today: reading 1")


async def test_what_nobody_asked_for_is_seen_nowhere(build: Build) -> None:
    agenda = Agenda()
    model = Waiting(script=[calls(("paint_boat", {})), "painted"], event=agenda.started)
    seen = await events(build(model, agenda.tools), BOAT)
    assert agenda.ran == ["today"]
    assert "reading" not in str(model.prompts)
    assert "reading" not in str(seen)


# --- what cannot be built ---


def test_a_tool_of_the_same_name_as_the_engines_is_refused() -> None:
    taken = make_tool("find_tools", {})
    with pytest.raises(ToolConfigError, match="'find_tools', which is the name of the tool that `switching` adds"):
        build_switching("react", ["ok"], [*many_tools(), taken])
