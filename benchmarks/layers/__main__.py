"""Choice of layers: what of a user's memory comes into the prompt with it, and what that takes.

    python -m benchmarks.layers --json results/layers.json [--model openai:NAME --requests 30]

150 requests (75 in English, 75 in Vietnamese) to a memory of 40 facts, 20 episodes, 12 skills and 32 messages, with
what each needs of it: one memory, two of different layers, or none. They were written before the choice had an effect,
and no constant is chosen with them. Each is read once and put into a prompt for each way to choose: `all layers` alike;
`semantic`, the layer that is nearest, which gets room first; an `oracle` that names the layers of what is needed, and
none where nothing is; with `--model` a real small model. With `, limit` the other layers show their two best alone.

Recall: the share of what a request needs that stands in its prompt; `all_needed`: of the requests that need something,
those for which all of it does; `prompt_tokens`: what the memories take of the prompt; `layer_named`: the share of those
requests for which a layer was chosen, `layer_right`: of these, those whose layers all were. `difference.*` has the ends
of the 95 % bootstrap interval of the difference from `all layers`, request by request.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.messages import HumanMessage
from langgraph.store.memory import InMemoryStore

from benchmarks.layers.data import LANGS, LayerRequest, MemoryRow, load_layer_requests, load_memory
from benchmarks.locomo.metrics import interval
from benchmarks.progress import counted, interruptible
from benchmarks.report import add_json_option, print_table, write_json
from react_mem.agents.models import load_chat_model
from react_mem.memory.context import Frame, Section, Window, assemble
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.llm.budget import ASSUMED_WINDOW
from react_mem.memory.model.changes import put
from react_mem.memory.model.identity import Identity
from react_mem.memory.model.interface import MemoryResults
from react_mem.memory.model.policy import MemoryPolicy
from react_mem.memory.store.embeddings import load_embedding_model
from react_mem.tools.routing.route_vectors import PREPARING
from react_mem.tools.routing.routing_settings import SwitchSettings
from react_mem.tools.routing.switch import Switch

Choose = Callable[[LayerRequest], Awaitable[Sequence[str]]]
"""From a request to the layers that it goes to; none for all of them alike."""

ALL = "all layers"

_SESSION = "now"

_METRICS = ("recall", "all_needed", "prompt_tokens", "layer_right", "layer_named")


@dataclass(frozen=True)
class Shown:
    """Memories that a request got.

    Args:
        request: The request.
        layers: The layers that it went to.
        recall: The share of what it needs that stands in its prompt; 1 where it needs nothing.
        tokens: What the memories take of the prompt.
    """

    request: LayerRequest
    layers: Sequence[str]
    recall: float
    tokens: int


async def filled(memory: Sequence[MemoryRow], embeddings: Embeddings, dims: int) -> InMemoryStore:
    """Return a store with the memory of a user for each language.

    Args:
        memory: What they remember.
        embeddings: The model.
        dims: The length of its vectors.
    """
    store = InMemoryStore(index={"dims": dims, "embed": embeddings, "fields": ["text"]})
    facade = MemoryFacade(store, MemoryPolicy())
    for lang in LANGS:
        await facade.apply([put(lang, row.record(lang, place)) for place, row in enumerate(memory)])
    return store


async def read(store: InMemoryStore, request: LayerRequest) -> tuple[Frame, MemoryResults]:
    """Return the frame of a new conversation's first turn, and what memory has on the request.

    Args:
        store: The memory.
        request: The request.
    """
    thread = [HumanMessage(request.text, id="question")]
    frame = Frame(thread, MemoryPolicy(), Window(ASSUMED_WINDOW, known=False))
    facade = MemoryFacade(store, frame.policy)
    return frame, await facade.read(frame.query(Identity(request.lang, _SESSION), "agent"))


def show(
    request: LayerRequest, frame: Frame, results: MemoryResults, layers: Sequence[str], *, limited: bool = False
) -> Shown:
    """Put a prompt together.

    Args:
        request: The request.
        frame: The frame.
        results: What was read.
        layers: The layers that the request goes to.
        limited: Whether the others show their best only.
    """
    assembled = assemble(frame, results, session_id=_SESSION, recalls=True, favoured=layers, limited=limited)
    shown = {item.id for item in assembled.memories.items}
    found = sum(needed in shown for needed in request.needs)
    return Shown(request, layers, found / (len(request.needs) or found or 1), assembled.tokens[Section.MEMORIES])


def metrics(
    shown: Sequence[Shown], needed: Mapping[str, Sequence[str]], base: Sequence[Shown] = ()
) -> dict[str, float]:
    """Return the metrics of one way to choose.

    Args:
        shown: What the requests got.
        needed: The layers that each needs, by its text.
        base: What they got from all layers, in the same order.
    """
    asking = [one for one in shown if one.request.needs]
    found = _means(asking, shown)
    for lang in LANGS:
        of_lang = [one for one in shown if one.request.lang == lang]
        means = _means([one for one in of_lang if one.request.needs], of_lang)
        found |= {f"{name}.{lang}": value for name, value in means.items()}
    named = [one for one in asking if one.layers]
    found["layer_named"] = _mean([bool(one.layers) for one in asking])
    found["layer_right"] = _mean([set(needed[one.request.text]) <= set(one.layers) for one in named])
    if base:
        pairs = list(zip(shown, base, strict=True))
        found |= _difference("recall", [one.recall - other.recall for one, other in pairs if one.request.needs])
        found |= _difference("prompt_tokens", [one.tokens - other.tokens for one, other in pairs])
    return found


def _means(asking: Sequence[Shown], shown: Sequence[Shown]) -> dict[str, float]:
    return {
        "recall": _mean([one.recall for one in asking]),
        "all_needed": _mean([one.recall == 1 for one in asking]),
        "prompt_tokens": _mean([one.tokens for one in shown]),
    }


def _difference(name: str, values: Sequence[float]) -> dict[str, float]:
    low, mean, high = interval(np.array(values, dtype=np.float64))
    return {f"difference.{name}": mean, f"difference.low.{name}": low, f"difference.high.{name}": high}


def _mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 4) if values else 0.0


async def chooser(store: InMemoryStore, settings: SwitchSettings, models: Sequence[object] = ()) -> Choose:
    """Return the switching engine without any tools, once the layers have vectors.

    Args:
        store: Whose embedder it uses.
        settings: Its settings.
        models: The small model.
    """
    switch = Switch([], settings, models)  # type: ignore[arg-type]
    await switch.router.rank("", store, 60)
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name() == PREPARING))

    async def choose(request: LayerRequest) -> Sequence[str]:
        return (await switch.choose(request.text, store)).layers

    return choose


async def run(options: argparse.Namespace) -> None:
    """Run the benchmark.

    Args:
        options: Of the command line.
    """
    memory, requests = load_memory(), load_layer_requests()
    if options.requests:
        number = min(options.requests, len(requests))
        requests = [requests[place * len(requests) // number] for place in range(number)]
    scope_of = {row.id: str(row.scope) for row in memory}
    needed = {one.text: tuple(dict.fromkeys(scope_of[id_] for id_ in one.needs)) for one in requests}
    model = load_embedding_model("local")
    store = await filled(memory, model.embeddings, model.dims)

    async def alike(request: LayerRequest) -> Sequence[str]:
        return ()

    async def oracle(request: LayerRequest) -> Sequence[str]:
        return needed[request.text]

    ways: dict[str, Choose] = {
        ALL: alike,
        "semantic": await chooser(store, SwitchSettings(mode="semantic")),
        "oracle": oracle,
    }
    if options.model:
        chat = await asyncio.to_thread(load_chat_model, options.model)
        settings = SwitchSettings(mode="model", timeout=options.timeout)
        ways[f"model, {options.model}"] = await chooser(store, settings, [chat])
    got: dict[str, list[Shown]] = {}
    for request in counted(requests, "Reading", "requests"):
        frame, results = await read(store, request)
        for name, choose in ways.items():
            layers = await choose(request)
            got.setdefault(name, []).append(show(request, frame, results, layers))
            if name != ALL:
                limited = show(request, frame, results, layers, limited=True)
                got.setdefault(f"{name}, limit", []).append(limited)
    rows = {name: metrics(shown, needed, [] if name == ALL else got[ALL]) for name, shown in got.items()}
    print_table(f"What {len(requests)} requests get of {len(memory)} memories", _METRICS, rows)
    print_table("By language", [f"{name}.{lang}" for lang in LANGS for name in _METRICS[:3]], rows)
    differences = ["difference.recall", "difference.low.recall", "difference.high.recall", "difference.prompt_tokens"]
    print_table("Difference from all layers", differences, {name: row for name, row in rows.items() if name != ALL})
    ours = {f"{name}.{metric}": value for name, row in rows.items() for metric, value in row.items()}
    facts = {"requests": len(requests), "embedding": "local"}
    await asyncio.to_thread(write_json, options.json, ours, {}, facts)


@interruptible
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark.

    Args:
        arguments: Those of the command line by default.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.layers", description=(__doc__ or "").partition("\n")[0])
    add_json_option(parser)
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="a real small model, asked beside the stand-in")
    parser.add_argument("--requests", type=int, metavar="N", help="only N requests, from all over the data")
    parser.add_argument("--timeout", type=float, default=30.0, metavar="S", help="seconds for one choice")
    asyncio.run(run(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
