"""Models that fail over real HTTP, each in its way, and what answers in their place."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from react_mem.agents import AgentConfig, load_agent_config, open_agent
from react_mem.agents.config import ModelsConfig
from react_mem.agents.models import LIMITS
from react_mem.errors import ModelCallError
from react_mem.graphs.model_call import ANSWERED_BY
from react_mem.memory.maintenance.worker import drain
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.namespaces import scope_namespace
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.store import StorageSettings
from tests.support.labels import NOTHING
from tests.support.openai_server import Match, OpenAIServer, Reply, ToolCall

KEY = "sk-secret-0123456789abcdef"
STAND_IN = "openai:stand-in"


@pytest.fixture(autouse=True)
def stand_in(openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    """The service that works, at the address of the environment."""
    monkeypatch.delenv("CHAT_MODEL", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return openai_server


@pytest.fixture
def first() -> Iterator[OpenAIServer]:
    """The service that fails."""
    with OpenAIServer() as server:
        yield server


def model_at(base_url: str, **options: Any) -> BaseChatModel:
    return ChatOpenAI(base_url=base_url, api_key=KEY, model="first", **{**LIMITS, "max_retries": 0, **options})


@asynccontextmanager
async def opened(model: BaseChatModel, manager: str = "react", **models: Any) -> AsyncIterator[Any]:
    """Open an agent with a stand-in that works, everything in memory."""
    config = AgentConfig(
        name="tester",
        manager=manager,
        models=ModelsConfig.model_validate({"fallback": [STAND_IN], **models}),
        tools=("calculator",),
        memory=MemoryPolicy.model_validate({"extraction": {"mode": "off"}}),
    )
    async with open_agent(config, model=model, store=InMemoryStore(), checkpointer=InMemorySaver()) as agent:
        yield agent


async def turn(agent: Any, text: str, thread: str = "1") -> tuple[dict[str, str], list[dict[str, Any]], Any]:
    """Run a turn; return what was streamed by message id, the events about models, and the answer."""
    streamed: dict[str, str] = {}
    events: list[dict[str, Any]] = []
    last = None
    async for mode, part in agent.astream(
        {"messages": [{"role": "user", "content": text}]},
        {"configurable": {"thread_id": thread}},
        context={"user_id": "ann"},
        stream_mode=["messages", "custom", "values"],
    ):
        if mode == "messages" and isinstance(part[0], AIMessageChunk):
            streamed[part[0].id or ""] = streamed.get(part[0].id or "", "") + part[0].text
        elif mode == "custom" and part["type"] == "model":
            events.append(part)
        elif mode == "values":
            last = part["messages"][-1]
    return streamed, events, last


def _sse(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def _piece(text: str) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "first", "choices": [choice]}


FAILURES = {
    "500": (Reply(status=500), "server", ""),
    "401": (Reply(status=401, error=f"Incorrect API key provided: {KEY}"), "key", ""),
    "too long for its window": (
        Reply(status=400, error={"error": {"message": "too long", "code": "context_length_exceeded"}}),
        "context",
        "",
    ),
    "silent": (Reply(text="too late", delay=20), "timeout", ""),
    "dropped before the first word": (Reply(text="never", disconnect_after=0), "connection", ""),
    "dropped in the middle": (Reply(text="The answer is almost", disconnect_after=3), "connection", "The answer is "),
    "an error in the middle": (
        Reply(raw=_sse(_piece("The ans"), {"error": {"message": "overloaded", "type": "server_error"}})),
        "server",
        "The ans",
    ),
}


@pytest.mark.parametrize(
    ("failure", "manager"),
    [*((failure, "react") for failure in FAILURES), ("500", "react_mem"), ("dropped in the middle", "react_mem")],
)
async def test_a_service_that_fails(failure: str, manager: str, first: OpenAIServer, stand_in: OpenAIServer) -> None:
    reply, kind, withdrawn = FAILURES[failure]
    first.add(reply)
    stand_in.add(Reply(text="Here is the whole answer."))
    # what answers at once may take its time on a busy machine
    patience = 2 if failure == "silent" else 30
    async with opened(model_at(first.base_url), manager, fallback_after=patience) as agent:
        streamed, [event], answer = await turn(agent, "hello")
    assert answer.text == "Here is the whole answer."
    assert answer.additional_kwargs[ANSWERED_BY] == STAND_IN
    assert (event["kind"], event["model"], event["instead"]) == (kind, "openai:first", STAND_IN)
    assert KEY not in event["message"]
    # an answer that broke off is another message than the one that replaces it
    broken_off = {event["replaces"]: withdrawn} if withdrawn else {}
    assert streamed == {**broken_off, answer.id: answer.text}
    assert ("replaces" in event) == bool(withdrawn)


async def test_the_clients_own_retries_come_first(first: OpenAIServer) -> None:
    first.add(Reply(status=429, headers={"retry-after-ms": "1"}), Reply(text="Now I can."))
    async with opened(model_at(first.base_url, max_retries=1)) as agent:
        _, events, answer = await turn(agent, "hello")
    assert (answer.text, events) == ("Now I can.", [])


async def test_a_turn_that_loses_its_model_between_two_steps_goes_on(
    first: OpenAIServer, stand_in: OpenAIServer
) -> None:
    first.add(Reply(tool_calls=[ToolCall("calculator", {"expression": "6*7"})]), Reply(status=503))
    stand_in.add(Reply(text="It is 42."), when=Match(last="42", last_role="tool", tool="calculator"))
    async with opened(model_at(first.base_url)) as agent:
        _, _, answer = await turn(agent, "What is 6*7?")
    assert answer.text == "It is 42."


# --- the agent as it is shipped, on a real database -------------------------------------------------------------------


async def test_the_shipped_agent_quotes_what_it_remembers_while_its_model_is_down(
    database_url: str, stand_in: OpenAIServer
) -> None:
    model = stand_in
    model.add(Reply(json=NOTHING), when=Match(schema=True), repeat=True)
    model.add(Reply(text="Nice."), Reply(status=503), Reply(text="I am back."), when=Match(schema=False))
    settings = StorageSettings.model_validate({"database_url": database_url, "embedding": "local"})
    impatient = model_at(model.base_url)
    async with open_agent("assistant", model=impatient, settings=settings) as agent:
        await turn(agent, "My cat is called Miu.")
        _, [event], answer = await turn(agent, "What is my cat called?", thread="2")
        assert "failed on its own side (503)" in event["message"]
        assert answer.text.startswith("[extractive: the language model cannot be reached at the moment")
        assert "“My cat is called Miu.”" in answer.text
        _, [event], answer = await turn(agent, "And now?", thread="2")
        assert (answer.text, event["status"]) == ("I am back.", "ok")
        assert await drain(20)
        dialog = await agent.store.asearch(scope_namespace("ann", MemoryScope.DIALOG), limit=100)
    said = [item.value["text"] for item in dialog if item.value["kind"] == "message"]
    assert sorted(said) == sorted(
        ["My cat is called Miu.", "Nice.", "What is my cat called?", "And now?", "I am back."]
    )


async def test_the_shipped_agent_raises_a_refused_key(stand_in: OpenAIServer) -> None:
    stand_in.add(Reply(status=401))
    assert load_agent_config("plain").models.fallback == ("extractive",)
    async with open_agent("plain", store=InMemoryStore(), checkpointer=InMemorySaver()) as agent:
        with pytest.raises(ModelCallError, match=r"refused the API key \(401\)\. Check OPENAI_API_KEY"):
            await turn(agent, "hello")
