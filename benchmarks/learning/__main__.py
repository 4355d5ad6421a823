"""Effect of learning: a simulated world of tools, with skills and without. No network, no model."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from contextlib import nullcontext

from langgraph.store.memory import InMemoryStore

from benchmarks.learning.run import Run, harm_of
from benchmarks.progress import interruptible
from benchmarks.report import Command, by_metric, print_table, write_json
from benchmarks.writing.drivers import open_store
from react_mem.memory.facade import MemoryFacade

_SEED = 20
_STRANGERS_SEED = 21
"""The same names of tasks with other procedures: skills of one user are wrong for the other."""

_SHOWN = (
    *("episodes", "success_rate", "steps_per_task", "episodes_with_a_skill"),
    *("bad_skills", "bad_skills_archived_within_20_trials", "bad_skill_trials_p50", "bad_skill_trials_max"),
    *("maintenance_ms_p50", "maintenance_ms_max", "read_ms_p50", "record_ms_p50"),
)


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    command = Command("learning", __doc__)
    command.add_argument(
        "--store", choices=("postgres", "memory"), default="postgres", help="memory has no embedder, and is fast"
    )
    command.add_argument("--episodes", type=int, default=500, metavar="N", help="requests of each run")
    command.add_argument("--harmful", type=int, default=1_200, metavar="N", help="tasks where every skill does harm")
    asyncio.run(_run(command.parse_args(argv)))


async def _run(options: argparse.Namespace) -> None:
    off = Run(None, "ann", _SEED)
    await off.episodes(options.episodes, "Learning off")
    # one in memory has no embedder
    opened = nullcontext(InMemoryStore()) if options.store == "memory" else open_store(options.store)
    async with opened as store:
        memory = MemoryFacade(store)
        on = Run(memory, "ann", _SEED)
        await on.episodes(options.episodes, "Learning on")
        stranger = Run(memory, "bob", _STRANGERS_SEED)
        await stranger.episodes(options.episodes // 10, "Another user")
        poisoned = Run(memory, "eve", _SEED)
        await poisoned.poison()
        await poisoned.episodes(options.episodes * 3 // 5, "Bad skills")
        harmed, unharmed = (Run(held, "mia", _SEED, harmful=True) for held in (memory, None))
        for run in (harmed, unharmed):
            await run.episodes(options.harmful, "Harmful tasks")
    runs = {"learning on": on, "learning off": off, "another user": stranger, "bad skills given": poisoned}
    runs |= {"harmful tasks": harmed, "harmful tasks, learning off": unharmed}
    found = {name: run.tally.metrics() for name, run in runs.items()}
    print_table("Learning: a simulated world of tools", list(runs), by_metric(found, _SHOWN))
    curve = [name for name in found["learning on"] if name.startswith("success_rate.")]
    print_table("Success rate by episode", list(runs), by_metric(found, curve))
    bad = {key: value for key, value in found["bad skills given"].items() if key.startswith("bad_")}
    crossed = sum(run.tally.crossed for run in runs.values())
    print(f"skills offered to a user that come from another one: {crossed}")
    harm = harm_of(harmed.tally, unharmed.tally)
    low, high = harm["low.harm.difference"], harm["high.harm.difference"]
    print(
        f"harm in the second half of the harmful tasks: {harm['harm']:.3f} "
        f"(success without learning less success with it: {harm['harm.difference']:+.3f}, {low:+.3f} to {high:+.3f})"
    )
    ours = {**found.pop("learning on"), "skills_from_other_users": crossed, **bad, **harm}
    await asyncio.to_thread(write_json, options.json, ours, found, {"store": options.store, "seed": _SEED})


if __name__ == "__main__":
    main()
