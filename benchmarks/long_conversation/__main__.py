"""Prompts of one long conversation, and the recall of its early details at the end.

    python -m benchmarks.long_conversation --json results/long_conversation.json [--turns 500]

One conversation of 500 turns, in English and Vietnamese, with long tool results, pasted texts and many similar
statements. Details said in passing in turn 3, and in three more, are asked for at the end; the model answers if its
prompt has them (see `model`). The same turns run with `react` (the whole history), `react_mem` as shipped, and
`create_agent` with LangChain's SummarizationMiddleware (`summarization`), with the same small model for summaries. That
model keeps the beginning of each message and so none of the details; the column `shown to small` counts the details in
its prompts, which a summary could have kept.

All models are one scripted HTTP server, used through the real client, which counts the tokens for all systems alike.
`react_mem` runs on an embedded database with the local embedder. Background work runs between the turns here.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_openai import ChatOpenAI

from benchmarks.databases import database_server, new_database, opened
from benchmarks.long_conversation.conversation import Detail, Said, conversation, details_of, look_up
from benchmarks.long_conversation.model import CHAT, SMALL, Call, Counter, serve
from benchmarks.progress import counted, interruptible
from benchmarks.report import Command, Metrics, print_table, write_rows
from react_mem.agents.config import AgentConfig, load_agent_config
from react_mem.agents.context import AgentContext
from react_mem.agents.resolve import build_agent, resolve_agent
from react_mem.memory.maintenance.worker import drain
from react_mem.memory.opening import Storage
from react_mem.tools.registry import load_tools
from tests.support.openai_server import OpenAIServer

FULL, OURS, PEER = "react", "react_mem", "summarization"

MARKS = (10, 50, 100, 250, 500)
"""Turns with a reported prompt."""

_WINDOW = 10
"""Turns averaged at a mark: some call a tool, most do not."""

WINDOW = 16_000
"""Context window in tokens: react_mem's default assumption, and the basis of the peer's settings."""

USER = "ann"
_TRIGGER, _KEEP = int(0.8 * WINDOW), 20
"""LangChain's middleware summarises at four fifths of the window and keeps 20 messages, its default."""

_BEHIND_SECONDS = 120.0


class Talk:
    def __init__(self, name: str, graph: Any) -> None:
        self.name = name
        self.degraded = 0
        self._graph = graph

    async def say(self, text: str) -> str:
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

    async def rest(self) -> None:
        if not await drain(_BEHIND_SECONDS):
            raise RuntimeError(f"what {self.name} does behind a turn took more than {_BEHIND_SECONDS:.0f} seconds")


def in_process(storage: Storage, base_url: str) -> list[Talk]:
    chat, small = (_model(name, base_url) for name in (CHAT, SMALL))
    talks: list[Talk] = []
    for name, shipped in ((FULL, "plain"), (OURS, "assistant")):
        config = _shipped(shipped)
        # what is done behind a turn waits until it is asked for
        config = config.model_copy(
            update={"memory": config.memory.model_copy(update={"extraction": {"debounce": 3600.0}})}
        )
        agent = resolve_agent(config, model=chat, small_model=small, tools=[look_up])
        talks.append(Talk(name, build_agent(agent, store=storage.store, checkpointer=storage.checkpointer)))
    plain = load_agent_config("plain")
    peer: Any = create_agent(
        chat,
        [*load_tools(plain.tools), look_up],
        system_prompt=plain.system_prompt,
        middleware=[SummarizationMiddleware(small, trigger=("tokens", _TRIGGER), keep=("messages", _KEEP))],
        context_schema=AgentContext,
        checkpointer=storage.checkpointer,
    )
    return [*talks, Talk(PEER, peer)]


def _shipped(name: str) -> AgentConfig:
    """Return an agent as shipped, without fallback models: their failure must show."""
    config = load_agent_config(name)
    return config.model_copy(update={"models": config.models.model_copy(update={"fallback": ()})})


def _model(name: str, base_url: str) -> ChatOpenAI:
    return ChatOpenAI(model=name, base_url=base_url, api_key="none", max_retries=0, timeout=60)


@dataclass
class Held:
    """A finished conversation: the calls of each turn, and the details in the answers and in the prompts."""

    turns: list[list[Call]] = field(default_factory=list)
    seconds: float = 0.0
    verbatim: list[Detail] = field(default_factory=list)
    answered: list[Detail] = field(default_factory=list)
    degraded: int = 0

    def metrics(self, details: Sequence[Detail], baseline: Held) -> Metrics:
        calls = [call for turn in self.turns for call in turn]
        chats = [call for call in calls if call.model == CHAT]
        small = [call for call in calls if call.model == SMALL]
        sent = [sum(call.prompt_tokens for call in turn if call.model == CHAT) for turn in self.turns]
        return {
            **{
                f"prompt_tokens.turn_{mark}": round(statistics.mean(sent[:mark][-_WINDOW:]))
                for mark in marks(len(self.turns))
            },
            "peak": max(call.prompt_tokens for call in chats),
            "total": sum(sent),
            "small_total": sum(call.prompt_tokens for call in small),
            "calls": len(chats),
            "small_calls": len(small),
            "waited_for": sum(not call.behind for call in small),
            "asked": len(details),
            "recovered": len(self.verbatim),
            "shown_to_small": len(frozenset().union(*(call.verbatim for call in small))),
            "answered": len(self.answered),
            "turn_3_recovered": int(details[0] in self.verbatim),
            "turn_3_answered": int(details[0] in self.answered),
            "degraded": self.degraded,
            "time_over_react": round(self.seconds / baseline.seconds, 2),
        }


async def hold(talk: Talk, said: Sequence[Said], counter: Counter) -> Held:
    held = Held()
    for turn in counted(said, talk.name, "turns"):
        counter.behind = False
        started = time.perf_counter()
        answer = await talk.say(turn.text)
        held.seconds += time.perf_counter() - started
        counter.behind = True
        await talk.rest()
        calls = counter.take()
        held.turns.append(calls)
        if turn.asks_for is None:
            continue
        if turn.asks_for.value in answer:
            held.answered.append(turn.asks_for)
        if any(turn.asks_for in call.verbatim for call in calls if call.model == CHAT):
            held.verbatim.append(turn.asks_for)
    held.degraded = talk.degraded
    return held


def marks(turns: int) -> list[int]:
    """Return the reported turns; always the last one."""
    return list(dict.fromkeys([*(mark for mark in MARKS if mark < turns), turns]))


_CALLS = ("calls", "small_calls", "waited_for", "degraded", "time_over_react")
_KNOWN = ("asked", "answered", "recovered", "turn_3_recovered", "shown_to_small")


async def measure(turns: int) -> dict[str, Metrics]:
    said, counter = list(conversation(turns)), Counter()
    held: dict[str, Held] = {}
    with OpenAIServer() as model:
        serve(model, counter)
        async with database_server() as url, opened(await new_database(url, "ours")) as storage:
            for talk in in_process(storage, model.base_url):
                started = time.perf_counter()
                held[talk.name] = await hold(talk, said, counter)
                print(f"{talk.name}: {turns} turns in {time.perf_counter() - started:.0f} seconds", flush=True)
    return {name: one.metrics(details_of(turns), held[FULL]) for name, one in held.items()}


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    command = Command("long_conversation", __doc__)
    command.add_argument("--turns", type=int, default=500, help="turns of the conversation")
    told = command.parse_args(argv)
    if not details_of(told.turns):
        command.error("--turns: nothing could be asked for at the end of so short a conversation; 7 are the least")
    found = asyncio.run(measure(told.turns))
    by_mark = [f"prompt_tokens.turn_{mark}" for mark in marks(told.turns)]
    print_table("Prompt tokens of a turn, at", by_mark, found)
    print_table("The largest prompt, and the tokens of all", ("peak", "total", "small_total"), found)
    print_table("Model calls", _CALLS, found)
    print_table("What was said long ago, and whether its own message was in the prompt", _KNOWN, found)
    write_rows(told.json, found, [PEER], {**vars(told), "window": WINDOW})


if __name__ == "__main__":
    main()
