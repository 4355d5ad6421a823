"""Tool routing: accuracy, saved model calls and prompt tokens, beside sending all tools.

    python -m benchmarks.routing --json results/routing.json [--half test]

158 tools, many of them near duplicates, and 384 requests in English and Vietnamese. One half of the requests (by a
checksum of their text) served to choose the constants in `tools/routing`; the other half is reported. Sending all tools
is the peer in tokens; plain BM25 and plain vector search over the tools are the peers in accuracy. `model, oracle` asks
a stand-in that always picks right from the shown tools: the upper bound of asking a model.

Accuracy@1: the first tool is a needed one. Accuracy@5, and `offered` for all tools that reach the model: all needed
tools are among them. Requests that need no tool are counted separately.
"""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import time
import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel, ConfigDict

from benchmarks.progress import counted, interruptible
from benchmarks.report import Command, Metrics, flat, print_table, write_json
from react_mem.agents.extractive import AnsweringModel
from react_mem.memory.context import count_tokens, fence, tool_tokens
from react_mem.memory.store.embeddings import load_embedding_model
from react_mem.tools.routing.router import PREPARING, WordIndex
from react_mem.tools.routing.routes import SwitchSettings, tool_routes
from react_mem.tools.routing.switch import Switch, make_find_tools

Half = Literal["tune", "test"]
_DATA = Path(__file__).with_name("data")


class ToolData(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    description: str
    arguments: dict[str, str]
    examples: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()

    def as_tool(self) -> BaseTool:
        first, *_ = self.arguments
        properties = {name: {"type": "string", "description": about} for name, about in self.arguments.items()}
        known: dict[str, Any] = {"examples": self.examples, "after": self.after, "requires": self.requires}
        return StructuredTool.from_function(
            lambda **arguments: str(arguments),
            name=self.name,
            description=self.description,
            args_schema={"type": "object", "properties": properties, "required": [first]},
            metadata=known,
        )


class Request(BaseModel):
    """A request, with its needed tools (none for talk) and layers of memory."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    lang: Literal["en", "vi"]
    text: str
    tools: tuple[str, ...]
    layers: tuple[str, ...] = ()

    @property
    def half(self) -> Half:
        """Its half: constants are chosen with one half and judged by the other."""
        return "test" if zlib.crc32(self.text.encode()) % 2 else "tune"


def load_tools() -> list[ToolData]:
    return [ToolData.model_validate(row) for row in _rows("tools")]


def load_requests(half: Half) -> list[Request]:
    return [request for row in _rows("requests") if (request := Request.model_validate(row)).half == half]


def _rows(name: str) -> Sequence[Any]:
    rows: Sequence[Any] = json.loads((_DATA / f"{name}.json").read_text(encoding="utf-8"))
    return rows


@dataclass(frozen=True)
class Chosen:
    """Choice of a system.

    Args:
        tools: Names, the most likely first.
        picked: The certain ones; if empty, a model decided for none, or the system was unsure.
        by: The deciding part.
    """

    tools: Sequence[str]
    picked: Sequence[str] = ()
    by: str = ""
    layers: Sequence[str] = ()


class System(NamedTuple):
    """A chooser, with its tokens in every prompt beside the tools."""

    choose: Callable[[str], Awaitable[Chosen]]
    overhead: int = 0


def by_words(tools: Sequence[BaseTool], top: int) -> System:
    """Choose by BM25 over name, description, arguments and examples."""
    routes = tool_routes(tools, SwitchSettings())
    index = WordIndex(routes)

    async def choose(request: str) -> Chosen:
        scored = zip(routes, index.scores(request), strict=True)
        return Chosen([route.name for route, _ in sorted(scored, key=lambda pair: -pair[1])][:top])

    return System(choose)


async def by_vectors(tools: Sequence[BaseTool], top: int, embeddings: Embeddings) -> System:
    """Choose by plain vector search over "name: description", as tool registries on a vector store do."""
    store = _in_memory(embeddings)
    for tool in tools:
        await store.aput(("tools",), tool.name, {"text": f"{tool.name}: {tool.description}"})

    async def choose(request: str) -> Chosen:
        return Chosen([item.key for item in await store.asearch(("tools",), query=request, limit=top)])

    return System(choose)


async def by_switch(
    tools: Sequence[BaseTool], settings: SwitchSettings, embeddings: Embeddings, model: BaseChatModel | None = None
) -> System:
    """Choose by the switching engine, with prepared vectors."""
    switch, store = Switch(tools, settings, [model] if model else ()), _in_memory(embeddings)
    await switch.router.rank("", store, 60)
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name() == PREPARING))

    async def choose(request: str) -> Chosen:
        choice = await switch.choose(request, store)
        if choice.missing:
            print(f"  {request}: {choice.missing}")
        names = choice.tools if choice.tools is not None else [tool.name for tool in tools]
        return Chosen(names, choice.picked, choice.by, choice.layers)

    return System(choose, tool_tokens([make_find_tools(switch.routes, switch.router, 1)]))


def _in_memory(embeddings: Embeddings) -> InMemoryStore:
    return InMemoryStore(index={"dims": 384, "embed": embeddings, "fields": ["text"]})


class Oracle(AnsweringModel):
    """A small model that always picks right from the shown tools.

    `needed` has the needed tools and layers by request, as shown.
    """

    needed: Mapping[str, tuple[Sequence[str], Sequence[str]]]

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Runnable[Any, Any]:
        return RunnableLambda(lambda messages, config: {"raw": self.invoke(messages, config), "parsed": None})

    def _answer(self, messages: list[BaseMessage], stop: list[str] | None = None, **options: Any) -> AIMessage:
        shown = messages[-1].text
        request = shown[shown.index("<request>") + 9 : shown.index("</request>")].strip()
        tools, layers = self.needed[request]
        seen = set(re.findall(r"^(\w+):", shown.partition("</tools>")[0], re.MULTILINE))
        return AIMessage(json.dumps({"tools": [name for name in tools if name in seen], "layers": list(layers)}))


class Meter(BaseCallbackHandler):
    def __init__(self) -> None:
        self.calls = 0
        self.tokens = 0

    def on_chat_model_start(self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any) -> None:
        self.calls += 1
        self.tokens += sum(count_tokens(message.text) for batch in messages for message in batch)


OURS = ("semantic", "model, oracle")


async def measure(
    system: System, requests: Sequence[Request], tools: Sequence[BaseTool], meter: Meter | None = None
) -> Metrics:
    costs = {tool.name: tool_tokens([tool]) for tool in tools}
    chosen: list[tuple[Request, Chosen]] = []
    times: list[float] = []
    for request in counted(requests, "Choosing", "requests"):
        started = time.perf_counter()
        chosen.append((request, await system.choose(request.text)))
        times.append((time.perf_counter() - started) * 1000)
    needing = [(request, found) for request, found in chosen if request.tools]
    metrics = _accuracy(needing)
    for lang in ("en", "vi"):
        of_lang = _accuracy([pair for pair in needing if pair[0].lang == lang])
        metrics |= {f"{name}_{lang}": value for name, value in of_lang.items()}
    two = [pair for pair in needing if len(pair[0].tools) > 1]
    metrics["accuracy_at_5_two_tools"] = _accuracy(two)["accuracy_at_5"]
    metrics["tools_sent"] = round(statistics.fmean(len(found.tools) for _, found in chosen), 2)
    sent = statistics.fmean(sum(costs[name] for name in found.tools) for _, found in chosen)
    metrics["tool_tokens"] = round(sent + system.overhead, 1)
    metrics["choice_ms_p50"] = round(statistics.median(times), 2)
    asked = [found for _, found in chosen if found.by == "model"]
    clear = [(r, found) for r, found in chosen if found.by == "semantic" and found.picked]
    metrics["clear"] = len(clear)
    metrics["accuracy_where_clear"] = _share(found.picked[0] in r.tools for r, found in clear)
    if meter is not None:
        metrics["model_calls"] = meter.calls
        metrics["model_calls_saved"] = round(1 - meter.calls / len(chosen), 3)
        metrics["model_answers_used"] = len(asked)
        metrics["switch_prompt_tokens"] = round(meter.tokens / len(chosen), 1)
        none = [found for request, found in chosen if not request.tools]
        metrics["no_tool_recognised"] = _share(found.by == "model" and not found.picked for found in none)
    about_memory = [(r, found) for r, found in chosen if r.layers]
    metrics["layer_right"] = _share(bool(set(found.layers) & set(r.layers)) for r, found in about_memory)
    return metrics


def _accuracy(chosen: Sequence[tuple[Request, Chosen]]) -> Metrics:
    return {
        "accuracy_at_1": _share(found.tools[0] in request.tools for request, found in chosen),
        "accuracy_at_5": _share(set(request.tools) <= set(found.tools[:5]) for request, found in chosen),
        "offered": _share(set(request.tools) <= set(found.tools) for request, found in chosen),
    }


def _share(right: Iterable[bool]) -> float:
    told = list(right)
    return round(sum(told) / len(told), 3) if told else 0.0


async def run(half: Half) -> dict[str, Metrics]:
    tools = [tool.as_tool() for tool in load_tools()]
    requests = load_requests(half)
    embeddings = load_embedding_model("local").embeddings
    top = SwitchSettings().max_tools
    semantic, model = SwitchSettings(mode="semantic"), SwitchSettings(mode="model", timeout=30.0)
    meter = Meter()
    needed = {fence(request.text): (request.tools, request.layers) for request in requests}
    oracle = Oracle(needed=needed, callbacks=[meter])
    systems = {
        "bm25": by_words(tools, top),
        "vector": await by_vectors(tools, top, embeddings),
        "semantic": await by_switch(tools, semantic, embeddings),
        "model, oracle": await by_switch(tools, model, embeddings, oracle),
    }
    rows: dict[str, Metrics] = {}
    for name, system in systems.items():
        rows[name] = await measure(system, requests, tools, meter if name == "model, oracle" else None)
    return rows | {"all tools": {"tools_sent": len(tools), "tool_tokens": tool_tokens(tools)}}


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    command = Command("routing", __doc__)
    command.add_argument("--half", choices=("tune", "test"), default="test")
    told = command.parse_args(argv)
    rows = asyncio.run(run(told.half))
    title = f"Which of {len(load_tools())} tools, {len(load_requests(told.half))} requests ({told.half})"
    print_table(title, ("accuracy_at_1", "accuracy_at_5", "offered"), rows)
    print_table("By language", [f"accuracy_at_{n}_{lang}" for lang in ("en", "vi") for n in (1, 5)], rows)
    print_table("What it takes of a prompt, and of time", ("tools_sent", "tool_tokens", "choice_ms_p50"), rows)
    asking = {name: row for name, row in rows.items() if "model_calls" in row}
    print_table("Where the model is asked", ("model_calls", "model_calls_saved", "switch_prompt_tokens"), asking)
    right = ("accuracy_where_clear", "no_tool_recognised", "layer_right")
    print_table("Right where clear, and of talk and memory", right, asking)
    ours = flat({name: rows.pop(name) for name in OURS})
    write_json(told.json, ours, rows, {"half": told.half, "embedding": "local"})


if __name__ == "__main__":
    main()
