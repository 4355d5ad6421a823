"""Many users at once: turns a second, waiting, errors and memory of `react_mem` beside `react` and `create_agent`.

    python -m benchmarks.load --json results/load.json [--users 10 50 200] [--turns 5] [--thinking 200 1000 5000]
        [--pause 60] [--seconds 20] [--two] [--server] [--save-plots results]

Each user holds a conversation of their own. The model answers at once and the embedder takes no time, so that the
runtime itself is what is loaded: one process with one event loop, on one database, with the connections and the time
limits that are shipped. What `react_mem` does behind the turns is done while they go on, as it is shipped. Every user
has memories from the start. `create_agent` is LangChain's, without memory, on LangGraph's own checkpointer.

- `--users`: the next question follows as soon as the last answer is there.
- `--thinking`: with a pause to think between two turns. Whoever is beyond what a process can do waits for the others.
- `--two`: the same users on two processes behind one database.
- `--server`: over HTTP, on one `langgraph dev`, with the shipped agents and the built-in model. The server keeps its
  threads in memory, and runs ten turns at once; what is more waits.

Each measurement has processes of its own. Who asks shares the machine with who answers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.filling import in_batches, in_bulk, memories
from benchmarks.load.in_process import PEER, measure
from benchmarks.load.server import on_server
from benchmarks.load.tally import Crowd, Metrics, user_name
from benchmarks.loops import MANAGERS
from benchmarks.plots import add_plots_option, check_plots, lines
from benchmarks.progress import counted, interruptible
from benchmarks.report import add_json_option, print_table, write_json
from benchmarks.stand_ins import HashEmbeddings, embed_with
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.changes import put
from react_mem.memory.opening import open_storage
from react_mem.memory.store import StorageSettings
from react_mem.memory.store.embedded import embedded_database

USERS = (10, 50, 200)
THINKING = (200, 1_000, 5_000)
SYSTEMS = (*MANAGERS, PEER)
MEMORIES = 100
"""Of each user of the first two hundred; of those who only think and talk between them fewer."""
_FEW_MEMORIES = 20
_WITH_MANY = 200

COLUMNS = (
    "turns_per_s",
    "first_token_p50_ms",
    "first_token_p95_ms",
    "turn_p95_ms",
    "errors",
    "degraded",
    "pool_requests_a_turn",
    "pool_wait_ms",
    "cpu_ms",
    "behind_left",
    "behind_s",
    "peak_rss_bytes",
)


@dataclass(frozen=True)
class Plan:
    """Choice of what is measured.

    Args:
        users: Users at once, without a pause.
        turns: Turns of each.
        thinking: Users at once with a pause.
        pause: Seconds of it, on average.
        seconds: How long they talk.
        two: Whether on two processes too.
        server: Whether on a server too.
    """

    users: Sequence[int]
    turns: int
    thinking: Sequence[int] = ()
    pause: float = 60.0
    seconds: float = 20.0
    two: bool = False
    server: bool = False

    def crowds(self) -> dict[str, tuple[Crowd, int]]:
        """Return the users of each measurement, and how many processes they share, by its name."""
        at_once = {f"{users}": (Crowd(range(users), self.turns), 1) for users in self.users}
        pausing = {users: Crowd(range(users), self.turns, self.pause, self.seconds) for users in self.thinking}
        thinking = {f"thinking.{users}": (crowd, 1) for users, crowd in pausing.items()}
        return at_once | thinking | ({f"two.{users}": (c, 2) for users, c in pausing.items()} if self.two else {})


async def measured(plan: Plan) -> dict[str, Metrics]:
    """Measure every system for each number of users, by `system.users` and the like."""
    found: dict[str, Metrics] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with embedded_database(Path(folder) / "postgres") as url:
            await fill(url, max((*plan.users, *plan.thinking)))
            crowds = [(name, *crowd, system) for name, crowd in plan.crowds().items() for system in SYSTEMS]
            for name, crowd, processes, system in counted(crowds, "Serving crowds", "crowds"):
                found[f"{system}.{name}"] = await measure(system, name, crowd, url, processes)
            served = [(users, manager) for users in (plan.users if plan.server else ()) for manager in MANAGERS]
            for users, manager in counted(served, "Serving by a server", "crowds"):
                with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
                    job = alone.submit(_served, manager, Crowd(range(users), plan.turns), url)
                    found[f"{manager}.server.{users}"] = await asyncio.wrap_future(job)
    return found


def _served(manager: str, crowd: Crowd, url: str) -> Metrics:
    return asyncio.run(on_server(manager, crowd, url))


async def fill(url: str, users: int) -> None:
    """Let there be so many users with memories."""
    settings = StorageSettings.model_validate({"database_url": url, "embedding": "local"})
    async with open_storage(settings) as storage:
        embed_with(storage.store, HashEmbeddings())
        memory = MemoryFacade(storage.store)
        kept = (
            put(user_name(number), record)
            for number in range(users)
            for _, record in memories(user_name(number), MEMORIES if number < _WITH_MANY else _FEW_MEMORIES)
        )
        async with in_bulk(storage.pool):
            for batch in in_batches(kept):
                await memory.apply(batch)


def save_plots(result: Path, folder: Path) -> list[Path]:
    """Draw how long users wait for the first word, by how many there are.

    Args:
        result: This benchmark's JSON; the charts are named after it.
        folder: Where they go.

    Returns:
        The files.
    """
    read = json.loads(result.read_text(encoding="utf-8"))
    found = {**read["metrics"], **{f"{peer}.{key}": v for peer, own in read["peers"].items() for key, v in own.items()}}
    return list(chain.from_iterable(_plot(found, percent, result, folder) for percent in (50, 95)))


def _plot(found: Mapping[str, float], percent: int, result: Path, folder: Path) -> list[Path]:
    rows: dict[str, dict[float, float]] = {}
    for key, value in found.items():
        if match := re.fullmatch(rf"(\w+)\.(thinking|two)\.(\d+)\.first_token_p{percent}_ms", key):
            processes = ", two processes" if match[2] == "two" else ""
            rows.setdefault(match[1] + processes, {})[float(match[3])] = value
    return lines(
        rows,
        title=f"The first word, {'median' if percent == 50 else f'{percent}th percentile'}",
        xlabel=f"users who think {read_pause(result):.0f} seconds between two turns",
        ylabel="milliseconds",
        to=folder / f"{result.stem}_first_token_p{percent}",
        log_x=True,
        log_y=True,
    )


def read_pause(result: Path) -> float:
    """Return how long the users of a result thought."""
    return float(json.loads(result.read_text(encoding="utf-8"))["environment"]["pause"])


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print and write.

    Args:
        argv: The arguments; by default those of the process.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=(__doc__ or "").partition("\n")[0])
    add_json_option(parser)
    parser.add_argument("--users", type=int, nargs="*", default=USERS, help="users at once (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=5, help="turns of each user (default: %(default)s)")
    parser.add_argument(
        "--thinking", type=int, nargs="*", default=THINKING, help="users with a pause (default: %(default)s)"
    )
    parser.add_argument("--pause", type=float, default=60.0, help="seconds to think (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long they talk (default: %(default)s)")
    parser.add_argument("--two", action="store_true", help="measure two processes behind one database too")
    parser.add_argument("--server", action="store_true", help="measure one `langgraph dev` too")
    add_plots_option(parser)
    arguments = parser.parse_args(argv)
    told = {key: value for key, value in vars(arguments).items() if key not in ("json", "save_plots")}
    check_plots(parser, arguments)
    load = [os.getloadavg()[0]]
    found = asyncio.run(measured(Plan(**told)))
    load.append(os.getloadavg()[0])
    print_table("Users at once", COLUMNS, found)
    metrics = {f"{what}.{name}": value for what, row in found.items() for name, value in row.items()}
    theirs = {name.removeprefix(f"{PEER}."): value for name, value in metrics.items() if name.startswith(f"{PEER}.")}
    ours = {name: value for name, value in metrics.items() if not name.startswith(f"{PEER}.")}
    about: dict[str, Any] = {**told, "memories": MEMORIES, "load_average": load}
    write_json(arguments.json, ours, {PEER: theirs}, about)
    if arguments.save_plots:
        save_plots(arguments.json, arguments.save_plots)


if __name__ == "__main__":
    main()
