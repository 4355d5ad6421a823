"""Many users at once: turns a second, waiting, errors and memory of `react_mem` beside `react` and `create_agent`.

    python -m benchmarks.load --json results/load.json [--users 10 50 200] [--turns 5] [--thinking 200 1000 5000]
        [--pause 60] [--seconds 20]

Each user holds a conversation of their own. The model answers at once and the embedder takes no time, so that the
runtime itself is what is loaded: one process with one event loop, on one database, with the connections and the time
limits that are shipped. What `react_mem` does behind the turns is done while they go on, as it is shipped. Every user
has memories from the start. `create_agent` is LangChain's, without memory, on LangGraph's own checkpointer.

- `--users`: the next question follows as soon as the last answer is there.
- `--thinking`: with a pause to think between two turns. Whoever is beyond what a process can do waits for the others.

Each measurement has a process of its own. Who asks shares the machine with who answers.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from benchmarks.databases import database_server, opened
from benchmarks.load.crowd import Crowd, Metrics, user_name
from benchmarks.load.in_process import PEER, measure
from benchmarks.loops import MANAGERS
from benchmarks.progress import counted, interruptible
from benchmarks.report import Command, print_table, write_rows
from benchmarks.stand_ins import HashEmbeddings, in_bulk, memories, write
from react_mem.memory.facade import MemoryFacade
from react_mem.memory.model.changes import put

USERS = (10, 50, 200)
THINKING = (200, 1_000, 5_000)
MEMORIES = 100
"""Of each user of the first two hundred; of those who only think and talk between them fewer."""
_FEW_MEMORIES = 20
_WITH_MANY = 200

COLUMNS = (
    *("turns_per_s", "first_token_p50_ms", "first_token_p95_ms", "turn_p95_ms", "errors", "degraded"),
    *("pool_requests_a_turn", "pool_wait_ms", "cpu_ms", "behind_left", "behind_s", "peak_rss_bytes"),
)


async def measured(told: argparse.Namespace) -> dict[str, Metrics]:
    """Measure every system for each number of users, by `system.users` and the like."""
    crowds = {f"{users}": Crowd(range(users), told.turns) for users in told.users}
    crowds |= {f"thinking.{n}": Crowd(range(n), told.turns, told.pause, told.seconds) for n in told.thinking}
    runs = [(name, crowd, system) for name, crowd in crowds.items() for system in (*MANAGERS, PEER)]
    found: dict[str, Metrics] = {}
    async with database_server() as url:
        await fill(url, max((*told.users, *told.thinking)))
        for name, crowd, system in counted(runs, "Serving crowds", "crowds"):
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
                job = alone.submit(measure, system, name, crowd, url)
                found[f"{system}.{name}"] = await asyncio.wrap_future(job)
    return found


async def fill(url: str, users: int) -> None:
    """Let there be so many users with memories."""
    kept = (
        put(user_name(number), record)
        for number in range(users)
        for _, record in memories(user_name(number), MEMORIES if number < _WITH_MANY else _FEW_MEMORIES)
    )
    async with opened(url, HashEmbeddings()) as storage, in_bulk(storage.pool):
        await write(MemoryFacade(storage.store), kept)


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print and write."""
    command = Command("load", __doc__)
    command.add_argument("--users", type=int, nargs="*", default=USERS, help="users at once")
    command.add_argument("--turns", type=int, default=5, help="turns of each user")
    command.add_argument("--thinking", type=int, nargs="*", default=THINKING, help="users with a pause")
    command.add_argument("--pause", type=float, default=60.0, help="seconds to think")
    command.add_argument("--seconds", type=float, default=20.0, help="how long they talk")
    told = command.parse_args(argv)
    found = asyncio.run(measured(told))
    print_table("Users at once", COLUMNS, found)
    write_rows(told.json, found, [PEER], {**vars(told), "memories": MEMORIES})


if __name__ == "__main__":
    main()
