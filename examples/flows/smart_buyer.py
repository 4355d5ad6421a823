"""An example of learning: a flow that plans which tools to use, until it has learnt a skill.

    START -> plan -> act -> act ... -> report -> END

Each step is logged as experience with its cost, and so is the outcome of the request. Behind the turns, after a moment
of quiet, a plan that repeatedly worked becomes a skill, which replaces the model's plan as long as its uses succeed.
The shop is a toy: its tools are pure functions, and its catalogue are documents. `docs/smart_buyer.md` shows a run.
"""

from __future__ import annotations

import asyncio
import re
import time
from functools import cache
from pathlib import Path
from typing import Any, NotRequired

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import BaseTool, tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from examples.flows.asking import asked_aside
from react_mem import AgentContext
from react_mem.agents.config import load_agent
from react_mem.agents.resolve import ResolvedAgent, resolve_agent
from react_mem.graphs.hooks import Remember, with_memory
from react_mem.memory import Document, MemoryResultItem, MemoryScope
from react_mem.memory.context import text_of
from react_mem.memory.records import record_id
from react_mem.memory.runtime import AgentRunner, Metering, record_turn, withhold
from react_mem.memory.telemetry import cost_of
from react_mem.memory.turns import AgentMemory, TurnMemory, scrub

FLOW = "smart_buyer"

_PRICES = {"kettle": (24, 31), "teapot": (18, 45), "lamp": (39, 35), "chair": (89, 120)}

CATALOGUE = (
    "Kettle: 1.7 litres, boils in four minutes.",
    "Teapot: stoneware, holds six cups.",
    "Lamp: a reading lamp with a dimmer.",
    "Chair: oak, carries 120 kilos.",
)
"""Documents about the shop's products; a shopper's memory has them once somebody adds them."""


@tool
def search_products(query: str) -> dict[str, Any]:
    """Find the offers for what somebody wants."""
    found = [f"{name}-{place}" for name, prices in _PRICES.items() if name in query.lower() for place in (1, 2)]
    if not found:
        raise ValueError(f"nothing is found; there are {', '.join(_PRICES)}")
    return {"products": found}


@tool
def compare_prices(products: list[str]) -> dict[str, Any]:
    """Choose the cheapest of several offers."""
    return {"product_id": min(products, key=_price)}


@tool
def check_stock(product_id: str) -> dict[str, Any]:
    """Reserve an offer, if it is in stock."""
    return {"reservation": f"reserved-{product_id}"}


@tool
def place_order(product_id: str, reservation: str) -> dict[str, Any]:
    """Order a reserved offer."""
    if reservation != f"reserved-{product_id}":
        raise ValueError("this offer is not reserved")
    return {"order": f"{product_id} for {_price(product_id)} euros"}


class BuyState(MessagesState):
    """The state of the flow: the tools to use, the skills offered, documents read, values known, and the steps so far.

    `asked` is the price of the model's plan; None without one.
    """

    plan: NotRequired[list[str]]
    offered: NotRequired[list[str]]
    read: NotRequired[list[str]]
    asked: NotRequired[float | None]
    known: NotRequired[dict[str, Any]]
    steps: NotRequired[list[dict[str, Any]]]


class Buyer:
    """The nodes of the flow."""

    def __init__(self, buyer: ResolvedAgent) -> None:
        self.agent_id = buyer.config.name
        self.policy = buyer.config.policy(FLOW)
        self._learns = self.policy.learning.skills != "off"
        self._buyer = buyer
        self._memory = AgentMemory(self.agent_id, self.policy)
        if self._learns:
            # what is done behind the turns: reflection on what was logged
            tools = tuple(one.name for one in buyer.tools)
            runner = AgentRunner(self._memory.turns, tools=tools, retention=buyer.config.memory.retention)
            buyer.work.runners[self.agent_id] = runner
        self._tools = {one.name: one for one in buyer.tools}

    async def plan(
        self, state: BuyState, runtime: Runtime[AgentContext], *, memories: list[MemoryResultItem]
    ) -> dict[str, Any]:
        """Take the steps of the best skill that is offered; without one, ask the model."""
        await Metering.of(self.policy, runtime).admit()
        request = text_of(state["messages"][-1])
        skills = [item for item in memories if item.scope is MemoryScope.PROCEDURAL and item.payload["tool_sops"]]
        # some requests do without what was learnt, to compare
        shown, _ = withhold(skills, str(state["messages"][-1].id)) if self._learns else (skills, ())
        feasible = [[step["tool"] for step in skill.payload["tool_sops"]] for skill in shown]
        steps = known = next((steps for steps in feasible if self._tools.keys() >= set(steps)), None)
        cost = None
        if steps is None:
            told = [item for item in memories if item.scope is not MemoryScope.PROCEDURAL]
            response = await asked_aside(self._buyer, runtime, FLOW, told, [HumanMessage(request)])
            # all tools where the model names none
            named = re.findall("|".join(map(re.escape, self._tools)), str(response.text)) if self._tools else []
            steps, cost = named or list(self._tools), cost_of(response)
        text = f"{'As before' if known else 'Plan'}: {', '.join(steps)}"
        runtime.stream_writer({"type": "thought", "text": text})
        return {
            "plan": steps,
            "offered": [skill.id for skill in skills],
            "read": [item.payload["text"] for item in memories if item.source == Document.kind_name()],
            "asked": cost,
            "known": {"query": request},
            "steps": [],
        }

    async def act(
        self, state: BuyState, runtime: Runtime[AgentContext], *, memories: list[MemoryResultItem]
    ) -> dict[str, Any]:
        """Use the next tool with the values so far."""
        steps, known = state["steps"], state["known"]
        step, learnt = await _use(self._tools[state["plan"][len(steps)]], known)
        if (asked := state.get("asked")) is not None:
            step["cost"] = asked / len(state["plan"])
        call = {"id": str(len(steps)), "name": step["action"]}
        runtime.stream_writer({"type": "action", **call, "args": step["arguments"]})
        said = {"content": step["error"] or step["observation"], "error": bool(step["error"])}
        runtime.stream_writer({"type": "observation", **call, **said})
        return {"steps": [*steps, step], "known": {**known, **learnt}}

    @staticmethod
    def logged(state: BuyState, result: dict[str, Any]) -> list[Remember]:
        """Return the last step as experience."""
        turn_id, place, step = str(state["messages"][-1].id), len(state["steps"]), result["steps"][-1]
        # the same step of the same request is one, however often the node runs
        about = {"id": record_id(FLOW, turn_id, str(place)), "task_type": FLOW, "source_ids": [turn_id]}
        names = {"action": "tool", "arguments": "input", "observation": "output"}
        return [Remember(MemoryScope.EXPERIENCE, about | {names.get(part, part): said for part, said in step.items()})]

    @staticmethod
    def after_act(state: BuyState) -> str:
        """Return the next node."""
        return "report" if state["steps"][-1]["error"] or len(state["steps"]) == len(state["plan"]) else "act"

    async def report(self, state: BuyState, runtime: Runtime[AgentContext]) -> dict[str, Any]:
        """Answer, and log the outcome of the request."""
        ordered, last = state["known"].get("order"), state["steps"][-1]
        # the class of an error is for whoever reads the steps
        why = last["error"].partition(": ")[2] or last["error"] or "the plan ends early"
        answer = f"Ordered: {ordered}." if ordered else f"Nothing is ordered: {why}."
        name = str(ordered or "").partition("-")[0]
        answer = " ".join([answer, *(text for text in state.get("read", ()) if name and text.lower().startswith(name))])
        runtime.stream_writer({"type": "answer", "text": answer})
        memory = TurnMemory.of(self._memory, runtime, node="report")
        if self._learns and (turns := memory.turns) is not None:
            if runtime.server_info is None:
                # a server has a worker for all agents
                self._buyer.work.ensure(turns.memory.store)
            asked = state["messages"][-1]
            outcome = record_turn(
                turns.memory,
                turns.user_id,
                session_id=turns.session_id,
                agent_id=self.agent_id,
                turn_id=str(asked.id),
                offered=state["offered"],
                steps=state["steps"],
                success=bool(ordered),
                task_type=FLOW,
                goal=text_of(asked),
            )
            await memory.end(turns, outcome)
        return {"messages": [AIMessage(answer)]}


def build_graph(
    buyer: ResolvedAgent, *, checkpointer: Checkpointer = None, store: BaseStore | None = None
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the compiled graph of the flow, with the input and output of the managers."""
    nodes = Buyer(buyer)
    graph = StateGraph(BuyState, AgentContext, input_schema=MessagesState, output_schema=MessagesState)
    read = [MemoryScope.PROFILE, MemoryScope.PROCEDURAL, MemoryScope.SEMANTIC]
    about: dict[str, Any] = {"agent_id": nodes.agent_id, "flow_id": FLOW, "policy": nodes.policy}
    planning = with_memory(nodes.plan, **about, task_type=FLOW, read=read, write=lambda state, result: [])
    graph.add_node("plan", planning)
    graph.add_node("act", with_memory(nodes.act, **about, write=nodes.logged))
    graph.add_node("report", nodes.report)
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "act")
    graph.add_conditional_edges("act", nodes.after_act, ["act", "report"])
    graph.add_edge("report", END)
    return graph.compile(checkpointer=checkpointer, store=store, name=FLOW)


@cache
def buyer() -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the flow of the agent beside this file. Blocking: it reads files."""
    return build_graph(resolve_agent(load_agent(Path(__file__).parent / "agents" / f"{FLOW}.yaml")))


async def graph() -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the flow for `langgraph dev`."""
    return await asyncio.to_thread(buyer)


async def _use(one: BaseTool, known: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a step, as a turn of `react_mem` logs it, and the values learnt from it."""
    step: dict[str, Any] = {"action": one.name, "arguments": {k: known[k] for k in one.args if k in known}, "error": ""}
    started = time.perf_counter()
    learnt: dict[str, Any] = {}
    try:
        learnt = await one.ainvoke(step["arguments"])
    except Exception as failed:  # whatever a tool raises: it is an observation
        step["error"] = f"{type(failed).__name__}: {scrub(failed)}"
    step["observation"] = ", ".join(f"{name}: {value}" for name, value in learnt.items())
    return {**step, "latency": time.perf_counter() - started}, learnt


def _price(product_id: str) -> int:
    name, _, place = product_id.rpartition("-")
    return _PRICES[name][int(place) - 1]
