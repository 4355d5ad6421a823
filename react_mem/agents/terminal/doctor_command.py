"""`react-mem users` and `react-mem doctor`: owners of memories, the configuration in use, and its gaps."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import warnings
from collections.abc import Mapping
from importlib.metadata import version

from rich.text import Text

from react_mem.agents.config import load_agent, with_embedding_of
from react_mem.agents.models import EXTRACTIVE, explain_model_error, load_chat_model, resolve_chat_spec
from react_mem.agents.terminal.output import Terminal, place_in_words, printable
from react_mem.errors import MemoryCommandError, ReactMemError
from react_mem.memory import StorageSettings
from react_mem.memory.runtime import has_embedded_server, limited, load_embedding_model, look_at, misspelt

_PACKAGES = ("langgraph", "langchain-core", "psycopg")
_NAMED = 10
_CHECK_SECONDS = 30.0
"""Seconds for a model to say a word: a slower one does not serve a conversation."""


def refuse_nothing(arguments: argparse.Namespace, settings: StorageSettings) -> None:
    """Refuse a reading command where there is no database yet, in place of making one. Raises `MemoryCommandError`."""
    embedded = settings.database_url is None and has_embedded_server()
    if arguments.reads and embedded and not settings.has_cluster():
        raise MemoryCommandError(
            f"nothing is remembered in {place_in_words(settings)}: there is no database yet, and none was made. Where "
            "memories are elsewhere, name the folder by REACT_MEM_DATA_DIR, or the database by DATABASE_URL."
        )


async def nothing_of(user: str, settings: StorageSettings) -> str:
    """Return the message for a user without memories: the users with some, and the place."""
    found = (await look_at(settings)).holders
    if any(one.user == user for one in found):
        return "nothing"
    there = (
        f"there are memories of {_in_words({one.user: one.count for one in found})}: name one with --user"
        if found
        else "there are no memories yet"
    )
    return f"nothing of {user} in {place_in_words(settings)}; {there}"


async def run_users(arguments: argparse.Namespace, settings: StorageSettings, console: Terminal) -> int:
    """Show the users with memories; return the exit code."""
    found = (await look_at(settings)).holders
    where = place_in_words(settings)
    rows = [(one.user, str(one.count), f"{one.latest:%Y-%m-%d %H:%M}") for one in found]
    data = [{"user": one.user, "memories": one.count, "last_written": one.latest.isoformat()} for one in found]
    code = console.table(("user", "memories", "last written"), rows, data, f"there are no memories yet in {where}")
    if rows and not arguments.json:
        console.say(f"in {where}", "dim")
    return code


async def run_doctor(arguments: argparse.Namespace, console: Terminal) -> int:
    """Show the configuration and its errors; return 1 for any. No model is asked without `--check`."""
    lines = {
        "versions": ", ".join(
            [f"react-mem {version('react-mem')}", f"Python {platform.python_version()}"]
            + [f"{name} {version(name)}" for name in _PACKAGES]
        ),
        "user": f"{arguments.user}, unless --user names another",
    }
    wrong = []
    config = None
    try:
        config = await asyncio.to_thread(load_agent, arguments.agent)
        lines["model"] = resolve_chat_spec(config.models.chat)
    except ReactMemError as error:
        wrong.append(str(error))
    try:
        with warnings.catch_warnings(action="ignore"):
            settings = StorageSettings.from_env()
        lines |= await _database(settings if config is None else with_embedding_of(config, settings))
    except (ReactMemError, ValueError) as error:
        wrong.append(str(error))
    wrong += [
        f"{name} is set, and nothing reads it: is {meant} meant?"
        for name, meant in misspelt(os.environ).items()
        if not any(text.startswith(f"{name} is set") for text in wrong)
    ]
    if arguments.check:
        wrong += await _silent(lines)
    if lines.get("model") == EXTRACTIVE:
        lines["model"] += ", built in: quotes what it remembers; set OPENAI_API_KEY or CHAT_MODEL for another"
    if arguments.json:
        console.json({**lines, "wrong": wrong})
    else:
        for label, text in [*lines.items(), *(("wrong", text) for text in wrong)]:
            line = Text(label.ljust(12), style="red" if label == "wrong" else "dim")
            console.print(line.append(" ".join(printable(text).split()), style="default"), soft_wrap=True)
    return 1 if wrong else 0


async def _database(settings: StorageSettings) -> dict[str, str]:
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
    if settings.database_url is None and not await asyncio.to_thread(settings.has_cluster):
        return told | {"memories": "none: there is no database yet, and the first that is remembered makes it"}
    server, stored, people = await look_at(settings)
    told["database"] += f", PostgreSQL {server.version.split()[0]}, pgvector {server.pgvector or 'missing'}"
    if stored is not None and stored.name:
        told["vectors"] = f"of {stored.name}, {stored.dims} dimensions"
        if settings.embedding == "auto":
            told["embedder"] = stored.name
    return told | {"memories": _in_words({one.user: one.count for one in people}) or "none yet"}


async def _silent(lines: dict[str, str]) -> list[str]:
    """Return the errors of the models, asked for one vector and one short answer."""

    async def embed(name: str) -> None:
        model = await asyncio.to_thread(load_embedding_model, name)
        await model.embeddings.aembed_query("hello")

    async def answer(name: str) -> None:
        await limited(await asyncio.to_thread(load_chat_model, name), 10).ainvoke("Say OK.")

    wrong = []
    for label, ask in (("embedder", embed), ("model", answer)):
        try:
            async with asyncio.timeout(_CHECK_SECONDS):
                await ask(lines[label])
            lines[label] += ", answers"
        except KeyError:
            # what is wrong with it is told already
            continue
        except Exception as error:  # whatever a provider's client raises
            wrong.append(explain_model_error(error, lines[label]).message)
    return wrong


def _in_words(counts: Mapping[str, int]) -> str:
    found = [f"{printable(user)} ({count})" for user, count in counts.items()]
    named = found[:_NAMED]
    return ", ".join([*named, *([f"{len(found) - _NAMED} more"] if len(found) > _NAMED else [])])
