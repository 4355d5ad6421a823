"""More tools than a prompt should hold: each does one thing to one kind of thing, and says so."""

from __future__ import annotations

import asyncio
from itertools import product
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel

from react_mem.tools.routing import router as route_vectors
from tests.support.databases import WordEmbeddings

route_vectors.AFTER = 0.0  # no test waits for quiet

VERBS = ("paint", "repair", "sell", "wash", "move", "rent", "insure", "photograph", "weigh", "burn")
THINGS = (
    "boat",
    "piano",
    "tractor",
    "fridge",
    "carpet",
    "ladder",
    "violin",
    "camera",
    "oven",
    "tent",
    "sledge",
    "kayak",
)


class Colour(BaseModel):
    """What they all take: a schema a tool would be most of the time that a test takes."""

    colour: str = ""


def many_tools(number: int = 120, **metadata: dict[str, Any]) -> list[BaseTool]:
    """Return tools such as `paint_boat`."""
    return [make_tool(f"{verb}_{thing}", metadata) for verb, thing in list(product(VERBS, THINGS))[:number]]


def make_tool(name: str, metadata: dict[str, dict[str, Any]]) -> BaseTool:
    """Return one of them."""
    verb, thing = name.split("_")

    async def run(colour: str = "") -> str:
        return f"{name} done {colour}".strip()

    about = f"{verb.capitalize()} a {thing}."
    return StructuredTool(name=name, description=about, args_schema=Colour, coroutine=run, metadata=metadata.get(name))


class FailingEmbeddings(WordEmbeddings):
    """Embeds until it is told to fail."""

    failing = False

    async def aembed_query(self, text: str) -> list[float]:
        if self.failing:
            raise ConnectionError("the embedder is down, with key sk-secret")
        return await super().aembed_query(text)


def word_store(embeddings: WordEmbeddings | None = None) -> InMemoryStore:
    """Return a store that finds texts by their words."""
    embeddings = embeddings or WordEmbeddings(128)
    return InMemoryStore(index={"dims": embeddings.dims, "embed": embeddings, "fields": ["text"]})


async def vectors_made() -> None:
    """Wait until the tools have vectors: they are made behind the first turn."""
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name() == route_vectors.PREPARING))
