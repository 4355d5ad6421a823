"""`python -m benchmarks.learning [--json OUT]`; see `--help`. No network, no model."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.learning.run import Run
from benchmarks.report import environment, print_table, write_json
from benchmarks.writing.drivers import open_store
from memory.facade import MemoryFacade

_SEED = 20
_STRANGERS_SEED = 21
"""The same kinds of task by name, with other procedures: what is learnt from one user is wrong for the other."""

_COLUMNS = ("episodes", "success_rate", "steps_per_task", "maintenance_ms_p50", "maintenance_ms_max")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark.

    Args:
        arguments: Those of the command line by default.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the metrics to this file")
    parser.add_argument("--store", choices=("postgres", "memory"), default="postgres")
    parser.add_argument("--episodes", type=int, default=500, metavar="N", help="requests of each run")
    asyncio.run(_run(parser.parse_args(arguments)))


async def _run(options: argparse.Namespace) -> None:
    console = Console()
    with console.status("") as status:
        off = Run(None, "ann", _SEED)
        await off.episodes(options.episodes)
        async with open_store(options.store) as store:
            memory = MemoryFacade(store)
            on = Run(memory, "ann", _SEED)
            await on.episodes(options.episodes, lambda text: status.update(f"learning: {text}"))
            stranger = Run(memory, "bob", _STRANGERS_SEED)
            await stranger.episodes(options.episodes // 5, lambda text: status.update(f"another user: {text}"))
            poisoned = Run(memory, "eve", _SEED)
            await poisoned.poison()
            await poisoned.episodes(options.episodes, lambda text: status.update(f"bad skills: {text}"))
    runs = {"learning on": on, "learning off": off, "another user": stranger, "bad skills given": poisoned}
    found = {name: run.tally.metrics() for name, run in runs.items()}
    print_table("Learning: a simulated world of tools", _COLUMNS, found)
    curve = {
        name: {key.removeprefix("success_rate.episodes_"): value for key, value in metrics.items() if "rate.ep" in key}
        for name, metrics in found.items()
    }
    print_table("Success rate by episode", list(curve["learning on"]), curve)
    bad = {key: value for key, value in found["bad skills given"].items() if key.startswith("bad_")}
    print_table("Bad skills", list(bad), {"": bad})
    crossed = sum(run.tally.crossed for run in runs.values())
    console.print(f"skills offered to a user that come from another one: {crossed}")
    if options.json is not None:
        ours = {**found.pop("learning on"), "skills_from_other_users": crossed, **bad}
        facts = {**environment(), "store": options.store, "seed": _SEED}
        await asyncio.to_thread(write_json, options.json, ours, found, facts)


if __name__ == "__main__":
    main()
