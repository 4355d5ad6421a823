"""Conversations with an agent that has no language model, over a store in memory."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from react_mem.agents.config import AgentConfig
from react_mem.agents.extractive import ExtractiveChatModel
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.interface import MemoryScope
from react_mem.memory.model.policy import MemoryPolicy
from tests.support.databases import WordEmbeddings

USER = "ann"


class Keyless:
    """An agent without a language model, and its user's conversations.

    Args:
        model: Another model, for when there is one.
        store: What an agent before this one has stored.
    """

    def __init__(self, model: Any = None, store: InMemoryStore | None = None, **policy: Any) -> None:
        self.store = store or InMemoryStore(index={"dims": 64, "embed": WordEmbeddings(), "fields": ["text"]})
        config = AgentConfig(
            name="keyless",
            manager="react_mem",
            tools=["current_time", "calculator"],
            memory=MemoryPolicy(extraction={"mode": "inline"}).model_copy(update=policy),
        )
        resolved = resolve_agent(config, model=model or ExtractiveChatModel())
        self.agent = build_agent(resolved, checkpointer=InMemorySaver(), store=self.store)
        self.memory = MemoryFacade(self.store)

    async def say(self, text: str, thread: str = "1") -> str:
        """Say something; return the answer."""
        done = await self.agent.ainvoke(
            {"messages": [{"role": "user", "content": text}]},
            context={"user_id": USER},
            config={"configurable": {"thread_id": thread}},
        )
        return str(done["messages"][-1].text)

    async def facts(self) -> list[str]:
        """Return the facts that are believed, sorted."""
        found = await self.memory.list_records(USER, [MemoryScope.SEMANTIC])
        return sorted(str(item.payload["text"]) for item in found if item.payload.get("current"))

    async def everything(self) -> str:
        """Return all that memory holds, as text."""
        return "\n".join([line async for line in self.memory.export_user(USER)])
