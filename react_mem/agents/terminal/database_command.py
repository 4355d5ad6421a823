"""`react-mem database`: what is done with the database as a whole."""

from __future__ import annotations

import argparse
import asyncio

from rich.console import Console
from rich.text import Text

from react_mem.agents.terminal.progress import Progress
from react_mem.memory import StorageSettings
from react_mem.memory.runtime import distribute, load_embedding_model, reembed


async def run_database(arguments: argparse.Namespace, settings: StorageSettings, console: Console) -> int:
    """Carry out one of the commands.

    Args:
        arguments: The command's.
        settings: The database.
        console: Where to draw.

    Returns:
        The exit code.

    Raises:
        StorageError: If it cannot be done here.
    """
    match arguments.verb:
        case "distribute":
            await _distribute(settings, console, quiet=arguments.quiet)
        case "reembed":
            await _reembed(arguments.to, settings, console, quiet=arguments.quiet)
    return 0


async def _distribute(settings: StorageSettings, console: Console, *, quiet: bool) -> None:
    steps: list[str] = []
    # what was done is told behind the bar, which both would otherwise be drawn over
    together = "Tables are distributed all together or not at all; the same command does what is left."
    try:
        with Progress("Distributing", "tables", quiet=quiet, go_on=together) as progress:
            await distribute(settings, steps.append, progress)
    finally:
        for step in steps:
            console.print(Text(step), soft_wrap=True)
    if not steps:
        console.print(Text("the database is distributed already; there was nothing to do"))


async def _reembed(spec: str, settings: StorageSettings, console: Console, *, quiet: bool) -> None:
    go_on = "What is left is found by its words; the same command goes on from there."
    with Progress("Embedding", "texts", quiet=quiet, go_on=go_on) as progress:
        model = await asyncio.to_thread(load_embedding_model, spec)
        done = await reembed(settings, model, progress)
    console.print(
        Text(f"{done} texts embedded. The memories are now of {model.name}: set EMBEDDING_MODEL={model.name}"),
        soft_wrap=True,
    )
