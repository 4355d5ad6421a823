"""Overhead of memory in a turn: time, model calls and prompt tokens of `react_mem`, beside `react` and two peers.

    python -m benchmarks.overhead --json results/overhead.json [--memories 100 1000 10000 100000] [--turns 500]

The same turns run through `react`, `react_mem`, LangChain's `create_agent`, and `create_agent` with LangMem's tools
over the stock Postgres store, in turn, on one embedded database server. The scripted model answers at once, so that the
runtime's own time is left. The embedder is an instant stand-in (`stub`), and then the local one (`local`); `net` times
exclude the embedder. LangMem's agent searches and stores by one call of its model and answers by a second, the least
that its tools allow; a real model takes far longer for each.

Background work of `react_mem` runs between the turns here and is reported by itself; `database_cpu_ms`, the processor
time of PostgreSQL's backends, covers both.
"""

from __future__ import annotations

import asyncio
import importlib.util
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.loops import MANAGERS, PEERS, System, Turn, open_bench
from benchmarks.measures import p50_p95
from benchmarks.progress import interruptible
from benchmarks.report import Command, Metrics, how_to_install, print_table, write_rows
from benchmarks.stand_ins import HashEmbeddings

EMBEDDERS = ("stub", "local")
SIZES = (100, 1_000, 10_000)
MARKS = (10, 50, 100, 200, 300, 400, 500)
"""Reported turns of the growing conversation."""

GROWING = (*MANAGERS, "create_agent")
"""LangMem's tools leave their results in the thread: at 500 turns its prompt is half a million tokens."""

_WINDOW = 10
"""Turns averaged at a mark."""

_WARM_UP = 5

_MEANS = ("database_cpu_ms", "behind_database_cpu_ms")
"""Times reported as the mean, since later turns share them."""

_COLOURS = {"react_mem": "#0072b2", "react": "#009e73", "create_agent": "#e69f00"}
"""Okabe and Ito's palette, distinguishable for colour-blind readers."""


def results(systems: Sequence[System]) -> dict[str, Metrics]:
    found = {system.name: _summary(system.turns[_WARM_UP:]) for system in systems}
    base = found["react"]
    for metrics in found.values():
        for name in ("first_token", "turn"):
            ours, plain = metrics[f"net_{name}_p50_ms"], base[f"net_{name}_p50_ms"]
            metrics[f"net_{name}_over_react_ms"] = round(ours - plain, 2)
            metrics[f"net_{name}_times_react"] = round(ours / plain, 2)
    return found


def _summary(turns: Sequence[Turn]) -> Metrics:
    series = {name: [turn[name] for turn in turns] for name in turns[0]}
    for name, embedding in (("first_token", "embedding"), ("turn", "embedding"), ("behind", "behind_embedding")):
        # a question is embedded before the first word
        series[f"net_{name}_ms"] = [turn[f"{name}_ms"] - turn[f"{embedding}_ms"] for turn in turns]
    metrics: Metrics = {}
    for name, values in series.items():
        if name.endswith("_ms") and name not in _MEANS:
            metrics |= p50_p95(name.removesuffix("_ms"), values)
        else:
            metrics[name] = round(statistics.mean(values), 3)
    return metrics


async def measure(
    sizes: Sequence[int], samples: int, turns: int, embedders: Sequence[str]
) -> tuple[dict[str, Metrics], dict[str, Metrics]]:
    """Return the costs by `system.embedder.size` of memories, and by `system.turn_N` as a conversation grows."""
    async with open_bench() as bench:
        await bench.fill(sizes)
        costs: dict[str, Metrics] = {}
        for number, embedder in enumerate(embedders):
            bench.embedder.inner = bench.local if embedder == "local" else HashEmbeddings()
            for size in sizes:
                count = samples + _WARM_UP
                systems = await bench.run((*MANAGERS, *PEERS), str(size), count, first=number * count)
                costs |= {f"{name}.{embedder}.{size}": cost for name, cost in results(systems).items()}
        bench.embedder.inner = HashEmbeddings()
        grown = await replace(bench, thread_turns=turns).run(GROWING, "growing", turns)
        growth = {
            f"{system.name}.turn_{mark}": _summary(system.turns[:mark][-_WINDOW:])
            for mark in dict.fromkeys([*(mark for mark in MARKS if mark < turns), turns])
            for system in grown
        }
        return costs, growth


def _print(costs: Mapping[str, Metrics], growth: Mapping[str, Metrics], samples: int) -> None:
    times = ("first_token_p50_ms", "first_token_p95_ms", "turn_p50_ms", "turn_p95_ms", "cpu_p50_ms")
    net = ("net_turn_p50_ms", "net_turn_over_react_ms", "net_turn_times_react", "embedding_p50_ms")
    rest = ("model_calls", "prompt_tokens", "behind_model_calls", "behind_p50_ms", "behind_cpu_p50_ms", *_MEANS)
    print_table(f"A turn, by embedder and memories of the user, {samples} turns each", times, costs)
    print_table("The same without the embedder", net, costs)
    print_table("And beside its time", rest, costs)
    columns = ("prompt_tokens", "model_calls", "behind_model_calls", "turn_p50_ms", "behind_p50_ms")
    print_table(f"One conversation as it grows, the last {_WINDOW} turns", columns, growth)


def save_plot(growth: Mapping[str, Metrics], folder: Path) -> None:
    """Draw the prompt tokens by turn; times would depend on other load."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure  # no pyplot: nothing is shown, and no window system is asked for

    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    axes = figure.subplots()
    for system, colour in _COLOURS.items():
        points = [(int(key.rpartition("_")[2]), row) for key, row in growth.items() if key.startswith(f"{system}.")]
        turns, tokens = zip(*((turn, row["prompt_tokens"]) for turn, row in points), strict=True)
        axes.plot(turns, tokens, "o-", color=colour, label=system, linewidth=2.4 if system == "react_mem" else 1.4)
    axes.set_title("The prompt as a conversation grows", loc="left", fontweight="bold")
    axes.set(xlabel="turn", ylabel="prompt tokens")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd")
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    with rc_context({"svg.hashsalt": "overhead"}):  # the same numbers give the same bytes
        figure.savefig(folder / "overhead_prompt_tokens.svg", metadata={"Date": None})
        figure.savefig(folder / "overhead_prompt_tokens.png", dpi=150)


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    command = Command("overhead", __doc__)
    command.add_argument("--memories", type=int, nargs="+", default=SIZES, help="memories of a user")
    command.add_argument("--samples", type=int, default=60, help="turns for each number")
    command.add_argument("--turns", type=int, default=500, help="turns of the conversation that grows")
    command.add_argument("--embedders", nargs="+", choices=EMBEDDERS, default=EMBEDDERS)
    command.add_argument("--save-plots", type=Path, metavar="FOLDER", help="draw the growing prompt into this folder")
    told = command.parse_args(argv)
    if told.save_plots and importlib.util.find_spec("matplotlib") is None:
        command.error(f"--save-plots: charts need matplotlib. {how_to_install('bench')}")
    costs, growth = asyncio.run(measure(told.memories, told.samples, told.turns, told.embedders))
    _print(costs, growth, told.samples)
    write_rows(told.json, {**costs, **growth}, PEERS, vars(told))
    if told.save_plots:
        save_plot(growth, told.save_plots)


if __name__ == "__main__":
    main()
