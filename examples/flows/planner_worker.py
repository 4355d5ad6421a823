"""An example of hooks: a planner and a worker, two agents with different policies over one memory.

    START -> plan -> work -> work ... -> END

The planner sees the profile, earlier attempts and skills; the worker sees facts, and its steps are logged as
experience. Both policies are in agents/, under `flows: planner_worker:`. `make dev EXAMPLES=1` serves it.
"""

from __future__ import annotations

import asyncio
import re
from functools import cache
from pathlib import Path
from typing import Any, NotRequired

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from examples.flows.asking import asked_aside
from react_mem import AgentContext
from react_mem.agents.config import load_agent
from react_mem.agents.resolve import ResolvedAgent, resolve_agent
from react_mem.graphs.hooks import with_memory
from react_mem.memory import MemoryResultItem, MemoryScope
from react_mem.memory.context import text_of
from react_mem.memory.runtime import Metering

FLOW = "planner_worker"
MAX_STEPS = 5
"""Maximum number of steps, which the planner is told; a model that plans more has not understood the request."""

_STEP = re.compile(r"^\s*(?:\d+[.)]|[-*])\s+(.+)$", re.MULTILINE)


class PlanState(MessagesState):
    """The state of the team: the conversation, the steps of the request (`plan`), and their outcomes (`results`)."""

    plan: NotRequired[list[str]]
    results: NotRequired[list[str]]


class Team:
    """The nodes of the team: the planner breaks a request into steps, the worker does one step at a time."""

    def __init__(self, planner: ResolvedAgent, worker: ResolvedAgent) -> None:
        self._planner = planner
        self._worker = worker

    async def plan(
        self, state: PlanState, runtime: Runtime[AgentContext], *, memories: list[MemoryResultItem]
    ) -> dict[str, Any]:
        """Break the request into steps; a model that gives no list leaves the request as the one step."""
        await Metering.of(self._planner.config.memory, runtime).admit()
        request = text_of(state["messages"][-1])
        said = await asked_aside(self._planner, runtime, FLOW, memories, [HumanMessage(request)], "planning")
        steps = [step.strip() for step in _STEP.findall(said.text)][:MAX_STEPS] or [request]
        runtime.stream_writer({"type": "thought", "text": "\n".join(steps)})
        return {"plan": steps, "results": []}

    async def work(
        self, state: PlanState, runtime: Runtime[AgentContext], *, memories: list[MemoryResultItem]
    ) -> dict[str, Any]:
        """Do the next step; the last one ends the request with the outcomes of all."""
        results = state["results"]
        step = state["plan"][len(results)]
        action = {"type": "action", "id": str(len(results)), "name": "work", "args": {"step": step}}
        runtime.stream_writer(action)
        prompt = [*map(AIMessage, results), HumanMessage(step)]
        done = await asked_aside(self._worker, runtime, FLOW, memories, prompt, "planning")
        results = [*results, done.text]
        if len(results) < len(state["plan"]):
            return {"results": results}
        answer = "\n\n".join(results)
        runtime.stream_writer({"type": "answer", "text": answer})
        return {"results": results, "messages": [AIMessage(answer)]}

    @staticmethod
    def after_work(state: PlanState) -> str:
        """Return the next node."""
        return "work" if len(state["results"]) < len(state["plan"]) else END


def build_graph(
    planner: ResolvedAgent, worker: ResolvedAgent, *, checkpointer: Checkpointer = None, store: BaseStore | None = None
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the compiled graph of the team, with the input and output of the managers."""
    nodes = Team(planner, worker)
    graph = StateGraph(PlanState, AgentContext, input_schema=MessagesState, output_schema=MessagesState)
    graph.add_node(
        "plan",
        with_memory(
            nodes.plan,
            agent_id=planner.config.name,
            flow_id=FLOW,
            read=[MemoryScope.PROFILE, MemoryScope.EPISODIC, MemoryScope.PROCEDURAL],
            policy=planner.config.policy(FLOW),
        ),
    )
    graph.add_node(
        "work",
        with_memory(
            nodes.work,
            agent_id=worker.config.name,
            flow_id=FLOW,
            read=[MemoryScope.PROFILE, MemoryScope.SEMANTIC],
            policy=worker.config.policy(FLOW),
            query=lambda state: state["plan"][len(state["results"])],
        ),
    )
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "work")
    graph.add_conditional_edges("work", nodes.after_work, ["work", END])
    return graph.compile(checkpointer=checkpointer, store=store, name=FLOW)


@cache
def team() -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the team of the agents beside this file. Blocking: it reads files."""
    agents = Path(__file__).parent / "agents"
    return build_graph(*(resolve_agent(load_agent(agents / f"{name}.yaml")) for name in ("planner", "worker")))


async def graph() -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the team for `langgraph dev`."""
    return await asyncio.to_thread(team)
