"""`python -m benchmarks.writing [--json OUT] [--explain] [--only NAME] ...`; see `--help`."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from rich.console import Console

from agents.models import load_chat_model
from benchmarks.report import environment, write_json
from benchmarks.writing.case import Case, choose, load_cases
from benchmarks.writing.drivers import LangMemManager, ModelFactory, ReactMem, open_store
from benchmarks.writing.meter import Meter
from benchmarks.writing.run import Score, run_cases
from benchmarks.writing.scripted import ScriptedChat
from benchmarks.writing.tables import explain, show
from memory.storage.embeddings import load_embedding_model

PEER = "langmem_store_manager"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark.

    Args:
        arguments: Those of the command line by default.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.writing", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the metrics to this file")
    parser.add_argument("--explain", action="store_true", help="list what failed, with the turns and the facts")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="cases by id, part of it, or kind")
    parser.add_argument("--cases", type=int, metavar="N", help="N cases only, spread over kinds and languages")
    parser.add_argument("--engine", choices=("structured", "langmem"), default="structured")
    parser.add_argument("--store", choices=("postgres", "memory"), default="postgres")
    parser.add_argument("--no-peer", action="store_true", help="leave the peer out")
    parser.add_argument(
        "--model", metavar="SPEC", help="a real model draws the facts instead of the script, such as openai:NAME"
    )
    options = parser.parse_args(arguments)
    asyncio.run(_run(options, choose(load_cases(), options.only, options.cases)))


async def _run(options: argparse.Namespace, cases: list[Case]) -> None:
    console = Console()
    scores: dict[str, Score] = {}
    make = await asyncio.to_thread(_model_factory, options.model)
    closed = options.model is None
    with console.status("") as status:
        report: Callable[[str, str], None] = lambda name, case: status.update(f"{name}: {case}")  # noqa: E731
        async with open_store(options.store) as store:
            ours = ReactMem(store, options.engine, make)
            scores["react_mem"] = await run_cases(ours, cases, closed=closed, progress=partial(report, "react_mem"))
        if not options.no_peer:
            embedding = await asyncio.to_thread(load_embedding_model, "auto")
            peer = LangMemManager(embedding, make)
            scores[PEER] = await run_cases(peer, cases, closed=closed, peer=True, progress=partial(report, PEER))
    if options.explain:
        for name, score in scores.items():
            explain(console, name, score, scripted=closed)
    show(console, scores, options.model)
    if options.json is not None:
        metrics = {name: score.metrics() for name, score in scores.items()}
        facts: dict[str, Any] = {
            **environment(),
            "engine": options.engine,
            "store": options.store,
            "model": options.model or "script",
        }
        ours_metrics = metrics.pop("react_mem")
        await asyncio.to_thread(write_json, options.json, ours_metrics, metrics, facts)


def _model_factory(spec: str | None) -> ModelFactory:
    if spec is None:
        return lambda case, meter: ScriptedChat(case=case, callbacks=[meter])
    model = load_chat_model(spec, temperature=0)

    def metered(case: Case, meter: Meter) -> BaseChatModel:
        return model.model_copy(update={"callbacks": [meter]})

    return metered


if __name__ == "__main__":
    main()
