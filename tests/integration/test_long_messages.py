"""A message of a megabyte, whatever it is of, does not keep the event loop from everybody else's turns."""

from __future__ import annotations

import gc
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import numpy  # noqa: F401 - the in-memory store imports it with its first comparison, which takes 0.2 s
import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from pydantic import Field

from react_mem.agents import AgentConfig, open_agent
from react_mem.memory.model.policy import MemoryPolicy
from tests.support.databases import WordEmbeddings, fresh_memory_store
from tests.support.labels import clauses_in, fact, proposal
from tests.support.loop_watch import loop_watched
from tests.support.scripted_model import ScriptedModel

SIZE = 1_000_000
CONTRACT = 0.02
"""Seconds that nothing of a turn may keep the event loop."""

BOUND = 5 * CONTRACT
"""What is asked for here: a slow processor, and the JSON and the checkpoint of a megabyte, need room."""


def of(part: str) -> str:
    return (part * (SIZE // len(part) + 1))[:SIZE]


TEXTS = {
    "prose": " ".join(f"I own book {number}." for number in range(SIZE // 18)),
    "one word": of("a"),
    "Chinese": of("我喜欢喝茶我有一只猫"),
}


class Quiet(ScriptedModel):
    """A model whose prompts are not written out with it, as what traces a run does."""

    prompts: list[list[BaseMessage]] = Field(default_factory=list, repr=False)


def answer(messages: list[BaseMessage]) -> AIMessage:
    """Answer a question; of what is to be drawn from, take twenty clauses for facts."""
    shown = str(messages[-1].content)
    if "<conversation>" not in shown:
        return AIMessage("Noted.")
    facts = [fact(number, f"User owns book {number}.") for number in list(clauses_in(shown))[:20]]
    return AIMessage(json.dumps(proposal(facts)))


class FewWords(WordEmbeddings):
    """An embedder that takes no time: a real one is not on the event loop."""

    def _embed(self, text: str, prefix: str) -> list[float]:
        return super()._embed(text[:100], prefix)


@asynccontextmanager
async def opened(name: str, server_url: str) -> AsyncIterator[BaseStore]:
    if name == "in memory":
        yield InMemoryStore(index={"dims": 64, "embed": FewWords(), "fields": ["text"]})
        return
    async with fresh_memory_store(server_url, FewWords()) as store:
        yield store


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep the garbage of the tests before this one from being collected in a callback that is measured."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


POLICY = MemoryPolicy.model_validate({"extraction": {"mode": "inline"}, "recall": {"timeout": 60}})


@asynccontextmanager
async def an_agent(store: BaseStore) -> AsyncIterator[Any]:
    config = AgentConfig.model_validate({"name": "tester", "manager": "react_mem", "memory": POLICY})
    model = Quiet(script=[answer])
    async with open_agent(config, model=model, store=store, checkpointer=InMemorySaver()) as agent:
        yield agent


# what is read of a text does not depend on the store: the one in memory, which copies what it keeps, has one
@pytest.mark.parametrize(("kind", "store_name"), [("prose", "in memory"), *((kind, "memory store") for kind in TEXTS)])
async def test_a_megabyte_is_said_asked_about_and_said_otherwise(
    kind: str, store_name: str, database_server: str
) -> None:
    # the first message is edited to the text at last, which forks the conversation
    text = TEXTS[kind]
    async with opened(store_name, database_server) as store, an_agent(store) as agent:
        thread: dict[str, Any] = {"configurable": {"thread_id": "1", "user_id": "ann"}}

        async def say(said: str, id_: str, config: Any = thread) -> None:
            message = {"messages": [HumanMessage(said, id=id_)]}
            async for event in agent.astream(message, config, stream_mode="custom"):
                if event["type"] == "memory":
                    assert "could not be reached" not in event["message"]

        await say("I own a cat.", "first")
        begun = [state async for state in agent.aget_state_history(thread)][-1]
        with no_collection(), loop_watched() as watch:
            await say(text, "long")
            await say(f"{text} What do I own?", "question")
            await say(f"I own a dog. {text}", "edited", begun.config)
    assert watch.callbacks
    longest, what = watch.longest
    assert longest < BOUND, f"{longest * 1000:.0f} ms in {what}"
