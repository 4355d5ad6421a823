"""`react-mem audit`: who did what with whose memory, and whether the log of it is whole."""

from __future__ import annotations

import argparse
import json
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from react_mem.agents.terminal.output import Output, counted
from react_mem.agents.terminal.progress import Progress
from react_mem.errors import MemoryCommandError
from react_mem.memory import StorageSettings
from react_mem.memory.runtime import AuditHead, AuditLog, MemoryStore, encode, open_storage


async def run_audit(arguments: argparse.Namespace, settings: StorageSettings, console: Console) -> int:
    """Print the audit log, the oldest entry first, or verify it.

    Args:
        arguments: The command's.
        settings: The database.
        console: Where to draw.

    Returns:
        The exit code.

    Raises:
        AuditBroken: If the log is not as it was written.
        MemoryCommandError: If the known end is none.
        StorageError: If the database cannot be opened.
    """
    known, after = _head(arguments.head), _head(arguments.after)
    if known is not None and after is not None and known.seq < after.seq:
        raise MemoryCommandError("--head is before --after: what comes before --after is not looked at")
    if not settings.audit:
        note = Text("MEMORY_AUDIT is off: nothing is recorded now; what there is was recorded while it was on")
        Console(stderr=True, highlight=False).print(note, soft_wrap=True)
    # it is read whether or not anything is recorded at present
    settings = settings.model_copy(update={"audit": True})
    if arguments.verb == "verify":
        head = await _verified(settings, known, after, quiet=arguments.quiet or arguments.json)
        told = f"{counted(head.seq, 'entry', 'entries')}, nothing changed; the end is {head.seq}:{head.hash}"
        end = f"{head.seq}:{head.hash}" if head.seq else None
        Output(console, as_json=arguments.json).report(
            {"entries": head.seq, "end": end},
            told if head.seq else "the audit log is empty: nothing has been recorded",
        )
        return 0
    owner = encode(arguments.user) if arguments.user else None
    is_any = False
    async with open_storage(settings) as storage:
        async for entry in _entries(_log(storage.store), arguments.since, owner):
            is_any = True
            line = json.dumps(entry) if arguments.json else "  ".join(map(str, entry.values()))
            console.print(Text(line), soft_wrap=True)
    if not is_any and not arguments.json:
        console.print(Text("nothing", style="dim"))
    return 0


async def _verified(
    settings: StorageSettings, known: AuditHead | None, after: AuditHead | None, *, quiet: bool
) -> AuditHead:
    with Progress("Verifying", "entries", quiet=quiet, go_on="The same command begins again.") as progress:

        def report(verified: AuditHead, total: int) -> None:
            progress(verified.seq, total)
            progress.go_on = (
                "Nothing was changed up to there; go on with: react-mem audit verify "
                f"--after {verified.seq}:{verified.hash}"
            )

        async with open_storage(settings) as storage:
            return await _log(storage.store).verify(known, after=after, report=report)


def _log(store: MemoryStore) -> AuditLog:
    assert store.audit is not None  # noqa: S101 - it was asked for
    return store.audit


async def _entries(audit: AuditLog, since: datetime | None, owner: str | None) -> AsyncIterator[dict[str, Any]]:
    async for seq, entry in audit.entries(since=since, owner=owner):
        yield {"seq": seq, **entry._asdict(), "at": entry.at.isoformat(timespec="seconds")}


def _head(text: str | None) -> AuditHead | None:
    if text is None:
        return None
    seq, _, digest = text.partition(":")
    try:
        return AuditHead(int(seq), bytes.fromhex(digest).hex())
    except ValueError:
        raise MemoryCommandError(
            f"{text!r} is no end of an audit log: give NUMBER:HASH, as `verify` prints it"
        ) from None
