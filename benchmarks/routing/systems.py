"""Compared systems: ways to choose a handful of tools for a request."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import BaseTool
from langgraph.store.memory import InMemoryStore

from benchmarks.routing.data import ToolData
from react_mem.agents.answering_model import AnsweringModel
from react_mem.memory.context import count_tokens, tool_tokens
from react_mem.tools.routing.find_tools import make_find_tools
from react_mem.tools.routing.route_vectors import PREPARING
from react_mem.tools.routing.routes import tool_routes
from react_mem.tools.routing.routing_settings import SwitchSettings
from react_mem.tools.routing.switch import Switch
from react_mem.tools.routing.words import WordIndex


@dataclass(frozen=True)
class Chosen:
    """Choice of a system.

    Args:
        tools: The names, the most likely first.
        picked: Those it is sure of; empty for none needed, where `by` is a model, else for not being sure.
        by: What decided.
        layers: The layers of memory.
    """

    tools: Sequence[str]
    picked: Sequence[str] = ()
    by: str = ""
    layers: Sequence[str] = ()


class System(Protocol):
    """Chooses.

    Attributes:
        name: What it is called.
        overhead: Tokens that it adds to every prompt beside the tools.
    """

    name: str
    overhead: int

    async def prepare(self) -> None:
        """Do once what is done once."""

    async def choose(self, request: str) -> Chosen:
        """Choose for a request."""


@dataclass
class Words:
    """BM25 over name, description, arguments and examples."""

    tools: Sequence[BaseTool]
    top: int
    name: str = "bm25"
    overhead: int = 0

    async def prepare(self) -> None:
        """Index the words."""
        self.routes = tool_routes(self.tools, SwitchSettings())
        self.index = WordIndex(self.routes)

    async def choose(self, request: str) -> Chosen:
        """Return the tools with most of the request's words."""
        scored = zip(self.routes, self.index.scores(request), strict=True)
        return Chosen([route.name for route, _ in sorted(scored, key=lambda pair: -pair[1])][: self.top])


@dataclass
class Cosines:
    """Plain vector search over "name: description", as tool registries on a vector store do it."""

    tools: Sequence[BaseTool]
    top: int
    embeddings: Embeddings
    name: str = "vector"
    overhead: int = 0

    async def prepare(self) -> None:
        """Put the tools into a store."""
        self.store = InMemoryStore(index={"dims": 384, "embed": self.embeddings, "fields": ["text"]})
        for tool in self.tools:
            await self.store.aput(("tools",), tool.name, {"text": f"{tool.name}: {tool.description}"})

    async def choose(self, request: str) -> Chosen:
        """Return the nearest tools."""
        return Chosen([item.key for item in await self.store.asearch(("tools",), query=request, limit=self.top)])


@dataclass
class Switched:
    """The switching engine."""

    name: str
    tools: Sequence[BaseTool]
    settings: SwitchSettings
    embeddings: Embeddings
    model: BaseChatModel | None = None
    overhead: int = 0

    async def prepare(self) -> None:
        """Build it, and wait until the tools have vectors."""
        self.switch = Switch(self.tools, self.settings, [self.model] if self.model else ())
        self.overhead = tool_tokens([make_find_tools(self.switch.routes, self.switch.router, 1)])
        self.store = InMemoryStore(index={"dims": 384, "embed": self.embeddings, "fields": ["text"]})
        await self.switch.router.rank("", self.store, 60)
        await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name() == PREPARING))

    async def choose(self, request: str) -> Chosen:
        """Choose."""
        choice = await self.switch.choose(request, self.store)
        if choice.missing:
            print(f"  {request}: {choice.missing}")
        names = choice.tools if choice.tools is not None else [tool.name for tool in self.tools]
        return Chosen(names, choice.picked, choice.by, choice.layers)


class Oracle(AnsweringModel):
    """Stands in for a small model that always picks right from what it is shown: the best that can come of asking.

    Args:
        needed: By request as it is shown, the tools and the layers that it needs.
    """

    needed: Mapping[str, tuple[Sequence[str], Sequence[str]]]

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Runnable[Any, Any]:
        """Answer with JSON anyway."""
        return RunnableLambda(lambda messages, config: {"raw": self.invoke(messages, config), "parsed": None})

    def _answer(self, messages: list[BaseMessage], stop: list[str] | None = None, **options: Any) -> AIMessage:
        shown = messages[-1].text
        request = shown[shown.index("<request>") + 9 : shown.index("</request>")].strip()
        tools, layers = self.needed[request]
        seen = set(re.findall(r"^(\w+):", shown.partition("</tools>")[0], re.MULTILINE))
        said = {"tools": [name for name in tools if name in seen], "layers": list(layers)}
        return AIMessage(json.dumps(said))


class Meter(BaseCallbackHandler):
    """Counts the calls of a model and the tokens of its prompts."""

    def __init__(self) -> None:
        self.calls = 0
        self.tokens = 0

    def on_chat_model_start(self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any) -> None:
        """Count a call."""
        self.calls += 1
        self.tokens += sum(count_tokens(message.text) for batch in messages for message in batch)


def make_tools(data: Sequence[ToolData], *, described: bool = True) -> list[BaseTool]:
    """Return the tools of the data.

    Args:
        data: The data.
        described: Whether their metadata says what is known of them beside their descriptions.
    """
    return [tool.as_tool(described=described) for tool in data]
