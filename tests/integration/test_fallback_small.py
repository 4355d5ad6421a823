"""What works behind the scenes when the model fails: those that stand in for it are asked there too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from react_mem.agents import AgentConfig, open_agent
from react_mem.agents.models import LIMITS
from react_mem.memory.facade import MemoryFacade
from tests.contract.conftest import memory_store
from tests.support.labels import fact, other, proposal
from tests.support.openai_server import Match, OpenAIServer, Reply

KEY = "sk-secret-0123456789abcdef"
LEARNT = proposal([fact(1, "User lives in Huế.")], [other(2, "question")])
STEP = {"id": "s1", "description": "rent a boat", "tool": "", "depends_on": [], "status": "pending"}
PLAN = {"goes_on": False, "goal": "a boat trip", "steps": [STEP, {**STEP, "id": "s2", "description": "buy bread"}]}


@pytest.fixture
def second(openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    """The service that works, at the address of the environment: what stands in is asked there."""
    monkeypatch.delenv("CHAT_MODEL", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return openai_server


@pytest.fixture
def first() -> Iterator[OpenAIServer]:
    """The service that fails whatever it is asked."""
    with OpenAIServer() as server:
        server.add(Reply(status=500, error=f"down, {KEY}"), repeat=True)
        yield server


WORK: dict[str, tuple[dict[str, Any], Match, Reply]] = {
    "extraction": ({"memory": {"extraction": {"mode": "inline"}}}, Match(schema="extraction"), Reply(json=LEARNT)),
    "planner": (
        {"memory": {"tasks": {"enabled": True}, "extraction": {"mode": "off"}}},
        Match(schema="plan"),
        Reply(json=PLAN),
    ),
}


@pytest.mark.parametrize(("config", "asked", "reply"), WORK.values(), ids=WORK)
async def test_what_stands_in_is_asked(
    config: dict[str, Any], asked: Match, reply: Reply, first: OpenAIServer, second: OpenAIServer
) -> None:
    second.add(reply, when=asked, repeat=True)
    second.add(Reply(text="Here you are."), repeat=True)
    store = memory_store()
    agent = AgentConfig.model_validate(
        {"name": "tester", "manager": "react_mem", "models": {"fallback": ["openai:stand-in"]}, **config}
    )
    model: Any = ChatOpenAI(base_url=first.base_url, api_key=KEY, model="first", **{**LIMITS, "max_retries": 0})
    async with open_agent(agent, model=model, store=store, checkpointer=InMemorySaver()) as graph:
        run = {"configurable": {"thread_id": "1"}}
        given = {"messages": [{"role": "user", "content": "I live in Huế. Who owns the Pixel brand?"}]}
        events = [event async for event in graph.astream(given, run, context={"user_id": "ann"}, stream_mode="custom")]
    times = [[asked(request) for request in server.chats()].count(True) for server in (first, second)]
    assert times == [1, 1], "the agent's own model is asked first"
    assert [event for event in events if event.get("status") == "degraded" and event["type"] != "model"] == []
    if agent.memory.tasks.enabled:
        [task, *_] = [event for event in events if event["type"] == "task"]
        assert [step["description"] for step in task["steps"]] == ["rent a boat", "buy bread"]
    else:
        facts = await MemoryFacade(store).semantic.history(user_id="ann")
        assert [fact.text for fact in facts if not fact.verbatim] == ["I live in Huế."]
