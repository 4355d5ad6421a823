"""Users with memories, and the place of those, for a command that finds none."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from react_mem.agents.terminal.column import printable
from react_mem.agents.terminal.console import place_in_words
from react_mem.errors import MemoryCommandError
from react_mem.memory import StorageSettings
from react_mem.memory.runtime import Holder, connected, has_cluster, has_embedded_server, holders

_NAMED = 10
_READING = {
    "context": None,
    "users": None,
    "retention": None,
    "maintain": None,
    "stats": None,
    "audit": None,
    "memory": {"list", "show", "threads", "search", "history", "pending", "export", "graph", "correct", "delete"}
    | {"forget"},
    "skills": {"export"},
    "hold": {"list", "lift"},
    "keys": {"status", "rotate", "seal"},
}
"""Commands, with their verbs, that do something with what is there: a database is not made for them."""


def refuse_nothing(arguments: argparse.Namespace, settings: StorageSettings) -> None:
    """Refuse a command that reads where there is no database yet, in place of making one.

    Args:
        arguments: The command's.
        settings: Which database.

    Raises:
        MemoryCommandError: If there is none; the message says where it would be.
    """
    verbs = _READING.get(arguments.command, set())
    reads = verbs is None or getattr(arguments, "verb", None) in verbs
    elsewhere = any(getattr(arguments, option, None) for option in ("url", "check", "store"))
    embedded = settings.database_url is None and has_embedded_server()
    if reads and not elsewhere and embedded and not has_cluster(settings.embedded_folder()):
        raise MemoryCommandError(
            f"nothing is remembered in {place_in_words(settings)}: there is no database yet, and none was made. Where "
            "memories are elsewhere, name the folder by REACT_MEM_DATA_DIR, or the database by DATABASE_URL."
        )


async def nothing_of(user: str, settings: StorageSettings) -> str:
    """Return what to say where nothing was found of a user: of whom there is something, and where.

    Args:
        user: The user.
        settings: Which database.
    """
    async with connected(settings) as conn:
        found = await holders(conn)
    if any(one.user == user for one in found):
        return "nothing"
    there = f"there are memories of {in_words(found)}: name one with --user" if found else "there are no memories yet"
    return f"nothing of {user} in {place_in_words(settings)}; {there}"


def in_words(found: Sequence[Holder]) -> str:
    """Return users with their numbers of memories, the first of many."""
    named = [f"{printable(one.user)} ({one.count})" for one in found[:_NAMED]]
    return ", ".join([*named, *([f"{len(found) - _NAMED} more"] if len(found) > _NAMED else [])])
