"""Learning over PostgreSQL: workers at once lose no count and learn nothing twice; skills are found by their task.

Then the flow that shows it: it plans until it knows.
"""

from __future__ import annotations

import asyncio
from itertools import count
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore

from examples.flows.smart_buyer import CATALOGUE, FLOW, build_graph
from react_mem.agents.config import AgentConfig, load_agent
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.merging.skill_life import is_withheld
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.states import Skill
from react_mem.memory.reflect.driver import run
from react_mem.memory.reflect.skill_learner import Learning
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.postgres import MemoryStore
from tests.contract.conftest import memory_store as in_memory
from tests.contract.test_loop import ANN, thread
from tests.support.databases import open_memory_store
from tests.support.learning import AGENT, TOOLS, did, skills
from tests.support.pricing import costing
from tests.support.scripted_model import ScriptedModel, calls

BUYER = Path(__file__).parents[3] / "examples/flows/agents/smart_buyer.yaml"
BUYING = "search compare order"
RIGHT = ["search_products", "compare_prices", "check_stock", "place_order"]


async def test_workers_at_once_lose_no_count_and_a_retry_adds_none(
    memory_store: MemoryStore, words: EmbeddingModel
) -> None:
    # another store stands for another process: within one, an owner's steps queue
    async with open_memory_store(memory_store.pool.conninfo, words) as elsewhere:
        workers = [MemoryFacade(memory_store), MemoryFacade(elsewhere)]
        for session in "123":
            await did(workers[0], BUYING, session)
        await asyncio.gather(*(run(Learning(worker, "ann", AGENT, TOOLS)) for worker in workers))
        [skill] = await skills(workers[0])
        sessions = [f"use {number}" for number in range(8)]
        # each turn is told by both
        await asyncio.gather(
            *(did(worker, BUYING, session, offered=[skill.id]) for session in sessions for worker in workers)
        )
        [skill] = await skills(workers[0])
        assert (skill.trials, skill.successes, skill.status) == (8, 8, "active")


async def ask(store: BaseStore, model: ScriptedModel, request: str, id_: str = "") -> str:
    buyer = resolve_agent(load_agent(BUYER), model=model)
    graph = build_graph(buyer, store=store, checkpointer=InMemorySaver())
    said = HumanMessage(request, id=id_ or request)
    result = await graph.ainvoke({"messages": [said]}, thread(request), context=ANN)
    return str(result["messages"][-1].text)


async def learn_to_buy(store: BaseStore) -> list[Skill]:
    memory = MemoryFacade(store)
    await run(Learning(memory, "ann", FLOW, RIGHT))
    return await skills(memory)


async def test_the_buyer_plans_until_it_knows() -> None:
    store = in_memory()
    planner = ScriptedModel(script=["\n".join(RIGHT)])
    for thing, order in (("kettle", "kettle-1 for 24"), ("teapot", "teapot-1 for 18"), ("lamp", "lamp-2 for 35")):
        assert await ask(store, planner, f"buy me a {thing}") == f"Ordered: {order} euros."
    [skill] = await learn_to_buy(store)
    assert [step.tool for step in skill.tool_sops] == RIGHT
    assert skill.tool_sops[-1].action == "with {product_id}, {reservation}"
    ignorant = ScriptedModel(script=["I do not know."])
    shown, away = (next(name for name in map(str, count()) if is_withheld(skill, name) is out) for out in (False, True))
    assert await ask(store, ignorant, "buy me a chair", shown) == "Ordered: chair-1 for 89 euros."
    assert ignorant.prompts == []
    [skill] = await skills(MemoryFacade(store))
    assert (skill.trials, skill.successes) == (1, 1)
    # a flow remembers no messages: what the user thinks of it is for the skill that it followed
    memory = MemoryFacade(store)
    for said in ({"session_id": "buy me a chair"}, {"session_id": "buy me a chair", "message_id": shown}):
        report = await memory.feedback("ann", -1, **said)
        assert report is not None
        [skill] = await skills(memory)
        assert (skill.trials, skill.successes) == (2, 1)
    assert await memory.feedback("bob", -1, session_id="buy me a chair") is None
    await memory.feedback("ann", 0, session_id="buy me a chair")
    [skill] = await skills(memory)
    assert (skill.trials, skill.successes) == (1, 1)
    # now and then a request does without, to compare
    assert await ask(store, planner, "buy me a lamp", away) == "Ordered: lamp-2 for 35 euros."
    [skill] = await skills(MemoryFacade(store))
    assert (len(planner.prompts), skill.trials, skill.shown.turns, skill.withheld.turns) == (4, 1, 1, 1)


def test_the_page_of_the_buyer_shows_what_its_script_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "smart_buyer.md").read_text(encoding="utf-8")
    script, shown = (page.split(f"```{kind}\n")[1].split("```")[0] for kind in ("python", "text"))
    asked = []
    answer = FakeListChatModel._call
    monkeypatch.setattr(FakeListChatModel, "_call", lambda *args, **kwargs: asked.append(1) or answer(*args, **kwargs))
    exec(compile(script, "docs/smart_buyer.md", "exec"), {"__name__": "__main__"})  # noqa: S102 - our own page
    assert capsys.readouterr().out == shown
    # three orders are planned by the model, the fourth by nobody
    assert (shown.count("Plan: "), shown.count("As before: "), len(asked)) == (3, 1, 3)


async def test_the_buyer_reads_what_its_flow_says_and_logs_what_its_steps_took(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("react_mem.memory.telemetry.emit.calc_price", costing(8))
    policy = load_agent(BUYER).policy(FLOW)
    assert (policy.recall.semantic, policy.recall.max_docs, policy.recall.max_skills) == (True, 8, 5)
    store = in_memory()
    memory = MemoryFacade(store)
    await memory.semantic.add_documents([Document(text) for text in CATALOGUE], user_id="ann")
    usage = {"input_tokens": 500_000, "output_tokens": 0, "total_tokens": 500_000}
    plan = AIMessage("\n".join(RIGHT), usage_metadata=usage, response_metadata={"model_name": "toy"})
    planner = ScriptedModel(script=[plan])
    answer = await ask(store, planner, "buy me a lamp")
    assert answer == "Ordered: lamp-2 for 35 euros. Lamp: a reading lamp with a dimmer."
    assert "a reading lamp with a dimmer" in str(planner.prompts[0])
    [steps] = await memory.experience.get_successful_traces(FLOW, user_id="ann")
    assert [(step.task_type, step.cost) for step in steps] == [(FLOW, 1.0)] * 4
    assert all(step.latency is not None and step.latency > 0 for step in steps)


async def test_a_turn_counts_for_the_skill_that_it_followed() -> None:
    @tool
    def search(query: str) -> str:
        """Search."""
        return query

    store = in_memory()
    memory = MemoryFacade(store)
    sop = {"use_when": "somebody asks where a thing is", "tool_sops": [{"tool": "search", "action": "look for it"}]}
    await memory.procedural.add_skill(sop, user_id="ann")
    policy = MemoryPolicy.model_validate({"learning": {"skills": "traces"}, "extraction": {"mode": "off"}})
    config = AgentConfig(name="assistant", manager="react_mem", memory=policy)
    model = ScriptedModel(script=[calls(("search", {"query": "keys"})), "In the drawer."])
    agent = build_agent(resolve_agent(config, model=model, tools=[search]), store=store, checkpointer=InMemorySaver())
    await agent.ainvoke({"messages": [("user", "Where are my keys?")]}, thread("1"), context=ANN)
    [skill] = await skills(memory)
    assert (skill.trials, skill.successes) == (1, 1)
