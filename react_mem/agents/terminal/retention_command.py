"""`react-mem retention`: what the agents keep no longer, removed now or only counted."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from rich.console import Console

from react_mem.agents.config import available_agents, load_agent_config
from react_mem.agents.terminal.output import Output
from react_mem.agents.terminal.progress import Progress
from react_mem.memory import StorageSettings
from react_mem.memory.records import AuditActor, AuditReason, acting
from react_mem.memory.runtime import RetentionSettings, in_words, open_storage, retain_all

_COUNTS = ("users", "rewritten", "conversations", "threads", "held")


async def run_retention(arguments: argparse.Namespace, settings: StorageSettings, console: Console) -> int:
    """Remove what is older or more than the agents keep, or say what would be removed.

    Args:
        arguments: The command's.
        settings: The database.
        console: Where to draw.

    Returns:
        The exit code: 1 if something could not be done.

    Raises:
        AgentConfigError: If the config of an agent is not valid.
        StorageError: If the database cannot be opened.
    """
    policies = await asyncio.to_thread(_policies)
    dry_run: bool = arguments.dry_run
    output = Output(console, as_json=arguments.json)
    if not policies:
        nothing: dict[str, Any] = dict.fromkeys(_COUNTS, 0)
        output.report(
            {"dry_run": dry_run, "agents": [], **nothing, "removed": {}, "problems": []},
            "no agent has a `retention` in its `memory`: everything is kept",
        )
        return 0
    with Progress("Counting" if dry_run else "Removing", "users", quiet=arguments.quiet or arguments.json) as progress:
        async with open_storage(settings) as storage:
            with acting(AuditActor.OPERATOR, AuditReason.REQUEST):
                done = await retain_all(
                    storage.memory,
                    storage.checkpointer,
                    policies,
                    arguments.user,
                    dry_run=dry_run,
                    report=progress,
                )
    data = {
        "dry_run": dry_run,
        "agents": sorted(policies),
        **{name: getattr(done, name) for name in _COUNTS},
        "removed": dict(done.removed),
        "problems": list(done.problems),
    }
    held = f"; {done.held} are under a legal hold and stay" if done.held else ""
    verb = "would be removed" if dry_run else "removed"
    text = f"{verb}: {in_words(done.removed)}, of {done.users} users and {done.conversations} conversations{held}"
    output.report(data, "\n".join([text, *done.problems]))
    return 1 if done.problems else 0


def _policies() -> dict[str, RetentionSettings]:
    kept = {name: load_agent_config(name).memory.retention for name in available_agents()}
    return {name: settings for name, settings in kept.items() if settings.limits}
