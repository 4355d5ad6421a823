"""Bringing a database of the version before owners up to date, while it is written and the process is killed.

    python -m benchmarks.migration --rows 200000

That version, and LangGraph's own store, write all the time. The process that brings the database up to date is killed
while it gives items their owners, while it gives them to the index, and while it builds an index; then it ends.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.progress import interruptible
from react_mem.memory.store.embedded import embedded_database
from react_mem.memory.store.embeddings import EmbeddingModel
from react_mem.memory.store.migrations import table_exists
from tests.support.databases import fresh_database, word_model
from tests.support.version_before import WRONG, Writers, connect, make

DIMS = 384
_OWNERS = 0.01
"""Owners a row."""
_KILLED = (
    ("in the owners of items", "step = 2 AND place IS NOT NULL"),
    ("in the owners of the index", "step = 3 AND place IS NOT NULL"),
    ("in building an index", "step = 7"),
    ("at the end", "FALSE"),
)
"""A place where a process ends, and the progress at which it is killed."""

_MIGRATE = f"""
import asyncio
from react_mem.memory.store.migrations import migrate
from tests.support.databases import word_model
from tests.support.version_before import BESIDE, connect, files_up_to

async def main():
    async with await connect(URL) as conn:
        with files_up_to(BESIDE):
            await migrate(conn, word_model({DIMS}), checkpoints=True)

asyncio.run(main())
"""


async def _until(url: str, progress: str) -> float:
    """Bring the database up to date, until the progress is such; return how many seconds it took."""
    started = time.perf_counter()
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _MIGRATE.replace("URL", repr(url)))
    async with await connect(url) as conn:
        while process.returncode is None:
            there = await table_exists(conn, "memory_migration_steps")
            reached = f"SELECT FROM memory_migration_steps WHERE {progress}".encode()
            if there and await (await conn.execute(reached)).fetchone():
                process.kill()
            try:
                await asyncio.wait_for(process.wait(), 0.05)
            except TimeoutError:
                continue
    return time.perf_counter() - started


async def run(rows: int) -> None:
    """Measure, and print what was found.

    Args:
        rows: How many items there are.
    """
    console = Console()
    model: EmbeddingModel = word_model(DIMS)
    owners = max(10, int(rows * _OWNERS))
    with tempfile.TemporaryDirectory() as folder:
        async with embedded_database(Path(folder)) as server, fresh_database(server) as url:
            await make(url, model, rows, owners)
            console.print(f"{rows} items of {owners} owners")
            writers = Writers(url, model, owners)
            writing = asyncio.create_task(writers.run())
            for where, progress in _KILLED:
                before, seconds = writers.written, await _until(url, progress)
                slowest = ", ".join(f"{1000 * each:.0f}" for each in writers.slowest)
                console.print(
                    f"{where}: {seconds:.1f} s, {writers.written - before} writes; slowest so far {slowest} ms"
                )
                if writing.done():
                    break
            writers.done.set()
            await writing
            async with await connect(url) as conn:
                console.print("wrong:", await (await conn.execute(WRONG)).fetchone())


@interruptible
def main(argv: Sequence[str] | None = None) -> None:
    """Run the benchmark.

    Args:
        argv: The command line; the process's own by default.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.migration", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000, help="default: %(default)s")
    asyncio.run(run(parser.parse_args(argv).rows))


if __name__ == "__main__":
    main()
