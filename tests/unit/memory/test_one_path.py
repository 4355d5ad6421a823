"""The runtime and the scopes' methods are one path: what either writes or reads, the other would."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from typing_extensions import TypedDict

from react_mem.agents.context import AgentContext
from react_mem.graphs.hooks import Remember, with_memory
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryQuery, MemoryScope
from react_mem.memory.model.kinds import MESSAGE
from react_mem.memory.model.operations import EpisodeDraft, Extraction, ProfileChange
from react_mem.memory.model.origins import Origin
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.reflect.skills.skill_drafts import read_experience
from react_mem.memory.reflect.tasks.task_store import Step, TaskGraph, TaskKeeper
from react_mem.memory.scopes.procedural import ProceduralMemoryStore
from react_mem.memory.write.turns import Turns

HERE: dict[str, Any] = {"session_id": "monday", "agent_id": "tester"}
ANN: dict[str, Any] = {"user_id": "ann", **HERE}
ASKED, ANSWERED = MESSAGE.id("monday", "q"), MESSAGE.id("monday", "a")
WEB = {"action": "web_search", "arguments": {"query": "kettle"}, "observation": "3 found", "error": ""}
FAILED = {"action": "order", "arguments": {"id": 1}, "observation": "", "error": "sold out"}

TIMES = {"created_at", "updated_at", "worked_at"}

Work = Callable[[MemoryFacade], Awaitable[Any]]


class Flow(TypedDict):
    done: bool


class Drawn:
    """An extractor that draws an episode, a summary and a field of the profile."""

    async def extract(self, *_: Any, **__: Any) -> Extraction:
        return Extraction(
            episode=EpisodeDraft("buy a kettle", outcome="it was sold out", origin=Origin.WEB),
            summary="The user wanted a kettle.",
            profile_changes=(ProfileChange("city", "Hue", (ASKED,)),),
        )


async def turn(memory: MemoryFacade) -> None:
    """Let a turn happen: two steps, of which the last fails."""
    said: list[AnyMessage] = [HumanMessage("buy a kettle", id="q"), AIMessage("It is sold out.", id="a")]
    await Turns(memory, Drawn(), **ANN).close(said, None, [WEB, FAILED])


async def drawn(memory: MemoryFacade) -> None:
    """Let a turn happen, and what is drawn from it."""
    await turn(memory)
    await Turns(memory, Drawn(), **ANN).extract()


async def steps_logged(memory: MemoryFacade) -> None:
    for step in (WEB, FAILED):
        data = {"tool": step["action"], "input": step["arguments"], "source_ids": [ASKED]}
        data |= {"output": step["observation"], "error": step["error"]}
        await memory.experience.log_step(data, **ANN)


async def flow_ran(memory: MemoryFacade) -> None:
    """Let a node of a flow keep the flow's state."""

    async def node(state: Flow, runtime: Runtime[Any], *, memories: list[Any]) -> dict[str, Any]:
        return {"done": True}

    keep = [Remember(MemoryScope.STATE, {"state": {"open": ["hotel"]}})]
    hook = with_memory(node, agent_id="tester", flow_id="trip", write=lambda *_: keep)
    graph = StateGraph(Flow, AgentContext)
    graph.add_node("node", hook)
    graph.add_edge(START, "node")
    context = AgentContext(user_id="ann")
    config: Any = {"configurable": {"thread_id": "monday"}}
    await graph.compile(store=memory.store).ainvoke({"done": False}, config, context=context)


async def state_saved(memory: MemoryFacade) -> None:
    await memory.state.save_state("trip", "monday", {"open": ["hotel"]}, user_id="ann", agent_id="tester")


TRIP = TaskGraph("a trip", (Step("1", "book a hotel"), Step("2", "buy a ticket", ("1",))))


async def task_kept(memory: MemoryFacade, *, failed: bool = True) -> None:
    """Keep a task as the graph does, its first step failed."""
    keeper = TaskKeeper(memory.state, **ANN)
    await keeper.save(replace(TRIP, id="t1"), ASKED, new=True)
    if failed:
        await keeper.save(replace(TRIP.marked("1", "failed", "no room"), id="t1"), ASKED)


async def step_noted(memory: MemoryFacade) -> None:
    await task_kept(memory, failed=False)
    await memory.state.log_task_step("t1", "Book a hotel.", "failed", "no room", **ANN)
    await memory.state.log_task_step("t1", "book a hotel", "failed", "no room", **ANN)


async def summary_written(memory: MemoryFacade) -> None:
    await episode_recorded(memory)
    text, sources = "The user wanted a kettle.", [ASKED, ANSWERED]
    episodes = [item.id for item in await memory.list_records("ann", [MemoryScope.EPISODIC])]
    await memory.dialog.update_summary("ann", "monday", text, agent_id="tester", source_ids=sources, episodes=episodes)


async def profile_updated(memory: MemoryFacade) -> None:
    await turn(memory)
    await memory.profile.update_profile("ann", {"city": "Hue"}, source_ids=[ASKED], **HERE)


async def episode_recorded(memory: MemoryFacade) -> None:
    await turn(memory)
    sources = [ASKED, ANSWERED]
    await memory.episodic.record("buy a kettle", outcome="it was sold out", source_ids=sources, **ANN)


async def skills_kept(memory: MemoryFacade) -> None:
    for place, use in enumerate(("boiling water", "boiling eggs", "pouring tea")):
        sop = {"use_when": use, "task_type": "kitchen", "trials": 4, "successes": place + 1}
        await memory.procedural.add_skill(sop, user_id="ann")


def memory_of(store: BaseStore | None = None) -> MemoryFacade:
    return MemoryFacade(store or InMemoryStore(), MemoryPolicy())


def untimed(value: Any) -> Any:
    """Return a record without when it was written."""
    if isinstance(value, dict):
        return {name: untimed(one) for name, one in value.items() if name not in TIMES}
    return value


async def kept(work: Work, scope: MemoryScope, kind: str) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
    """Return what is kept of a kind after some work, where it is kept, without what tells two runs apart."""
    memory = memory_of()
    await work(memory)
    found = await memory.store.asearch(("memory", "ann"), filter={"kind": kind}, limit=50)
    rows = [(item.namespace, untimed(item.value)) for item in found]
    assert rows
    assert {namespace[2] for namespace, _ in rows} == {str(scope)}
    return sorted(rows, key=lambda row: str(row[1]["text"]))


WRITTEN = {
    "step": (turn, steps_logged, MemoryScope.EXPERIENCE, "experience"),
    "state": (flow_ran, state_saved, MemoryScope.STATE, "state"),
    "task step": (task_kept, step_noted, MemoryScope.STATE, "task_step"),
    "task": (task_kept, step_noted, MemoryScope.STATE, "task"),
    "summary": (drawn, summary_written, MemoryScope.DIALOG, "summary"),
    "profile": (drawn, profile_updated, MemoryScope.PROFILE, "profile"),
    "episode": (drawn, episode_recorded, MemoryScope.EPISODIC, "episode"),
}


@pytest.mark.parametrize("what", WRITTEN)
async def test_what_the_runtime_writes_is_what_the_method_writes(what: str) -> None:
    runtime, method, scope, kind = WRITTEN[what]
    by_runtime, by_method = await kept(runtime, scope, kind), await kept(method, scope, kind)
    if kind == "experience":
        # which of a turn's steps it is tells two equal ones apart; outside of a turn there is no such number
        assert len({value.pop("id") for _, value in [*by_runtime, *by_method]}) == 4
    # only a node knows which one it is
    assert [value.pop("node_id") for _, value in by_runtime if "node_id" in value] == ["node"] * (what == "state")
    assert by_runtime == by_method


async def test_skills_are_searched_as_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = memory_of()
    await skills_kept(memory)
    query = MemoryQuery(**ANN, scopes=[MemoryScope.PROCEDURAL], query="boiling", task_type="kitchen")

    async def both() -> tuple[list[str], list[str]]:
        read = await memory.read(query)
        found = await memory.procedural.search_skills("kitchen", "boiling", user_id="ann")
        return [item.id for item in read], [item.id for item in found]

    read, found = await both()
    assert read == found
    assert len(read) == 3
    best = ProceduralMemoryStore._best
    monkeypatch.setattr(ProceduralMemoryStore, "_best", lambda *args: best(*args)[::-1])
    assert await both() == (read[::-1], read[::-1])


async def test_what_is_learnt_from_is_what_the_methods_return() -> None:
    memory = memory_of()
    await turn(memory)
    later = [HumanMessage("and a lamp?", id="q2"), AIMessage("Ordered.", id="a2")]
    await Turns(memory, Drawn(), **ANN).close(later, None, [WEB])
    learnt, _ = await read_experience(memory, "ann", "tester")
    assert [[step.tool for step in trace.steps] for trace in learnt] == [["web_search", "order"], ["web_search"]]
    succeeded = [list(trace.steps) for trace in learnt if trace.succeeded]
    assert await memory.experience.get_successful_traces("", user_id="ann") == succeeded
    failed = [step for trace in learnt for step in trace.steps if not step.success]
    assert await memory.experience.get_failures("", user_id="ann") == failed
    assert [step.error for step in failed] == ["sold out"]


async def test_a_step_that_is_noted_belongs_to_the_task_of_the_graph() -> None:
    memory = memory_of()
    await task_kept(memory, failed=False)
    await memory.state.log_task_step("t1", "book a hotel", "done", **{**ANN, "session_id": "tuesday"})
    await memory.state.log_task_step("t1", "pack", "running", **ANN)
    keeper = TaskKeeper(memory.state, **ANN)
    task = await keeper.load("t1")
    assert task is not None
    assert [(s.description, s.status, s.depends_on) for s in task.steps] == [
        ("book a hotel", "done", ()),
        ("buy a ticket", "pending", ("1",)),
        ("pack", "running", ()),
    ]
    for step in ("buy a ticket", "pack"):
        await memory.state.log_task_step("t1", step, "done", **ANN)
    assert await keeper.find("continue where we stopped") is None
