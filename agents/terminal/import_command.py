"""`react-mem import`: memories of other systems, and exports of this one."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from rich.console import Console

from react_mem.agents.config import AgentConfig
from react_mem.agents.logged_in import user_name
from react_mem.agents.terminal.column import printable
from react_mem.agents.terminal.output import Output
from react_mem.agents.terminal.progress import Progress
from react_mem.errors import MemoryCommandError
from react_mem.memory import ImportOutcome, ImportOwners, MemoryFacade, StorageSettings, import_memories
from react_mem.memory.runtime import AuditActor, AuditReason, acting, open_storage

_OWNERS = 10
"""Owners that are named; --json has all of them."""


async def run_import(
    arguments: argparse.Namespace, config: AgentConfig, settings: StorageSettings, console: Console
) -> int:
    """Carry the command out.

    Args:
        arguments: The command's.
        config: The agent.
        settings: The database.
        console: Where to draw.

    Returns:
        The exit code.

    Raises:
        MemoryCommandError: If what is there cannot be read; nothing is imported.
        StorageError: If the database cannot be opened.
    """
    is_file = arguments.system != "langmem" and arguments.where != "-"
    if is_file and not await asyncio.to_thread(Path(arguments.where).exists):
        # not a reason to start a database
        raise MemoryCommandError(f"{arguments.where} cannot be read: there is no such file, folder or archive")
    owners = ImportOwners(user=arguments.user or "", mapped=dict(arguments.map), nobodys=user_name())
    doing = "Checking" if arguments.dry_run else "Importing"
    async with open_storage(settings) as storage:
        memory = MemoryFacade(storage.memory, config.memory, checkpointer=storage.checkpointer)
        with (
            acting(AuditActor.OPERATOR, AuditReason.REQUEST),
            Progress(doing, "entries", quiet=arguments.quiet or arguments.json) as progress,
        ):
            try:
                outcome = await import_memories(
                    memory,
                    arguments.system,
                    arguments.where,
                    owners,
                    prefix=tuple(filter(None, arguments.prefix.split("."))),
                    restore=arguments.restore,
                    dry_run=arguments.dry_run,
                    read_by=config.name if arguments.read else "",
                    told=progress,
                )
            except ValueError as error:
                # of an address nothing is shown: it may have a password
                where = "" if arguments.system == "langmem" else f"{arguments.where}: "
                raise MemoryCommandError(f"{where}{error}; nothing was imported") from error
    Output(console, as_json=arguments.json).report(outcome.to_data(), _in_words(outcome))
    return 0


def _in_words(outcome: ImportOutcome) -> str:
    """Return an outcome as a person reads it."""
    added, updated, known = outcome.added.total(), outcome.updated.total(), outcome.known.total()
    kinds = ", ".join(f"{count} {kind}s" for kind, count in sorted(outcome.kinds.items()) if count)
    would = "would be " if outcome.dry_run else ""
    changed = f"{updated} {would}updated to what their source says by now, " if updated else ""
    lines = [f"{added} memories {would}added{f' ({kinds})' if kinds else ''}, {changed}{known} were there already"]
    owners = outcome.owners
    for owner in owners[:_OWNERS] if len(owners) > 1 else []:
        renewed = f"{outcome.updated[owner]} updated, " if updated else ""
        lines.append(
            f"  {printable(owner)}: {outcome.added[owner]} added, {renewed}{outcome.known[owner]} there already"
        )
    if len(owners) > _OWNERS:
        lines.append(f"  and {len(owners) - _OWNERS} more owners; --json names them")
    for reason, count in outcome.skipped.most_common():
        places = ", ".join(outcome.places.get(reason, []))
        lines.append(printable(f"{count} skipped: {reason} ({places}{', ...' if count > 3 else ''})"))
    if outcome.undated:
        lines.append(f"{outcome.undated} are dated now: the time that they give cannot be")
    if outcome.to_read:
        lines.append(f"{outcome.to_read} turns {would}queued: facts are drawn from them when the agent's worker runs")
    elif outcome.kinds["message"]:
        lines.append("what was said is found; no facts were drawn from it (--read has the agent's worker do so)")
    return "\n".join(lines)
