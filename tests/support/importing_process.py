"""A process that imports a file and tells how far it is: `python -m tests.support.importing_process URL FILE`."""

from __future__ import annotations

import asyncio
import sys

from react_mem.integrations import import_memories
from react_mem.memory import MemoryFacade
from tests.support.databases import open_memory_store, word_model


def tell(done: int, _total: int | None) -> None:
    """Print how many are done."""
    print(done, flush=True)  # noqa: T201 - the test reads it


async def run(url: str, file: str) -> None:
    """Import the file for Ann."""
    async with open_memory_store(url, word_model()) as store:
        await import_memories(MemoryFacade(store), "mem0", file, "ann", told=tell)


if __name__ == "__main__":
    asyncio.run(run(*sys.argv[1:]))
