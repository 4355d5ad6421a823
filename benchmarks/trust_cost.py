"""Cost of encryption and of row-level security: processor time of a turn of `react_mem` with each, both and neither.

    python -m benchmarks.trust_cost --json results/trust_cost.json [--memories 1000 10000] [--turns 100]

The same turns with the same memories run in four databases of one embedded server; the first rotates, and background
work of a turn is finished before the next begins. Model and embedder are instant stand-ins. Processor time, unlike
elapsed time, hardly depends on other load. The cost of encryption is the difference of two turns that differ in the key
alone, reported as mean and median of the differences turn by turn, with the quartiles and the 95 % interval of the
mean.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import numpy as np

from benchmarks.databases import database_server, new_database, watch_database
from benchmarks.loops import System, open_manager
from benchmarks.measures import interval, percentile
from benchmarks.progress import counted, interruptible
from benchmarks.report import Command, Metrics, flat, print_table, write_json
from benchmarks.stand_ins import DIMS, HashEmbeddings, TimedEmbeddings, fill, in_bulk, memories, question
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.opening import Storage
from react_mem.memory.store.checkpointer import ThreadSaver
from react_mem.memory.store.embeddings import EmbeddingModel
from tests.support.databases import open_memory_store

SIZES = (1_000, 10_000)

SYSTEMS = {"plain": (False, False), "wall": (False, True), "sealed": (True, False), "sealed_wall": (True, True)}
"""By name: with a key, and with row-level security."""

COSTS = {
    "encryption": ("sealed", "plain"),
    "encryption_behind_wall": ("sealed_wall", "wall"),
    "row_security": ("wall", "plain"),
    "row_security_when_sealed": ("sealed_wall", "sealed"),
    "both": ("sealed_wall", "plain"),
}
"""Costs by name: each the difference of two systems, with and without."""

_KINDS = ("turn_cpu", "behind_cpu", "turn_database_cpu", "behind_database_cpu")
_WARM_UP = 10
_THREAD_TURNS = 10
Series = dict[str, list[float]]


async def measure(sizes: Sequence[int], turns: int) -> dict[str, Metrics]:
    """Return the cost of each system, by `system.size`, and the additional costs, by `cost.size`."""
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
        server = await stack.enter_async_context(database_server())
        database = await stack.enter_async_context(watch_database(server))
        systems = {}
        for name, (sealed, confined) in SYSTEMS.items():
            embedder = TimedEmbeddings(HashEmbeddings())
            model = EmbeddingModel("stand-in", DIMS, embedder)
            url = await new_database(server, name)
            store = await stack.enter_async_context(open_memory_store(url, model, sealed=sealed))
            store.pool.has_row_security = confined  # type: ignore[attr-defined]
            key = await store.keys.derive("checkpoints") if store.keys is not None else None
            checkpointer = ThreadSaver(store.pool, key)
            await checkpointer.setup()
            async with in_bulk(store.pool):
                for size in sizes:
                    await fill(MemoryFacade(store), str(size), size)
            system = open_manager("react_mem", Storage(store, store, checkpointer, store.pool, model), embedder)
            systems[name] = replace(system, name=name, database=database)
        yield systems


async def _run(systems: dict[str, System], size: int, turns: int) -> dict[str, Series]:
    known = [record.text for _, record in memories(str(size), min(turns, 100))]
    series: dict[str, Series] = {name: {kind: [] for kind in _KINDS} for name in systems}
    order = list(systems.values())
    for number in counted(range(turns + _WARM_UP), "Turns", "turns"):
        said = question(number, known[number % len(known)])
        place = number % len(order)
        for system in (*order[place:], *order[:place]):
            # what was left by others is nobody's cost
            gc.collect()
            gc.freeze()
            turn = await system.turn(str(size), f"{size} {number // _THREAD_TURNS}", said)
            turn["turn_cpu_ms"] = turn["cpu_ms"]
            turn["turn_database_cpu_ms"] = turn["database_cpu_ms"] - turn["behind_database_cpu_ms"]
            for kind in _KINDS if number >= _WARM_UP else ():
                series[system.name][kind].append(turn[f"{kind}_ms"])
    return series


def _summary(series: Series) -> Metrics:
    metrics: Metrics = {}
    for name, values in series.items():
        metrics[f"{name}_mean_ms"] = round(statistics.mean(values), 3)
        metrics |= {f"{name}_p{part}_ms": percentile(values, part) for part in (25, 50, 75)}
    return metrics


def _added(with_it: Series, without: Series) -> Metrics:
    added = {
        name: [one - other for one, other in zip(values, without[name], strict=True)]
        for name, values in with_it.items()
    }
    metrics: Metrics = {f"added_{name}": value for name, value in _summary(added).items()}
    for name, values in added.items():
        metrics[f"added_{name}_mean_low_ms"], _, metrics[f"added_{name}_mean_high_ms"] = interval(np.array(values))
        ours, plain = percentile(with_it[name], 50), percentile(without[name], 50)
        metrics[f"{name}_ratio_of_medians"] = round(ours / plain, 3) if plain else 0.0
    return metrics


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    command = Command("trust_cost", __doc__)
    command.add_argument("--memories", type=int, nargs="+", default=SIZES, help="memories of a user")
    command.add_argument("--turns", type=int, default=100, help="turns of each")
    told = command.parse_args(argv)
    found = asyncio.run(measure(told.memories, told.turns))
    costs = {name: row for name, row in found.items() if name.split(".")[0] in COSTS}
    columns = [f"{kind}_{what}_ms" for kind in _KINDS for what in ("mean", "p50")]
    print_table(f"A turn, {told.turns} turns each", columns, {name: found[name] for name in found.keys() - costs})
    of_turn = ("mean", "mean_low", "mean_high", "p25", "p50", "p75")
    for kind in ("turn_cpu", "turn_database_cpu"):
        print_table(f"What is added: {kind}", [f"added_{kind}_{what}_ms" for what in of_turn], costs)
    write_json(told.json, flat(found), {}, vars(told))


if __name__ == "__main__":
    main()
