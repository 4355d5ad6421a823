"""`react-mem skills`: a user's skills as `SKILL.md` files, out and in."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from rich.console import Console

from react_mem.agents.config import AgentConfig
from react_mem.agents.terminal.column import printable
from react_mem.agents.terminal.output import Output, counted
from react_mem.errors import MemoryCommandError
from react_mem.integrations import export_skills, import_skills
from react_mem.memory import MemoryFacade, StorageSettings
from react_mem.memory.records import AuditActor, AuditReason, acting
from react_mem.memory.runtime import open_storage


async def run_skills(
    arguments: argparse.Namespace, config: AgentConfig, settings: StorageSettings, console: Console
) -> int:
    """Carry the command out.

    Args:
        arguments: The command's.
        config: The agent.
        settings: The database.
        console: Where to draw.

    Returns:
        The exit code: 1 where something was skipped.

    Raises:
        MemoryCommandError: If the file or folder cannot be read or written at all.
        StorageError: If the database cannot be opened.
    """
    out = Output(console, as_json=arguments.json)
    async with open_storage(settings) as storage:
        memory = MemoryFacade(storage.memory, config.memory, checkpointer=storage.checkpointer)
        with acting(AuditActor.OPERATOR, AuditReason.REQUEST):
            carry_out = _export if arguments.verb == "export" else _import
            return await carry_out(memory, arguments, out)


async def _export(memory: MemoryFacade, arguments: argparse.Namespace, out: Output) -> int:
    try:
        done = await export_skills(memory, arguments.user, arguments.folder)
    except ValueError as error:
        raise MemoryCommandError(str(error)) from error
    data = {"written": done.written, "kept": done.kept, "skipped": done.skipped, "folder": arguments.folder}
    said = f"{counted(len(done.written), 'skill')} written to {arguments.folder}, {done.kept} were there as they are"
    out.report(data, "\n".join([printable(said), *_listed(done.skipped)]))
    return 1 if done.skipped else 0


async def _import(memory: MemoryFacade, arguments: argparse.Namespace, out: Output) -> int:
    try:
        done = await import_skills(memory, arguments.user, arguments.where, dry_run=arguments.dry_run)
    except ValueError as error:
        raise MemoryCommandError(f"{arguments.where}: {error}; nothing was imported") from error
    data = {
        "dry_run": arguments.dry_run,
        "added": [skill.use_when for skill in done.added],
        "kept": done.kept,
        "skipped": done.skipped,
        "cut": done.cut,
    }
    would = "would be " if arguments.dry_run else ""
    cut = [printable(f"  only its beginning is taken: {place}") for place in done.cut]
    said = f"{counted(len(done.added), 'skill')} {would}added, on probation, {done.kept} were there already"
    out.report(data, "\n".join([said, *cut, *_listed(done.skipped)]))
    return 1 if done.skipped else 0


def _listed(skipped: Mapping[str, str]) -> Sequence[str]:
    return [printable(f"  skipped: {place}: {reason}") for place, reason in skipped.items()]
