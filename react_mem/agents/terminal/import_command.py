"""`react-mem import`, `skills` and `mcp`: imports from other systems and exports, skill files, an MCP server."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.util
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from react_mem.agents.config import AgentConfig
from react_mem.agents.terminal.output import Terminal, counted, printable
from react_mem.agents.terminal.progress import Progress
from react_mem.errors import MemoryCommandError
from react_mem.installation import pip_install
from react_mem.integrations import ImportOutcome, ImportOwners, export_skills, import_memories, import_skills
from react_mem.integrations.importers.import_files import STANDARD_INPUT
from react_mem.integrations.keeping_open import KeptOpen
from react_mem.logged_in import user_name
from react_mem.memory import MemoryFacade, StorageSettings
from react_mem.memory.records import AuditActor, AuditReason, acting
from react_mem.memory.runtime import open_storage

_OWNERS = 10
"""Owners that are listed; --json has all of them."""


async def run_import(
    arguments: argparse.Namespace, config: AgentConfig, settings: StorageSettings, console: Terminal
) -> int:
    """Import memories; return the exit code, 1 if everything was skipped.

    Raises `MemoryCommandError` if the source cannot be read or is empty; then nothing is imported.
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
                told = str(error) if arguments.system == "langmem" else _placed(arguments.where, str(error))
                raise MemoryCommandError(f"{told}; nothing was imported") from error
    console.report(outcome.to_data(), _in_words(outcome, arguments.user or ""))
    return 1 if outcome.is_nothing else 0


def _placed(where: str, message: str) -> str:
    """Return a message that names the file once, as the user did."""
    name = STANDARD_INPUT if where == "-" else Path(where).name
    rest = message.removeprefix(name)
    if rest != message and rest[:1] in {":", ",", " "}:
        return f"{name if where == '-' else where}{rest}"
    return f"{name if where == '-' else where}: {message}"


def _in_words(outcome: ImportOutcome, user_id: str) -> str:
    """Return an import's outcome for a reader; `user_id` is the user who was named as owner of everything."""
    added, updated, same = outcome.added.total(), outcome.updated.total(), outcome.same.total()
    known = outcome.known.total() - same
    kinds = ", ".join(counted(count, kind) for kind, count in sorted(outcome.kinds.items()) if count)
    would = "would be " if outcome.dry_run else ""
    says = "says" if same == 1 else "say"
    said = [
        f"{counted(added, 'memory', 'memories')} {would}added{f' ({kinds})' if kinds else ''}",
        *([f"{updated} {would}updated to what their source says by now"] if updated else []),
        *([f"{same} {says} the same as another entry or as what is remembered"] if same else []),
        *([f"{known} {'was' if known == 1 else 'were'} there already"] if known or not same else []),
        *([f"and {counted(outcome.own, 'record')} that memory keeps for itself"] if outcome.own else []),
    ]
    lines = ["all of it was skipped"] if outcome.is_nothing else []
    lines.append(", ".join(said))
    owners = outcome.owners
    for owner in owners[:_OWNERS] if owners != [user_id] else []:
        renewed = f"{outcome.updated[owner]} updated, " if updated else ""
        alike = f"{outcome.same[owner]} the same as another or as what is remembered, " if same else ""
        there = f"{outcome.known[owner] - outcome.same[owner]} there already"
        lines.append(f"  {printable(owner)}: {outcome.added[owner]} added, {renewed}{alike}{there}")
    if len(owners) > _OWNERS:
        lines.append(f"  and {len(owners) - _OWNERS} more owners; --json names them")
    lines += map(printable, outcome.skipped_in_words())
    if outcome.undated:
        they_give = "gives" if outcome.undated == 1 else "give"
        lines.append(
            f"{outcome.undated} {they_give} a time that cannot be: dated as what stands beside that has one, or now"
        )
    if outcome.unnoted:
        lines.append(outcome.unnoted_in_words())
    if outcome.to_read:
        turns = counted(outcome.to_read, "turn")
        lines.append(f"{turns} {would}queued: facts are drawn from what was said when the agent's worker runs")
    elif outcome.kinds["message"]:
        lines.append("what was said is found; no facts were drawn from it (--read has the agent's worker do so)")
    return "\n".join(lines)


# `react-mem skills`: a user's skills as `SKILL.md` files, out and in.


async def run_skills(
    arguments: argparse.Namespace, config: AgentConfig, settings: StorageSettings, console: Terminal
) -> int:
    """Export or import skills; return the exit code, 1 where one was skipped.

    Raises `MemoryCommandError` if the file or folder cannot be read or written at all.
    """
    async with open_storage(settings) as storage:
        memory = MemoryFacade(storage.memory, config.memory, checkpointer=storage.checkpointer)
        with acting(AuditActor.OPERATOR, AuditReason.REQUEST):
            carry_out = _export if arguments.verb == "export" else _import
            return await carry_out(memory, arguments, console)


async def _export(memory: MemoryFacade, arguments: argparse.Namespace, console: Terminal) -> int:
    try:
        done = await export_skills(memory, arguments.user, arguments.folder)
    except ValueError as error:
        raise MemoryCommandError(str(error)) from error
    data = {"written": done.written, "kept": done.kept, "skipped": done.skipped, "folder": arguments.folder}
    said = f"{counted(len(done.written), 'skill')} written to {arguments.folder}, {done.kept} were there as they are"
    console.report(data, "\n".join([printable(said), *_listed(done.skipped)]))
    return 1 if done.skipped else 0


async def _import(memory: MemoryFacade, arguments: argparse.Namespace, console: Terminal) -> int:
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
    console.report(data, "\n".join([said, *cut, *_listed(done.skipped)]))
    return 1 if done.skipped else 0


def _listed(skipped: Mapping[str, str]) -> Sequence[str]:
    return [printable(f"  skipped: {place}: {reason}") for place, reason in skipped.items()]


# `react-mem mcp`: the memory of one user, for a client that starts this process and talks to it over stdio.


async def run_mcp(
    arguments: argparse.Namespace, config: AgentConfig, settings: StorageSettings, console: Terminal
) -> int:
    """Serve an MCP client until it closes our input, or the process is told to stop; return the exit code.

    Raises `MemoryCommandError` if the protocol is not installed.
    """
    if importlib.util.find_spec("mcp") is None:
        raise MemoryCommandError(f"the Model Context Protocol is an extra: {pip_install('mcp')}")
    # here, since not everybody has it
    from react_mem.integrations.mcp_server.mcp_results import ClientUser, calling
    from react_mem.integrations.mcp_server.mcp_tools import memory_server

    @contextlib.asynccontextmanager
    async def opening() -> AsyncIterator[MemoryFacade]:
        async with open_storage(settings) as storage:
            yield MemoryFacade(storage.memory, config.memory, checkpointer=storage.checkpointer)

    kept = KeptOpen(opening)
    kept.begin()
    stopping: list[asyncio.Task[None]] = []
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # on Windows Ctrl-C cancels us
            loop.add_signal_handler(name, lambda: stopping.append(loop.create_task(_leave(kept))))
    try:
        with calling(ClientUser(arguments.user, config, kept.opened)):
            await memory_server().run_stdio_async()
    finally:
        await kept.close()
    return 0


async def _leave(kept: KeptOpen[MemoryFacade]) -> None:
    """End the process: its thread for input cannot be interrupted."""
    await kept.close()
    os._exit(0)
