"""Systems that hold the conversation: `react_mem`, the whole history, and LangChain's summaries of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol, cast

import yaml
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_openai import ChatOpenAI
from langgraph.graph.state import CompiledStateGraph

from benchmarks.long_conversation.conversation import look_up
from benchmarks.long_conversation.model import CHAT, SMALL
from react_mem.agents.config import AgentConfig, load_agent_config
from react_mem.agents.context import AgentContext
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.maintenance.worker import drain
from react_mem.memory.opening import Storage
from react_mem.tools.registry import load_tools
from tests.support.dev_server import DevServer

FULL, OURS, PEER = "react", "react_mem", "summarization"
ON_SERVER = "react_mem.server"

WINDOW = 16_000
"""Tokens: what react_mem takes a model to read when nobody says, and so what the peer's settings are made for."""

USER = "ann"
_TRIGGER, _KEEP = int(0.8 * WINDOW), 20
"""LangChain's middleware sums up when four fifths of the window are full, and keeps, as by default, 20 messages."""

_BEHIND_SECONDS = 120.0
_PAUSE_EVERY = 25
"""On a server people pause now and then, and what waits for quiet is done; in between it is put off by each turn."""

_POLL_SECONDS = 0.25


class Talk(Protocol):
    """One conversation with one system."""

    name: str
    degraded: int

    async def say(self, text: str) -> str:
        """Send a message and return the answer."""

    async def rest(self, turn: int) -> None:
        """Let what is done behind the turns be done."""


class GraphTalk:
    """A conversation with a graph of this process.

    Args:
        name: The system.
        graph: The graph.
    """

    def __init__(self, name: str, graph: Any) -> None:
        self.name = name
        self.degraded = 0
        self._graph = cast("CompiledStateGraph[Any, Any, Any, Any]", graph)

    async def say(self, text: str) -> str:
        """Send a message and return the answer."""
        answer = ""
        streamed: Any = self._graph.astream(
            {"messages": [("user", text)]},
            {"configurable": {"thread_id": self.name}},
            context=AgentContext(user_id=USER),
            stream_mode=["custom", "updates"],
        )
        async for mode, part in streamed:
            if mode == "custom":
                self.degraded += part.get("status") == "degraded"
                continue
            for update in part.values():
                if update and update.get("messages"):
                    answer = update["messages"][-1].text
        return answer

    async def rest(self, turn: int) -> None:
        """Do now what waits for a moment of quiet."""
        if not await drain(_BEHIND_SECONDS):
            raise RuntimeError(f"what {self.name} does behind a turn took more than {_BEHIND_SECONDS:.0f} seconds")


class ServerTalk:
    """A conversation with `react_mem` on a LangGraph server.

    Args:
        server: The server.
    """

    name = ON_SERVER

    def __init__(self, server: DevServer) -> None:
        self.degraded = 0
        self._server = server
        self._client = server.client()
        self._thread = ""

    async def say(self, text: str) -> str:
        """Send a message and return the answer."""
        if not self._thread:
            self._thread = str((await self._client.threads.create())["thread_id"])
        given: Any = {"messages": [{"role": "user", "content": text}]}
        answer = ""
        async for part in self._client.runs.stream(
            self._thread, "react_mem", input=given, context={"user_id": USER}, stream_mode=["custom", "updates"]
        ):
            if part.event == "error":
                raise RuntimeError(part.data)
            if part.event == "custom":
                self.degraded += part.data.get("status") == "degraded"
            if part.event == "updates":
                messages = [m for update in part.data.values() if update for m in update.get("messages") or ()]
                answer = str(messages[-1]["content"]) if messages else answer
        return answer

    async def rest(self, turn: int) -> None:
        """Wait, now and then, until the server has nothing left to do."""
        if turn % _PAUSE_EVERY:
            return
        async with asyncio.timeout(_BEHIND_SECONDS):
            while await self._server.work_left(USER, self._thread):  # noqa: ASYNC110 - a server tells nobody that it is done
                await asyncio.sleep(_POLL_SECONDS)


def in_process(storage: Storage, base_url: str) -> list[Talk]:
    """Return a conversation with each system of this process.

    Args:
        storage: Where they keep what they keep.
        base_url: Where the model is.
    """
    chat, small = (_model(name, base_url) for name in (CHAT, SMALL))
    talks: list[Talk] = []
    for name, shipped in ((FULL, "plain"), (OURS, "assistant")):
        config = _shipped(shipped)
        # what is done behind a turn waits until it is asked for
        config = config.model_copy(
            update={"memory": config.memory.model_copy(update={"extraction": {"debounce": 3600.0}})}
        )
        agent = resolve_agent(config, model=chat, small_model=small, tools=[look_up])
        talks.append(GraphTalk(name, build_agent(agent, store=storage.store, checkpointer=storage.checkpointer)))
    plain = load_agent_config("plain")
    peer: Any = create_agent(
        chat,
        [*load_tools(plain.tools), look_up],
        system_prompt=plain.system_prompt,
        middleware=[SummarizationMiddleware(small, trigger=("tokens", _TRIGGER), keep=("messages", _KEEP))],
        context_schema=AgentContext,
        checkpointer=storage.checkpointer,
    )
    return [*talks, GraphTalk(PEER, peer)]


@asynccontextmanager
async def on_server(folder: Path, database_url: str, base_url: str) -> AsyncIterator[Talk]:
    """Start a server with the shipped agent over the model, and talk to it.

    Args:
        folder: An empty folder.
        database_url: Where it keeps what it keeps.
        base_url: Where the model is.
    """
    agents = folder / "agents"
    agents.mkdir()
    config = _shipped("assistant").model_dump(mode="json", exclude_defaults=True, exclude={"name"})
    config["models"] = {"chat": f"openai:{CHAT}", "small": f"openai:{SMALL}"}
    config["tools"] = [*config["tools"], "benchmarks.long_conversation.conversation:look_up"]
    (agents / "assistant.yaml").write_text(yaml.safe_dump(config, allow_unicode=True), encoding="utf-8")
    configured = {
        "DATABASE_URL": database_url,
        "EMBEDDING_MODEL": "local",
        "OPENAI_BASE_URL": base_url,
        "OPENAI_API_KEY": "none",
        "REACT_MEM_AGENTS": str(agents),
        "LOG_LEVEL": "WARNING",
    }
    server = DevServer(folder, configured)
    await asyncio.to_thread(server.start)
    try:
        yield ServerTalk(server)
    finally:
        await asyncio.to_thread(server.stop)


def _shipped(name: str) -> AgentConfig:
    """Return an agent as it is shipped, but a failure of the model is one of the benchmark."""
    config = load_agent_config(name)
    return config.model_copy(update={"models": config.models.model_copy(update={"fallback": ()})})


def _model(name: str, base_url: str) -> ChatOpenAI:
    return ChatOpenAI(model=name, base_url=base_url, api_key="none", max_retries=0, timeout=60)
