"""`react-mem database`, `keys`, `worker` and `maintain`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
from collections.abc import Callable

from react_mem.agents.agent_opening import ConfiguredRunners
from react_mem.agents.terminal.output import Terminal, counted
from react_mem.agents.terminal.progress import Progress
from react_mem.memory import StorageSettings
from react_mem.memory.runtime import (
    Storage,
    Worker,
    distribute,
    load_embedding_model,
    maintain_all,
    new_master_key,
    open_storage,
    reembed,
)


async def run_database(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    """Run `react-mem database`; return the exit code. Raises `StorageError` if it cannot be done here."""
    if arguments.verb == "reembed":
        go_on = "What is left is found by its words; the same command goes on from there."
        with Progress("Embedding", "texts", quiet=arguments.quiet, go_on=go_on) as progress:
            model = await asyncio.to_thread(load_embedding_model, arguments.to)
            done = await reembed(settings, model, progress)
        console.say(f"{done} texts embedded. The memories are now of {model.name}: set EMBEDDING_MODEL={model.name}")
        return 0
    steps: list[str] = []
    # what was done is told behind the bar, which both would otherwise be drawn over
    together = "Tables are distributed all together or not at all; the same command does what is left."
    try:
        with Progress("Distributing", "tables", quiet=arguments.quiet, go_on=together) as progress:
            await distribute(settings, steps.append, progress)
    finally:
        for step in steps:
            console.say(step)
    if not steps:
        console.say("the database is distributed already; there was nothing to do")
    return 0


# `react-mem keys`: the master key that memory is encrypted under, and the data keys of owners.


async def run_keys(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    """Run `react-mem keys`; return the exit code.

    Raises `StorageError` without a key, or for a wrong one.
    """
    if arguments.verb == "new":
        console.say(new_master_key())
        return 0
    if arguments.verb == "status":
        async with open_storage(settings) as storage:
            found = await storage.key_counts()
        console.json(found)
        return 0
    told: list[str] = []
    try:
        with Progress("Sealing", "records", quiet=arguments.quiet) as progress:
            async with open_storage(settings) as storage:
                if arguments.verb == "rotate":
                    await _rotate(storage, progress, told.append, data_keys=arguments.data_keys)
                else:
                    await _seal(storage, progress, told.append)
    finally:
        # behind the bar, which is drawn over what is printed meanwhile
        for line in told:
            console.say(line)
    return 0


async def _rotate(storage: Storage, progress: Progress, tell: Callable[[str], None], *, data_keys: bool) -> None:
    progress.turn_to("Wrapping", "data keys")
    master, done = await storage.wrap_keys(progress)
    of_owners = counted(done.of_owners, "data key of an owner is", "data keys of owners are")
    own = counted(done.own, "key")
    tell(f"{of_owners} wrapped anew by the master key {master}, and {own} that the store keeps for itself")
    if not data_keys:
        return
    progress.turn_to("Making data keys", "owners")
    owners, resumed = await storage.renew_keys(progress)
    if resumed is not None:
        at = resumed.isoformat(" ", timespec="minutes")
        tell(f"the rotation of {at} has gone on: who had a newer data key keeps it")
    tell(f"{counted(owners, 'owner has', 'owners have')} a new data key")
    await _seal(storage, progress, tell, renewed=True)


async def _seal(storage: Storage, progress: Progress, tell: Callable[[str], None], *, renewed: bool = False) -> None:
    progress.turn_to("Sealing", "records")
    done = await storage.seal_records(progress, renewed=renewed)
    # memories among them, and as much that memory keeps for itself: which is which is sealed
    tell(
        counted(done.from_plain, "record that was in plain is", "records that were in plain are")
        + f" sealed, and {done.anew} with another data key"
    )
    if done.from_plain:
        tell(
            "What was in plain stays in the database's files until they are written anew: VACUUM FULL store, "
            "store_vectors (nobody reads or writes meanwhile)"
        )


# `react-mem worker` and `react-mem maintain`: the work behind the turns, in a process of its own, or once and now.


async def run_worker(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    """Run the background work of all agents until the process is told to stop; return the exit code."""
    stopped = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # on Windows Ctrl-C cancels us
            asyncio.get_running_loop().add_signal_handler(name, stopped.set)
    runners = await asyncio.to_thread(ConfiguredRunners)
    async with open_storage(settings) as storage:
        worker = Worker(storage.memory, runners, checkpointer=storage.checkpointer)
        console.say(f"working for {', '.join(runners.names())}; Ctrl-C stops", "dim")
        try:
            await stopped.wait()
        finally:
            # what is not finished by then is taken over by another worker
            await worker.close()
    return 0


async def run_maintain(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    """Recover after crashes, conclude quiet conversations and reflect, for a user or all; return 1 after a problem."""
    runners = await asyncio.to_thread(ConfiguredRunners)
    with Progress("Maintaining", "users", quiet=arguments.quiet) as progress:
        async with open_storage(settings) as storage:
            done = await maintain_all(storage.memory, runners, arguments.user, progress)
    counts = f"new in memory: {len(done.stored)} · no longer believed: {len(done.retired)} · waiting: {done.waiting}"
    console.say(counts)
    if done.problem:
        console.say(done.problem, "yellow")
    return 1 if done.problem else 0
