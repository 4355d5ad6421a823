"""`react-mem users` and `react-mem doctor`: whose memories there are, what is used, and what is off and why."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import warnings
from importlib.metadata import version

from rich.console import Console
from rich.text import Text

from react_mem.agents.config import load_agent
from react_mem.agents.models import EXTRACTIVE, resolve_chat_spec
from react_mem.agents.terminal.column import printable
from react_mem.agents.terminal.console import place_in_words
from react_mem.agents.terminal.holders import in_words
from react_mem.agents.terminal.output import Output
from react_mem.errors import ReactMemError
from react_mem.memory import StorageSettings
from react_mem.memory.runtime import connected, has_cluster, holders, misspelt, statistics

_PACKAGES = ("langgraph", "langchain-core", "psycopg")


async def run_users(arguments: argparse.Namespace, settings: StorageSettings, console: Console) -> int:
    """Show the users of whom something is remembered.

    Args:
        arguments: The command's.
        settings: The database.
        console: Where to draw.

    Returns:
        The exit code.

    Raises:
        StorageError: If the database cannot be opened.
    """
    async with connected(settings) as conn:
        found = await holders(conn)
    where = place_in_words(settings)
    rows = [(one.user, str(one.count), f"{one.latest:%Y-%m-%d %H:%M}") for one in found]
    data = [{"user": one.user, "memories": one.count, "last_written": one.latest.isoformat()} for one in found]
    empty = f"there are no memories yet in {where}"
    code = Output(console, as_json=arguments.json).table(("user", "memories", "last written"), rows, data, empty)
    if rows and not arguments.json:
        console.print(Text(f"in {where}", style="dim"), soft_wrap=True)
    return code


async def run_doctor(arguments: argparse.Namespace, console: Console) -> int:
    """Show what is used here and what is wrong. Nothing is made, and no model is asked.

    Args:
        arguments: The command's.
        console: Where to draw.

    Returns:
        The exit code: 1 if something is wrong.
    """
    lines = {
        "versions": ", ".join(
            [f"react-mem {version('react-mem')}", f"Python {platform.python_version()}"]
            + [f"{name} {version(name)}" for name in _PACKAGES]
        ),
        "user": f"{arguments.user}, unless --user names another",
    }
    wrong = []
    try:
        with warnings.catch_warnings(action="ignore"):
            settings = StorageSettings.from_env()
        lines |= await _database(settings)
    except (ReactMemError, ValueError) as error:
        wrong.append(str(error))
    wrong += [
        f"{name} is set, and nothing reads it: is {meant} meant?"
        for name, meant in misspelt(os.environ).items()
        if not any(text.startswith(f"{name} is set") for text in wrong)
    ]
    try:
        config = await asyncio.to_thread(load_agent, arguments.agent)
        lines["model"] = resolve_chat_spec(config.models.chat)
        if lines["model"] == EXTRACTIVE:
            lines["model"] += ", built in: quotes what it remembers; set OPENAI_API_KEY or CHAT_MODEL for another"
    except ReactMemError as error:
        wrong.append(str(error))
    if arguments.json:
        Output(console, as_json=True).json({**lines, "wrong": wrong})
    else:
        for label, text in [*lines.items(), *(("wrong", text) for text in wrong)]:
            line = Text(label.ljust(12), style="red" if label == "wrong" else "dim")
            console.print(line.append(" ".join(printable(text).split()), style="default"), soft_wrap=True)
    return 1 if wrong else 0


async def _database(settings: StorageSettings) -> dict[str, str]:
    """Return what is said about the database and what it holds."""
    off = {
        "encryption": await asyncio.to_thread(settings.master_key) is None and "MEMORY_ENCRYPTION_KEY is not set",
        "audit log": not settings.audit and "MEMORY_AUDIT is not 1",
        "row security": settings.row_security == "off" and "MEMORY_ROW_SECURITY=off",
    }
    told = {
        "database": place_in_words(settings),
        "embedder": settings.embedding,
        "off": "; ".join(f"{what} ({why})" for what, why in off.items() if why) or "nothing",
    }
    if settings.database_url is None and not await asyncio.to_thread(lambda: has_cluster(settings.embedded_folder())):
        return told | {"memories": "none: there is no database yet, and the first that is remembered makes it"}
    async with connected(settings) as conn:
        found, people = await statistics(conn), await holders(conn)
    server = f"PostgreSQL {found.server.version.split()[0]}, pgvector {found.server.pgvector or 'missing'}"
    if found.embedding:
        told["embedder"] += f"; the vectors are of {found.embedding.name} ({found.embedding.dims} dimensions)"
    return told | {"database": f"{told['database']}, {server}", "memories": in_words(people) or "none yet"}
