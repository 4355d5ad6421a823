"""Switching engine as it is drawn: a request's tool and layer in one call, what its relations suggest and run ahead,
working memory as a graph of steps, and the snapshot that the engine asks for.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from react_mem.agents.config import AgentConfig
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.language.statements import sentences
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.prompts import load_prompt
from tests.contract.conftest import Graph
from tests.contract.test_loop import ANN, thread
from tests.contract.test_switching import Waiting
from tests.support.labels import proposal
from tests.support.many_tools import vectors_made, word_store
from tests.support.scripted_model import ScriptedModel, calls

S1, S2 = "define_switching_engine", "build_working_memory_graph"
REQUEST = "Define the switching engine, then build the working memory graph"
DECISION = "We decided: the switching engine takes the nearest tool and one layer."

PLAN = {
    "goes_on": False,
    "goal": "Project X",
    "steps": [
        {"id": "s1", "description": "Define the switching engine", "tool": S1, "depends_on": [], "status": "pending"},
        {"id": "s2", "description": "Build the graph", "tool": S2, "depends_on": ["s1"], "status": "pending"},
    ],
}
EPISODE = {
    "goal": "Decide how the switching engine chooses",
    "steps": [],
    "outcome": "The switching engine takes the nearest tool and one layer.",
    "lessons": [],
    "milestone": "The switching engine takes one layer",
    "snapshot": "We decided how it chooses. The switching engine takes the nearest tool. It takes one layer.",
    "importance": 0.9,
}


class SmallModel(ScriptedModel):
    """Answers each of the runtime's questions in its form, and counts them."""

    picks: dict[str, Any]
    asked: list[str] = Field(default_factory=list)
    script: list[Any] = Field(default_factory=list)

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        question = messages[0].text
        for name, answer in (("pick_tools", self.picks), ("task_graph", PLAN)):
            if question.startswith(load_prompt(name).partition("\n")[0]):
                self.asked.append(name)
                return AIMessage(json.dumps(answer))
        self.asked.append("extraction")
        return AIMessage(json.dumps(proposal(episode=EPISODE)))


class Tools:
    """The steps of the project as tools, with their relations, and what ran of them."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.reading = asyncio.Event()

    def made(self) -> list[BaseTool]:
        about = {
            S1: ("Define the switching engine.", {}),
            S2: ("Build the working memory graph.", {"after": [S1]}),
            "read_meta_graph": ("Read the nodes of the meta graph.", {"prefetch": True}),
        }
        return [self._tool(name, *told) for name, told in about.items()]

    def _tool(self, name: str, about: str, metadata: dict[str, Any]) -> BaseTool:
        async def run() -> str:
            self.ran.append(name)
            if name == "read_meta_graph":
                self.reading.set()
            return f"{name}: done"

        return StructuredTool.from_function(coroutine=run, name=name, description=about, metadata=metadata)


def build(model: ScriptedModel, small: SmallModel, tools: list[BaseTool], **policy: Any) -> Graph:
    memory = MemoryPolicy.model_validate({"extraction": {"mode": "inline"}, **policy})
    config = AgentConfig(name="planner", manager="react_mem", memory=memory, switching={"mode": "model"})
    agent = resolve_agent(config, model=model, small_model=small, tools=tools)
    return build_agent(agent, store=word_store(), checkpointer=InMemorySaver())


async def turn(graph: Graph, text: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what a turn ends in, and its events."""
    values: dict[str, Any] = {}
    told: list[dict[str, Any]] = []
    stream = graph.astream(
        {"messages": [("user", text)]}, thread("project_x"), context=ANN, stream_mode=["values", "custom"]
    )
    async for mode, part in stream:
        if mode == "values":
            values = part
        else:
            told.append(part)
    return values, told


def of_type(told: list[dict[str, Any]], type_: str) -> list[dict[str, Any]]:
    return [event for event in told if event["type"] == type_]


async def test_one_call_says_the_tool_and_the_layer_and_the_relations_what_comes_next() -> None:
    small = SmallModel(picks={"tools": [S1], "layers": ["episodic"], "snapshot": False})
    graph = build(ScriptedModel(script=[calls((S1, {})), "Defined."]), small, Tools().made())
    values, told = await turn(graph, "Define the switching engine")
    assert small.asked.count("pick_tools") == 1
    [switched] = of_type(told, "switch")
    assert (switched["picked"], switched["layers"], switched["by"]) == ([S1], ["episodic"], "model")
    [suggested] = of_type(told, "suggestion")
    assert (suggested["tool"], suggested["after"]) == (S2, S1)
    assert values["suggestions"] == values["messages"][-1].additional_kwargs["suggestions"]
    assert [one["tool"] for one in values["suggestions"]] == [S2]


async def test_what_the_request_needs_runs_ahead_where_it_only_reads() -> None:
    tools, small = Tools(), SmallModel(picks={"tools": ["read_meta_graph"], "layers": []})
    # it answers once the tool has begun, which it has not asked for yet
    model = Waiting(script=[calls(("read_meta_graph", {})), "That is all."], event=tools.reading)
    values, _ = await turn(build(model, small, tools.made()), "What is in the meta graph?")
    assert [m.text for m in values["messages"] if m.type == "tool"] == ["read_meta_graph: done"]
    assert tools.ran == ["read_meta_graph"]


async def test_working_memory_is_a_graph_of_steps_that_moves_on_with_its_tools() -> None:
    small = SmallModel(picks={"tools": [S1, S2], "layers": ["procedural"]})
    model = ScriptedModel(script=[calls((S1, {})), calls((S2, {})), "Both are there."])
    graph = build(model, small, Tools().made(), tasks={"enabled": True})
    _, told = await turn(graph, REQUEST)
    assert sorted(small.asked[:2]) == ["pick_tools", "task_graph"]
    statuses = [[step["status"] for step in event["steps"]] for event in of_type(told, "task")]
    assert statuses == [["pending", "pending"], ["done", "pending"], ["done", "done"]]
    assert of_type(told, "task")[0]["steps"][1]["depends_on"] == ["s1"]


async def test_a_decision_has_the_engine_ask_for_a_snapshot_that_is_made_behind_the_turn() -> None:
    small = SmallModel(picks={"tools": [], "layers": ["episodic"], "snapshot": True})
    graph = build(ScriptedModel(script=["Noted."]), small, Tools().made())
    values, told = await turn(graph, DECISION)
    assert of_type(told, "switch")[0]["snapshot"]
    # no call more than a turn without
    assert small.asked == ["pick_tools", "extraction"]
    assert graph.store is not None
    [milestone] = await MemoryFacade(graph.store).list_records("ann", [MemoryScope.EPISODIC])
    assert milestone.payload["milestone_title"] == EPISODE["milestone"]
    assert 3 <= len(sentences(milestone.payload["text"].partition(": ")[2])) <= 5
    assert milestone.payload["importance"] == 0.9
    assert values["messages"][-1].text == "Noted."
    await vectors_made()
