"""What `maintenance` draws from many turns, and that forgetting leaves nothing of it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from react_mem.agents.config import AgentConfig
from react_mem.agents.resolve import ResolvedAgent, build_agent, resolve_agent
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.maintenance.runner import reflect
from react_mem.memory.merging.facts import write_facts
from react_mem.memory.merging.skill_life import load_knowledge
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.operations import Operation
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.model.receipt import put, write
from react_mem.memory.model.records import Message, now, record_id
from react_mem.memory.store.owned import everything
from react_mem.memory.write.session import TurnReport
from react_mem.memory.write.turns import Turns
from tests.support.scripted_model import ScriptedModel, calls

USER = "ann"


@tool
def search(query: str) -> str:
    """Search."""
    return query


def an_agent(**policy: object) -> ResolvedAgent:
    memory = MemoryPolicy.model_validate(policy)
    config = AgentConfig(name="assistant", manager="react_mem", memory=memory)
    return resolve_agent(config, model=ScriptedModel(script=[""]), tools=[search])


def turns_of(agent: ResolvedAgent, store: BaseStore) -> Turns:
    memory = MemoryFacade(store, agent.config.memory)
    return Turns(memory=memory, extractor=None, user_id=USER, session_id="maintenance", agent_id=agent.config.name)


async def reflect_as(agent: ResolvedAgent, store: BaseStore) -> TurnReport:
    tools = [tool.name for tool in agent.tools]
    return await reflect(turns_of(agent, store), [agent.small_model], tools)


async def say(store: BaseStore, session_id: str, *said: str, about: str = "user") -> None:
    """Let there be messages in a conversation, and the facts that they state."""
    for place, text in enumerate(said):
        id_ = record_id("message", session_id, str(place))
        message = Message(
            id=id_, text=text, content=text, role="user", turn=place, session_id=session_id, agent_id="assistant"
        )
        await write(store, [put(USER, message)])
        fact = Operation("new", text, about=about, source_ids=(id_,))
        await write_facts(store, USER, [fact], at=now(), session_id=session_id, agent_id="assistant")


async def kinds(store: BaseStore) -> Sequence[str]:
    return sorted({str(item.value.get("kind")) for item in await everything(store, USER)})


@pytest.fixture
def store() -> BaseStore:
    return InMemoryStore()


async def test_maintenance_counts_what_repeats_and_forgetting_takes_it_back(store: BaseStore) -> None:
    tastes = [f"I like {kind} coffee" for kind in ("iced", "black", "strong", "weak")]
    for session, taste in enumerate(tastes):
        await say(store, str(session), taste)
    agent = an_agent(learning={"knowledge": "rules"}, summaries={"enabled": False})
    await reflect_as(agent, store)
    drawn = await load_knowledge(store, USER)
    again = await reflect_as(agent, store)
    assert again.stored == []
    memory = MemoryFacade(store)
    for session in range(len(tastes)):
        await memory.delete_session(USER, str(session))
    assert await load_knowledge(store, USER) == {}
    assert drawn
    assert await kinds(store) == []


async def test_a_turn_counts_for_the_skill_that_it_followed(store: BaseStore) -> None:
    skill = await MemoryFacade(store).procedural.add_skill(
        {"use_when": "somebody asks where a thing is", "tool_sops": [{"tool": "search", "action": "look for it"}]},
        user_id=USER,
    )
    memory = MemoryPolicy.model_validate({"learning": {"skills": "traces"}, "extraction": {"mode": "off"}})
    config = AgentConfig(name="assistant", manager="react_mem", memory=memory)
    model = ScriptedModel(script=[calls(("search", {"query": "keys"})), "In the drawer."])
    agent = build_agent(resolve_agent(config, model=model, tools=[search]), store=store, checkpointer=InMemorySaver())
    await agent.ainvoke(
        {"messages": [("user", "Where are my keys?")]}, {"configurable": {"thread_id": "1", "user_id": USER}}
    )
    kept = await MemoryFacade(store).records(USER, MemoryScope.PROCEDURAL, [skill.id])
    assert (kept[skill.id]["trials"], kept[skill.id]["successes"]) == (1, 1)
