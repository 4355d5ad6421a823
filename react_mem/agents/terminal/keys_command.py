"""`react-mem keys`: the master key that memory is encrypted under, and the data keys of owners."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from react_mem.agents.terminal.output import counted, print_json
from react_mem.agents.terminal.progress import Progress
from react_mem.errors import MemoryCommandError
from react_mem.memory import StorageSettings
from react_mem.memory.runtime import (
    KeyRing,
    MemoryStore,
    begin_rotation,
    end_rotation,
    key_counts,
    new_master_key,
    open_storage,
    renew_all,
    reseal,
    rewrap,
)


async def run_keys(arguments: argparse.Namespace, settings: StorageSettings, console: Console) -> int:
    """Carry out one of the commands.

    Args:
        arguments: The command's.
        settings: The database.
        console: Where to draw.

    Returns:
        The exit code.

    Raises:
        MemoryCommandError: If no key is set.
        StorageError: If the database cannot be opened, or the key is wrong.
    """
    if arguments.verb == "new":
        console.print(Text(new_master_key()), soft_wrap=True)
        return 0
    if arguments.verb == "status":
        async with open_storage(settings) as storage:
            await _status(storage.store, console)
        return 0
    told: list[str] = []
    try:
        with Progress("Sealing", "records", quiet=arguments.quiet) as progress:
            async with open_storage(settings) as storage:
                if arguments.verb == "rotate":
                    await _rotate(storage.store, progress, told.append, data_keys=arguments.data_keys)
                else:
                    await _seal(storage.store, progress, told.append)
    finally:
        # behind the bar, which is drawn over what is printed meanwhile
        for line in told:
            console.print(Text(line), soft_wrap=True)
    return 0


async def _status(store: MemoryStore, console: Console) -> None:
    found = await key_counts(store.pool)
    master = store.keys.master.id if store.keys is not None else None
    print_json(console, {"master_key": master, **found._asdict()})


async def _rotate(store: MemoryStore, progress: Progress, tell: Callable[[str], None], *, data_keys: bool) -> None:
    ring = _ring(store)
    progress.turn_to("Wrapping", "data keys")
    done = await rewrap(store.pool, ring.master, progress)
    of_owners = counted(done.of_owners, "data key of an owner is", "data keys of owners are")
    own = counted(done.own, "key")
    tell(f"{of_owners} wrapped anew by the master key {ring.master.id}, and {own} that the store keeps for itself")
    if not data_keys:
        return
    begun, before = await begin_rotation(store.pool, ring)
    if before:
        at = begun.isoformat(" ", timespec="minutes")
        tell(f"the rotation of {at} has gone on: who had a newer data key keeps it")
    progress.turn_to("Making data keys", "owners")
    owners = await renew_all(store.pool, ring, begun, progress)
    tell(f"{counted(owners, 'owner has', 'owners have')} a new data key")
    await _seal(store, progress, tell)
    await end_rotation(store.pool, ring)


async def _seal(store: MemoryStore, progress: Progress, tell: Callable[[str], None]) -> None:
    ring = _ring(store)
    progress.turn_to("Sealing", "records")
    done = await reseal(store.pool, ring, progress)
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


def _ring(store: MemoryStore) -> KeyRing:
    if store.keys is None:
        raise MemoryCommandError("No master key is set. Make one with `react-mem keys new`; see docs/encryption.md.")
    return store.keys
