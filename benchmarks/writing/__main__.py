"""Quality of writing: each fact once, updated where contradicted, nothing invented.

    python -m benchmarks.writing --json results/writing.json      all cases, `react_mem` and its peer
    python -m benchmarks.writing --only en-update-home --explain  one case, part of an id, a kind, language or half
    python -m benchmarks.writing --among 100 500 2000 --store memory --no-peer    in a memory of real size

A case (`FORMAT.md`, `cases/early`, `cases/late`) has a few turns in one or several conversations, the model's reading
of each turn, and the required memories at the end. The early half was written with the code, the late half after it, by
somebody who had not read it; they are reported separately. Every case runs three times: with a correct model; with a
careless one, which attributes facts about others to the user, reports changes as new, takes questions and suppositions
for facts, and adds details; and with a hostile one, which invents facts, ends and forgets all memories in its prompt,
and takes tools' words for the user's. Memory is measured by its faults (`correct.fault_share`), the share of its
beliefs that is false (`careless.false_share`), and the false facts that it believes and the true ones that it gives up
(`hostile.false`, `hostile.retired`).

With `--among` a careful model reads each case of a user who has so many other memories: those of the other cases, in
their words, the same language first. The script changes none of them. What fails there and not in an empty memory was
not shown to the model, or was refused.

`react_mem` runs whole: its graph, its store, one extraction at the end of each turn. The scripted model sees the prompt
of any model: it labels the clauses in it, and adds a fact if the memory to change is missing there.

The peer is LangMem's store manager (`create_memory_store_manager`) over an InMemoryStore, on the same embedding model,
called with the user's message and the answer after each turn. The script speaks its protocol: a new fact is a call of
`Memory`, a change a `PatchDoc` with new content, an end a `RemoveDoc`. Deletion is enabled, and it sees as many
memories as `react_mem` shows its model. It has no quotes, dates, doubts, history and counts, and is not measured by
those. It trusts the model, so compare it by the correct answers.
"""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import get_args

from benchmarks.progress import interruptible
from benchmarks.report import Command, Metrics, by_metric, print_table, write_json
from benchmarks.writing.case import Manner, choose, load_cases
from benchmarks.writing.drivers import LangMemManager, ReactMem, open_stores
from benchmarks.writing.run import Score, explain, run_cases
from react_mem.memory.store.embeddings import load_embedding_model

OURS, LANGMEM = "react_mem", "langmem_store_manager"


async def compare(options: Namespace) -> dict[str, Score]:
    every = load_cases()
    cases = choose(every, options.only)
    scores: dict[str, Score] = {}
    async with open_stores(options.store) as stores:
        for size in options.among:
            among = ReactMem(stores, options.engine, size, every)
            scores[f"among {size}"] = await run_cases(among, cases, ["correct"], name=f"among {size}")
        if options.among:
            return scores
        scores[OURS] = await run_cases(ReactMem(stores, options.engine), cases, get_args(Manner), name=OURS)
    if not options.no_peer:
        peer = LangMemManager(await asyncio.to_thread(load_embedding_model, "auto"))
        scores[LANGMEM] = await run_cases(peer, cases, get_args(Manner), peer=True, name=LANGMEM)
    return scores


def show(found: Mapping[str, Metrics]) -> None:
    """Print a row for each count, fault (see `judge.FAULTS`) and share, with a column for each memory."""
    ours = next(iter(found.values()))
    keys = [key for key in ours if not key.startswith(("lang.", "kind.", "model.")) and key.count(".") < 3]
    print_table(f"Writing: {ours['cases']:g} cases, {ours['turns']:g} turns", list(found), by_metric(found, keys))


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    command = Command("writing", __doc__)
    command.add_argument("--explain", action="store_true", help="list what failed, with the turns and the facts")
    command.add_argument("--only", nargs="+", default=[], metavar="NAME", help="cases by id, part of it, kind, ...")
    command.add_argument("--engine", choices=("structured", "langmem"), default="structured")
    command.add_argument("--store", choices=("postgres", "memory"), default="postgres")
    command.add_argument("--among", nargs="+", type=int, default=[], metavar="N", help="other memories of the user")
    command.add_argument("--no-peer", action="store_true", help="leave the peer out")
    told = command.parse_args(argv)
    scores = asyncio.run(compare(told))
    if told.explain:
        for name, score in scores.items():
            explain(name, score)
    found = {name: score.metrics() for name, score in scores.items()}
    show(found)
    facts = {"engine": told.engine, "store": told.store, "model": "script"}
    write_json(told.json, found.pop(next(iter(found))), found, facts)


if __name__ == "__main__":
    main()
