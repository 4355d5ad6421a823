"""A run of the benchmark: `react_mem` and its peers on the same cases, and what is written of them."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from rich.console import Console

from benchmarks.report import tell_left_out, write_json
from benchmarks.writing.case import Case, Manner
from benchmarks.writing.drivers import LangMemManager, ModelFactory, ReactMem, open_stores
from benchmarks.writing.mem0_peer import open_mem0
from benchmarks.writing.meter import Meter
from benchmarks.writing.run import Score, run_cases
from benchmarks.writing.scripted import ScriptedChat
from benchmarks.writing.tables import explain, show
from react_mem.agents.models import load_chat_model
from react_mem.memory.store.embeddings import load_embedding_model

OURS = "react_mem"
LANGMEM = "langmem_store_manager"
MEM0 = "mem0"


async def compare(options: argparse.Namespace, cases: Sequence[Case]) -> None:
    """Run the cases, show what was found, and write it where that is asked for.

    Args:
        options: Those of the command line.
        cases: The cases.
    """
    console = Console()
    make = await asyncio.to_thread(_model_factory, options.model)
    closed = options.model is None
    # a real model answers in its own manner
    manners: Sequence[Manner] = options.answers if closed else ("correct",)
    scores: dict[str, Score] = {}
    async with open_stores(options.store) as stores:
        ours = ReactMem(stores, options.engine, make)
        scores[OURS] = await run_cases(ours, cases, manners, closed=closed, name=OURS)
    if not options.no_peer:
        embedding = await asyncio.to_thread(load_embedding_model, "auto")
        measure = partial(run_cases, cases=cases, manners=manners, closed=closed, peer=True)
        scores[LANGMEM] = await measure(LangMemManager(embedding, make), name=LANGMEM)
        try:
            async with open_mem0(embedding, make) as mem0:
                scores[MEM0] = await measure(mem0, name=MEM0)
        except ImportError:
            tell_left_out(MEM0, MEM0)
    if options.explain:
        for name, score in scores.items():
            explain(console, name, score)
    show(console, scores, options.model)
    metrics = {name: score.metrics() for name, score in scores.items()}
    facts: dict[str, Any] = {
        "engine": options.engine,
        "store": options.store,
        "model": options.model or "script",
    }
    ours_metrics = metrics.pop(OURS)
    await asyncio.to_thread(write_json, options.json, ours_metrics, metrics, facts)


def _model_factory(spec: str | None) -> ModelFactory:
    if spec is None:
        return lambda case, manner, meter: ScriptedChat(case=case, manner=manner, callbacks=[meter])
    model = load_chat_model(spec, temperature=0)

    def metered(case: Case, manner: Manner, meter: Meter) -> BaseChatModel:
        return model.model_copy(update={"callbacks": [meter]})

    return metered
