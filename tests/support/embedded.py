"""The processes of embedded servers, in tests that kill them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil

from react_mem.memory.store.embedded import embedded_server

STOP_SECONDS = 30


@asynccontextmanager
async def embedded_database(data_dir: Path) -> AsyncIterator[str]:
    """Run the PostgreSQL of a folder, and yield its URL."""
    async with embedded_server(data_dir) as running:
        yield running.url


def servers(data_dir: Path) -> list[psutil.Process]:
    """Return the servers on the folder, without the processes they forked."""
    found = {}
    for process in psutil.process_iter(["name", "cmdline", "ppid"]):
        if process.info["name"] == "postgres" and str(data_dir / "pg18" / "cluster") in (process.info["cmdline"] or []):
            found[process.pid] = process
    return [process for process in found.values() if process.info["ppid"] not in found]


def server(data_dir: Path) -> psutil.Process:
    """Return the one server on the folder."""
    (only,) = servers(data_dir)
    return only


def kill_server(data_dir: Path, *, see_children_end: bool = True) -> None:
    """Kill the server as the kernel does when memory is short: at once, and without its children."""
    process = server(data_dir)
    children = process.children()
    process.kill()
    process.wait(STOP_SECONDS)
    if see_children_end:
        _, alive = psutil.wait_procs(children, STOP_SECONDS)
        assert not alive
