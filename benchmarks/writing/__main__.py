"""Quality of writing: each fact once, updated where contradicted, nothing invented.

    python -m benchmarks.writing --json results/writing.json      all cases, `react_mem` and its peers
    python -m benchmarks.writing --only en-update-home --explain  one case, part of an id, a kind, language or half

A case (`FORMAT.md`, `cases/early`, `cases/late`) is a few turns, in one or several conversations; for each turn how a
model reads the user's words; and what must be remembered in the end. The early half was written with the code, the late
half after it, by somebody who had not read it; they are reported apart. Every case is run three times: with a model
that answers correctly; with a careless one, which gives facts about others to the user, tells changes as new, takes
questions and suppositions for facts, and adds details; and with a hostile one, which invents, ends and forgets all that
it is shown, and passes the words of tools for the user's. What is measured is what memory makes of it: faults
(`correct.fault_share`), the share of what it believes that is false (`careless.false_share`), and the false facts that
it believes and the true ones that it gives up (`hostile.false`, `hostile.retired`).

`react_mem` runs whole: its graph, its store, one extraction at the end of each turn. The scripted model sees what any
model would: it labels the clauses that it is shown, and where the memory that it should change is not shown, it adds.

The peers are LangMem's store manager (`create_memory_store_manager`) over an InMemoryStore, and Mem0 over a Qdrant in
memory where it is installed, both with the same embedding model, called with the user's message and the answer after
each turn. The same script reaches each in its own protocol. LangMem: what is new is a call of `Memory`, a change a
`PatchDoc` that replaces the content of the memory that is shown, an end a `RemoveDoc`; it may delete, which it does not
by default, and it is shown as many memories as `react_mem` shows its model. Mem0: its model can only add, so that what
has changed stands beside what it was. They have no quotes, dates, doubts, history and counts, and are not measured by
those; they take their model at its word, so that they compare by the correct answers where one trusts the model.
"""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from typing import get_args

from benchmarks.progress import interruptible
from benchmarks.report import Command, Metrics, by_metric, print_table, tell_left_out, write_json
from benchmarks.writing.case import Manner, choose, load_cases
from benchmarks.writing.drivers import LangMemManager, ReactMem, open_mem0, open_stores
from benchmarks.writing.run import Score, explain, run_cases
from react_mem.memory.store.embeddings import load_embedding_model

OURS, LANGMEM, MEM0 = "react_mem", "langmem_store_manager", "mem0"


async def compare(options: Namespace) -> dict[str, Score]:
    """Run the cases through `react_mem` and its peers, and return what was found."""
    cases = choose(load_cases(), options.only)
    scores: dict[str, Score] = {}
    async with open_stores(options.store) as stores:
        ours = ReactMem(stores, options.engine)
        scores[OURS] = await run_cases(ours, cases, get_args(Manner), name=OURS)
    if options.no_peer:
        return scores
    embedding = await asyncio.to_thread(load_embedding_model, "auto")
    measure = partial(run_cases, cases=cases, manners=get_args(Manner), peer=True)
    scores[LANGMEM] = await measure(LangMemManager(embedding), name=LANGMEM)
    try:
        async with open_mem0(embedding) as mem0:
            scores[MEM0] = await measure(mem0, name=MEM0)
    except ImportError:
        tell_left_out(MEM0, MEM0)
    return scores


def show(found: Mapping[str, Metrics]) -> None:
    """Print a row for each count, fault (`judge.FAULTS` says what they mean) and share, a column for each memory."""
    ours = found[OURS]
    keys = [key for key in ours if not key.startswith(("lang.", "kind.", "model.")) and key.count(".") < 3]
    print_table(f"Writing: {ours['cases']:g} cases, {ours['turns']:g} turns", list(found), by_metric(found, keys))


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    command = Command("writing", __doc__)
    command.add_argument("--explain", action="store_true", help="list what failed, with the turns and the facts")
    command.add_argument("--only", nargs="+", default=[], metavar="NAME", help="cases by id, part of it, kind, ...")
    command.add_argument("--engine", choices=("structured", "langmem"), default="structured")
    command.add_argument("--store", choices=("postgres", "memory"), default="postgres")
    command.add_argument("--no-peer", action="store_true", help="leave the peers out")
    told = command.parse_args(argv)
    scores = asyncio.run(compare(told))
    if told.explain:
        for name, score in scores.items():
            explain(name, score)
    found = {name: score.metrics() for name, score in scores.items()}
    show(found)
    facts = {"engine": told.engine, "store": told.store, "model": "script"}
    write_json(told.json, found.pop(OURS), found, facts)


if __name__ == "__main__":
    main()
