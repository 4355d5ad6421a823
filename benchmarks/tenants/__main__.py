"""Writing and searching the memories of many tenants of very different sizes, beside the stock store and raw SQL.

    python -m benchmarks.tenants --rows 1000 10000 100000 --json results/tenants.json

Every system has the same memories, in the same order, on one embedded server, and gets the same questions in turn, so
that other load affects all. The stock store is measured with its defaults, and in the two ways to find everything: an
iterative index scan, and no index. No embedder takes part.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

import numpy as np
import psutil  # type: ignore[import-untyped]

from benchmarks.databases import database_server
from benchmarks.measures import peak_rss_bytes, percentile, reset_peak
from benchmarks.progress import counted, interruptible
from benchmarks.report import Command, Metrics, print_table, write_json
from benchmarks.stand_ins import DIMS
from benchmarks.tenants.data import PROBES, WANTED, Data, Question
from benchmarks.tenants.systems import Server, System, settle
from react_mem.memory.store.storage_settings import INDEX_LIMIT

OURS = "react_mem"
STOCK_ROWS = 100_000
"""Maximum rows of the stock store: it writes some 400 rows a second, and slows down with size."""

_WRITTEN_AT_ONCE = 500
_QUESTIONS = 200
_PROBE_QUESTIONS = 40
_WARM_UP = 5

_WRITING = ("writes_per_second", "disk_bytes_per_memory", "peak_memory_bytes")
_SEARCHING = ("p50_ms", "p95_ms", "p50_ms_by_rows", "p95_ms_by_rows", "recall_to_10k", "recall_above_10k")


@dataclass(frozen=True)
class Answer:
    question: Question
    milliseconds: float
    recall: float


async def measure(url: str, data: Data, peers: Sequence[str]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    async with AsyncExitStack() as stack:
        server = Server(url, data, stack)
        systems: dict[str, System] = {}
        for name in (OURS, *(["stock"] if "stock" in peers else []), *(["raw SQL"] if "raw" in peers else [])):
            systems[name] = await server.open[name]()
        for name, system in systems.items():
            found[name] = await _write(system, data)
        for name in ("stock, iterative", "stock, no index") if "stock" in peers else ():
            systems[name] = await server.open[name]()
        for name, metrics in (await _search(systems, data)).items():
            found.setdefault(name, {}).update(metrics)
    return found


async def _write(system: System, data: Data) -> dict[str, float]:
    order = data.arrivals()
    reset_peak()
    before = psutil.Process().memory_info().rss
    start = time.perf_counter()
    places = range(0, len(order), _WRITTEN_AT_ONCE)
    for place in counted(places, "Writing", f"batches of {_WRITTEN_AT_ONCE} memories"):
        await system.write([int(row) for row in order[place : place + _WRITTEN_AT_ONCE]])
    seconds = time.perf_counter() - start
    peak = peak_rss_bytes() - before
    return {
        "writes_per_second": round(data.rows / seconds, 1),
        "disk_bytes_per_memory": round(await settle(system) / data.rows),
        "peak_memory_bytes": peak,
    }


async def _search(systems: Mapping[str, System], data: Data) -> dict[str, dict[str, float]]:
    by_tenant = [data.ask(int(tenant), seed) for seed, tenant in enumerate(_tenants(data, None))]
    by_rows = [data.ask(int(tenant), _QUESTIONS + seed) for seed, tenant in enumerate(_tenants(data, data.sizes))]
    probes = {
        size: [data.ask(tenant, 1_000 * (tenant + 1) + seed) for seed in range(_PROBE_QUESTIONS)]
        for tenant, size in enumerate(data.sizes)
        if tenant < len(PROBES) and size == PROBES[tenant]
    }
    # Once before it counts: pages are read, and what has outgrown the exact scan gets its index.
    for question in [*by_tenant[:_WARM_UP], *by_rows, *(questions[0] for questions in probes.values())]:
        for system in systems.values():
            await system.search(question)
    for system in systems.values():
        await settle(system)
    tenants, rows = await _ask(systems, data, by_tenant), await _ask(systems, data, by_rows)
    found: dict[str, dict[str, float]] = {}
    for name in systems:
        both = [*tenants[name], *rows[name]]
        found[name] = {
            **_times(tenants[name]),
            **{f"{metric}_by_rows": value for metric, value in _times(rows[name]).items()},
            "recall_to_10k": _recall([a for a in both if data.sizes[a.question.tenant] <= INDEX_LIMIT]),
            "recall_above_10k": _recall([a for a in both if data.sizes[a.question.tenant] > INDEX_LIMIT]),
        }
    for size, questions in probes.items():
        for name, answers in (await _ask(systems, data, questions)).items():
            times = {f"{metric}_tenant_of_{size}": value for metric, value in _times(answers).items()}
            found[name] |= {**times, f"recall_tenant_of_{size}": _recall(answers)}
    return found


def _tenants(data: Data, weights: Sequence[int] | None) -> np.ndarray:
    chances = None if weights is None else np.array(weights) / sum(weights)
    return np.random.default_rng(13).choice(data.tenants, size=_QUESTIONS, p=chances)


async def _ask(systems: Mapping[str, System], data: Data, questions: Sequence[Question]) -> dict[str, list[Answer]]:
    answers: dict[str, list[Answer]] = {name: [] for name in systems}
    for question in counted(questions, "Asking", "questions"):
        truth = data.nearest(question)
        for name, system in systems.items():
            start = time.perf_counter()
            keys = await system.search(question)
            milliseconds = (time.perf_counter() - start) * 1000
            answers[name].append(Answer(question, milliseconds, len(truth & set(keys)) / len(truth)))
    return answers


def _times(answers: Sequence[Answer]) -> dict[str, float]:
    return {f"p{part}_ms": percentile([answer.milliseconds for answer in answers], part) for part in (50, 95)}


def _recall(answers: Sequence[Answer]) -> float:
    """Return the mean recall, NaN for no questions."""
    return round(statistics.mean(answer.recall for answer in answers), 4) if answers else float("nan")


async def run(sizes: Sequence[int], peers: Sequence[str]) -> dict[str, dict[str, float]]:
    everything: dict[str, dict[str, float]] = {}
    for rows in sizes:
        data = Data(rows, max(2, rows // 100), DIMS)
        data.vectors  # noqa: B018 - made before anything is measured
        async with database_server() as url:
            found = await measure(url, data, [peer for peer in peers if peer != "stock" or rows <= STOCK_ROWS])
        _show(data, found)
        for name, metrics in found.items():
            everything.setdefault(name, {}).update({f"{rows}.{metric}": value for metric, value in metrics.items()})
    return everything


def _show(data: Data, found: Mapping[str, Metrics]) -> None:
    title = f"{data.rows:,} memories of {data.tenants:,} tenants, the largest with {max(data.sizes):,}"
    written = {name: metrics for name, metrics in found.items() if "writes_per_second" in metrics}
    print_table(f"{title}: writing", _WRITING, written)
    print_table(f"{title}: the nearest {WANTED}, questions by tenants and by rows", _SEARCHING, found)
    for size in (size for size in PROBES if f"p50_ms_tenant_of_{size}" in found[OURS]):
        columns = [f"{metric}_tenant_of_{size}" for metric in ("p50_ms", "p95_ms", "recall")]
        print_table(f"{title}: the tenant of {size:,}", columns, found)


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    command = Command("tenants", __doc__)
    command.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    command.add_argument("--peers", nargs="*", choices=("stock", "raw"), default=["stock", "raw"])
    told = command.parse_args(argv)
    found = asyncio.run(run(told.rows, told.peers))
    write_json(told.json, found.pop(OURS), found, {**vars(told), "stock_up_to_rows": STOCK_ROWS})


if __name__ == "__main__":
    main()
