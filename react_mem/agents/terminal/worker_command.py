"""`react-mem worker` and `react-mem maintain`: the work behind the turns, in a process of its own, or once and now."""

from __future__ import annotations

import asyncio
import contextlib
import signal

from rich.console import Console
from rich.text import Text

from react_mem.agents.runners import ConfiguredRunners
from react_mem.agents.terminal.progress import Progress
from react_mem.memory import StorageSettings
from react_mem.memory.runtime import CLOSING_SECONDS, Worker, maintain_all, open_storage


async def run_worker(settings: StorageSettings, console: Console) -> int:
    """Work until the process is told to stop.

    Args:
        settings: The database.
        console: Where to draw.

    Returns:
        The exit code.

    Raises:
        AgentConfigError: If the folder of the agents does not exist.
        StorageError: If the database cannot be opened.
    """
    stopped = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # on Windows Ctrl-C cancels us
            asyncio.get_running_loop().add_signal_handler(name, stopped.set)
    runners = await asyncio.to_thread(ConfiguredRunners)
    async with open_storage(settings) as storage:
        worker = Worker(storage.memory, runners, checkpointer=storage.checkpointer)
        console.print(Text(f"working for {', '.join(runners.names())}; Ctrl-C stops", style="dim"), soft_wrap=True)
        try:
            await stopped.wait()
        finally:
            # what is not finished by then is taken over by another worker
            await worker.close(CLOSING_SECONDS)
    return 0


async def run_maintain(user_id: str | None, settings: StorageSettings, console: Console, *, quiet: bool) -> int:
    """Pick up what crashes left, conclude what has gone quiet, and reflect.

    Args:
        user_id: The one user whose memory to work on; None for everybody.
        settings: The database.
        console: Where to draw.
        quiet: Whether no progress is shown.

    Returns:
        The exit code: 1 if something could not be done.

    Raises:
        AgentConfigError: If the folder of the agents does not exist.
        StorageError: If the database cannot be opened.
    """
    runners = await asyncio.to_thread(ConfiguredRunners)
    with Progress("Maintaining", "users", quiet=quiet) as progress:
        async with open_storage(settings) as storage:
            done = await maintain_all(storage.memory, runners, user_id, progress)
    counts = f"new in memory: {len(done.stored)} · no longer believed: {len(done.retired)} · waiting: {done.waiting}"
    console.print(Text(counts))
    if done.problem:
        console.print(Text(done.problem, style="yellow"), soft_wrap=True)
    return 1 if done.problem else 0
