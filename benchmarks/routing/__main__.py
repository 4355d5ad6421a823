"""Tool routing: accuracy, model calls saved and prompt tokens, beside sending all tools.

    python -m benchmarks.routing --json results/routing.json [--half test] [--model openai:NAME --requests 30]

158 tools, many of them near duplicates, and 384 requests in English and Vietnamese, of which half (by a checksum of
their text) chose the constants in `tools/routing` and the other half is reported. Sending all tools is the peer in
tokens; plain BM25 and plain vector search over the tools are the peers in accuracy. `model, oracle` asks a stand-in
that always picks right from what it is shown: what asking can come to at best. `--model` asks a real one.

Accuracy@1: the first tool is one of those that are needed. Accuracy@5, and `offered` for all that reach the model:
every tool that is needed is among them. Requests that need no tool are counted apart.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Iterable, Sequence

from langchain_core.tools import BaseTool

from benchmarks.progress import counted, interruptible
from benchmarks.report import add_json_option, print_table, write_json
from benchmarks.routing.data import Request, load_requests, load_tools
from benchmarks.routing.systems import Chosen, Cosines, Meter, Oracle, Switched, System, Words, make_tools
from react_mem.agents.models import load_chat_model
from react_mem.memory.context import fence, tool_tokens
from react_mem.memory.store.embeddings import load_embedding_model
from react_mem.tools.routing.routing_settings import SwitchSettings

Metrics = dict[str, float]

_RIGHT = ("accuracy_where_clear", "no_tool_recognised", "layer_right")


async def measure(
    system: System, requests: Sequence[Request], tools: Sequence[BaseTool], meter: Meter | None = None
) -> Metrics:
    """Let a system choose for every request.

    Args:
        system: The system, prepared.
        requests: The requests.
        tools: The tools, to count what the chosen ones take of a prompt.
        meter: Of the model that the system asks.

    Returns:
        Its metrics.
    """
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


async def run(options: argparse.Namespace) -> None:
    """Run the benchmark.

    Args:
        options: Of the command line.
    """
    data = load_tools()
    tools, bare = make_tools(data), make_tools(data, described=False)
    requests = load_requests(options.half)
    if options.requests:
        number = min(options.requests, len(requests))
        requests = [requests[place * len(requests) // number] for place in range(number)]
    embeddings = load_embedding_model("local").embeddings
    top = SwitchSettings().max_tools
    semantic, model = SwitchSettings(mode="semantic"), SwitchSettings(mode="model", timeout=options.timeout)
    meter = Meter()
    needed = {fence(request.text): (request.tools, request.layers) for request in requests}
    rows: dict[str, Metrics] = {}
    planned: list[tuple[System, Meter | None]] = [
        (Words(tools, top), None),
        (Cosines(tools, top, embeddings), None),
        (Switched("semantic, no examples", bare, semantic, embeddings), None),
        (Switched("semantic", tools, semantic, embeddings), None),
        (Switched("model, oracle", tools, model, embeddings, Oracle(needed=needed, callbacks=[meter])), meter),
    ]
    if options.model:
        real = Meter()
        chat = await asyncio.to_thread(load_chat_model, options.model)
        watched_chat = chat.model_copy(update={"callbacks": [real]})
        planned.append((Switched(f"model, {options.model}", tools, model, embeddings, watched_chat), real))
    for system, watched in planned:
        await system.prepare()
        rows[system.name] = await measure(system, requests, tools, watched)
    rows["all tools"] = {"tools_sent": len(tools), "tool_tokens": tool_tokens(tools)}
    title = f"Which of {len(tools)} tools, {len(requests)} requests ({options.half})"
    print_table(title, ("accuracy_at_1", "accuracy_at_5", "offered"), rows)
    print_table("By language", ("accuracy_at_1_en", "accuracy_at_5_en", "accuracy_at_1_vi", "accuracy_at_5_vi"), rows)
    print_table("What it takes of a prompt, and of time", ("tools_sent", "tool_tokens", "choice_ms_p50"), rows)
    asking = {name: row for name, row in rows.items() if "model_calls" in row}
    print_table("Where the model is asked", ("model_calls", "model_calls_saved", "switch_prompt_tokens"), asking)
    print_table("Right where clear, and of talk and memory", _RIGHT, asking)
    ours = {f"{name}.{metric}": value for name in ("semantic", "model, oracle") for metric, value in rows[name].items()}
    peers = {name: row for name, row in rows.items() if name not in ("semantic", "model, oracle")}
    facts = {"half": options.half, "requests": len(requests), "embedding": "local"}
    await asyncio.to_thread(write_json, options.json, ours, peers, facts)


@interruptible
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark.

    Args:
        arguments: Those of the command line by default.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.routing", description=(__doc__ or "").partition("\n")[0]
    )
    add_json_option(parser)
    parser.add_argument("--half", choices=("tune", "test"), default="test")
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="a real small model, asked beside the stand-in")
    parser.add_argument("--requests", type=int, metavar="N", help="only N requests, from all over the data")
    parser.add_argument("--timeout", type=float, default=30.0, metavar="S", help="seconds for one choice")
    asyncio.run(run(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
