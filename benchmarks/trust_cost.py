"""Cost of encryption and of row-level security: processor time of a turn of `react_mem` with each, both and neither.

    python -m benchmarks.trust_cost --json results/trust_cost.json [--memories 1000 10000] [--turns 100]

The same turns with the same memories in four databases of one embedded server, in turn: who begins changes from turn to
turn, and what a turn leaves to do behind it is done before the next one begins. The model and the embedder are
stand-ins that answer at once. Processor time, and not time: what else a machine does changes little of it. What
encryption adds is the difference of two turns that differ in the key alone, and it is told as the mean and as the
median of the differences turn by turn, with the quartiles and the interval that holds the mean of 95 in 100 samples.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import random
import statistics
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.database_cpu import watch_database
from benchmarks.filling import fill, in_bulk, memories
from benchmarks.locomo.databases import new_database
from benchmarks.locomo.metrics import percentile
from benchmarks.loops import System, open_manager
from benchmarks.progress import counted, interruptible
from benchmarks.report import add_json_option, print_table, write_json
from benchmarks.stand_ins import DIMS, HashEmbeddings, TimedEmbeddings, question
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.opening import Storage
from react_mem.memory.store.checkpointer import ThreadSaver
from react_mem.memory.store.embedded import embedded_database
from react_mem.memory.store.embeddings import EmbeddingModel
from tests.support.databases import open_memory_store

SIZES = (1_000, 10_000)

SYSTEMS = {"plain": (False, False), "wall": (False, True), "sealed": (True, False), "sealed_wall": (True, True)}
"""By name: whether there is a key, and whether row-level security is on."""

COSTS = {
    "encryption": ("sealed", "plain"),
    "encryption_behind_wall": ("sealed_wall", "wall"),
    "row_security": ("wall", "plain"),
    "row_security_when_sealed": ("sealed_wall", "sealed"),
    "both": ("sealed_wall", "plain"),
}
"""Costs by name: each the difference of two systems, with and without."""

_SERIES = ("turn_cpu_ms", "behind_cpu_ms", "turn_database_cpu_ms", "behind_database_cpu_ms")

_WARM_UP = 10
_THREAD_TURNS = 10
_SAMPLES = 2_000

Metrics = dict[str, float]


async def measure(sizes: Sequence[int], turns: int) -> dict[str, Metrics]:
    """Return what turns cost, by `system.size`, and what is added, by `cost.size`.

    Args:
        sizes: Memories of a user.
        turns: Turns of each system and size.
    """
    found: dict[str, Metrics] = {}
    async with _opened(sizes) as systems:
        for size in sizes:
            series = await _run(systems, size, turns)
            found |= {f"{name}.{size}": _summary(values) for name, values in series.items()}
            for name, (with_it, without) in COSTS.items():
                found[f"{name}.{size}"] = _added(series[with_it], series[without])
    return found


@asynccontextmanager
async def _opened(sizes: Sequence[int]) -> AsyncIterator[dict[str, System]]:
    """Open a database for each system, with a user for each size, named after it."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        server = await stack.enter_async_context(embedded_database(Path(folder) / "postgres"))
        database = await stack.enter_async_context(watch_database(server))
        systems = {}
        for name, (sealed, walled) in SYSTEMS.items():
            embedder = TimedEmbeddings(HashEmbeddings())
            model = EmbeddingModel("stand-in", DIMS, embedder)
            url = await new_database(server, name)
            store = await stack.enter_async_context(open_memory_store(url, model, sealed=sealed, full_vectors=False))
            store.pool.has_wall = walled  # type: ignore[attr-defined]
            key = await store.keys.derive("checkpoints") if store.keys is not None else None
            checkpointer = ThreadSaver(store.pool, key)
            await checkpointer.setup()
            async with in_bulk(store.pool):
                for size in sizes:
                    await fill(MemoryFacade(store), str(size), size)
            storage = Storage(store, store, checkpointer, store.pool, model)
            system = open_manager("react_mem", storage, embedder)
            systems[name] = replace(system, name=name, database=database)
        yield systems


async def _run(systems: dict[str, System], size: int, turns: int) -> dict[str, dict[str, list[float]]]:
    """Return the times of turns in their order, by system and by kind."""
    known = [record.text for _, record in memories(str(size), min(turns, 100))]
    series: dict[str, dict[str, list[float]]] = {name: {kind: [] for kind in _SERIES} for name in systems}
    order = list(systems.values())
    for number in counted(range(turns + _WARM_UP), "Turns", "turns"):
        said = question(number, known[number % len(known)])
        place = number % len(order)
        for system in (*order[place:], *order[:place]):
            # what was left by others is nobody's cost
            gc.collect()
            gc.freeze()
            turn = await system.turn(str(size), f"{size} {number // _THREAD_TURNS}", said)
            if number < _WARM_UP:
                continue
            spent = {
                "turn_cpu_ms": turn.cpu_ms,
                "behind_cpu_ms": turn.behind_cpu_ms,
                "turn_database_cpu_ms": turn.database_cpu_ms - turn.behind_database_cpu_ms,
                "behind_database_cpu_ms": turn.behind_database_cpu_ms,
            }
            for kind, milliseconds in spent.items():
                series[system.name][kind].append(milliseconds)
    return series


def _summary(series: dict[str, list[float]]) -> Metrics:
    metrics: Metrics = {}
    for kind, values in series.items():
        name = kind.removesuffix("_ms")
        metrics[f"{name}_mean_ms"] = round(statistics.mean(values), 3)
        metrics[f"{name}_p50_ms"] = percentile(values, 50)
        metrics[f"{name}_p25_ms"] = percentile(values, 25)
        metrics[f"{name}_p75_ms"] = percentile(values, 75)
    return metrics


def _added(with_it: dict[str, list[float]], without: dict[str, list[float]]) -> Metrics:
    metrics: Metrics = {}
    for kind, values in with_it.items():
        name = kind.removesuffix("_ms")
        added = [one - other for one, other in zip(values, without[kind], strict=True)]
        low, high = _interval(added)
        medians = percentile(values, 50), percentile(without[kind], 50)
        metrics[f"added_{name}_mean_ms"] = round(statistics.mean(added), 3)
        metrics[f"added_{name}_mean_low_ms"] = low
        metrics[f"added_{name}_mean_high_ms"] = high
        metrics[f"added_{name}_p50_ms"] = percentile(added, 50)
        metrics[f"added_{name}_p25_ms"] = percentile(added, 25)
        metrics[f"added_{name}_p75_ms"] = percentile(added, 75)
        metrics[f"{name}_ratio_of_medians"] = round(medians[0] / medians[1], 3) if medians[1] else 0.0
    return metrics


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """Return between what the mean lies in 95 of 100 samples of values."""
    chance = random.Random(7)  # noqa: S311 - no secret
    means = sorted(statistics.fmean(chance.choices(values, k=len(values))) for _ in range(_SAMPLES))
    tail = _SAMPLES // 40
    return round(means[tail], 3), round(means[-1 - tail], 3)


def _print(found: dict[str, Metrics], turns: int) -> None:
    costs = {name: row for name, row in found.items() if name.split(".")[0] in COSTS}
    kinds = [kind.removesuffix("_ms") for kind in _SERIES]
    columns = [f"{kind}_{what}_ms" for kind in kinds[:3] for what in ("mean", "p50")]
    print_table(f"A turn, {turns} turns each", columns, {name: found[name] for name in found.keys() - costs.keys()})
    print_table("And behind it", ["behind_cpu_p50_ms", "behind_database_cpu_p50_ms"], found)
    of_turn = ("mean", "mean_low", "mean_high", "p25", "p50", "p75")
    print_table("What is added: client", [f"added_turn_cpu_{what}_ms" for what in of_turn], costs)
    print_table("What is added: database", [f"added_turn_database_cpu_{what}_ms" for what in of_turn], costs)


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print and write.

    Args:
        argv: The arguments; by default those of the process.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.trust_cost", description=(__doc__ or "").partition("\n")[0]
    )
    add_json_option(parser)
    parser.add_argument(
        "--memories", type=int, nargs="+", default=SIZES, help="memories of a user (default: %(default)s)"
    )
    parser.add_argument("--turns", type=int, default=100, help="turns of each (default: %(default)s)")
    arguments = parser.parse_args(argv)
    load = [os.getloadavg()[0]]
    found = asyncio.run(measure(arguments.memories, arguments.turns))
    load.append(os.getloadavg()[0])
    _print(found, arguments.turns)
    metrics = {f"{what}.{name}": value for what, row in found.items() for name, value in row.items()}
    told = {"memories": list(arguments.memories), "turns": arguments.turns, "load_average": load}
    write_json(arguments.json, metrics, {}, told)


if __name__ == "__main__":
    main()
