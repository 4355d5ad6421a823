"""Entry of the imports: open the source of a system, or an export of this one, and import it."""

from __future__ import annotations

import asyncio
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from react_mem.integrations.importers.as_records import (
    BATCH,
    Entries,
    Entry,
    ForeignEntry,
    ForeignSource,
    ImportOutcome,
    ImportOwners,
    NothingToImportError,
    Told,
    nobody_listens,
    why_no_owner,
)
from react_mem.integrations.importers.chat_exports import chatgpt_entries, claude_entries
from react_mem.integrations.importers.import_files import ImportFile, text_stream
from react_mem.integrations.importers.importer import import_from
from react_mem.integrations.importers.langgraph_items import LangGraphItems
from react_mem.integrations.importers.memory_files import jsonl_entries, markdown_entries, mem0_entries, zep_entries
from react_mem.memory import MemoryFacade
from react_mem.memory.records import checked, exported_lines, is_header

# Readers of the systems with files: from a file to its entries
_READERS: Mapping[str, Callable[[ImportFile], Iterator[Entry]]] = {
    "mem0": mem0_entries,
    "zep": zep_entries,
    "chatgpt": chatgpt_entries,
    "claude": claude_entries,
    "jsonl": jsonl_entries,
    "markdown": markdown_entries,
}

_PERSONAL = ("chatgpt", "claude", "markdown")  # Systems with exports of one person
IMPORTED_SYSTEMS = (*_READERS, LangGraphItems.name)  # Names of the systems with an importer
_OWN = ("jsonl", "markdown")  # Formats of an export of this system
_HEAD = 20  # First lines of a file, among which an export of this system has its header
_HEAD_ENTRIES = 200  # Entries that are tried to recognise another system's file
_SHORT = 1_000  # Characters of a header line, at most
_REPEATED = "says something else under the id of a record before it, which counts; give each record an id of its own"

_TEXT = re.compile(r"\.(jsonl?|md|markdown|txt)$", re.IGNORECASE)


@dataclass(frozen=True)
class FileSource:
    """Entries of a file, read in a thread, so that the event loop never waits for disk or parser."""

    name: str
    file: ImportFile

    @property
    def personal(self) -> bool:
        """True for the export of one person."""
        return self.name in _PERSONAL

    async def batches(self) -> AsyncIterator[Entries]:
        """Yield the entries of the file, in batches; ValueError names place, cause and cure."""
        entries = _READERS[self.name](self.file)
        while batch := await asyncio.to_thread(self._next, entries):
            yield batch

    def _next(self, entries: Iterator[Entry]) -> Entries:
        try:
            return list(islice(entries, BATCH))
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise ValueError(f"{self.file.name}: the archive is damaged ({error}); download it again") from None
        except OSError as error:
            raise ValueError(f"{self.file.name} cannot be read: {error.strerror or error}") from None


@checked()
async def import_memories(
    memory: MemoryFacade,
    system: str,
    where: str,
    owners: ImportOwners | str,
    *,
    prefix: tuple[str, ...] = (),
    restore: bool = False,
    dry_run: bool = False,
    read_by: str = "",
    told: Told = nobody_listens,
) -> ImportOutcome:
    """Import the memories of another system, or an export of this one.

        await import_memories(memory, "mem0", "memories.json", "ann")

    Args:
        memory: The memory to import into.
        system: `mem0`, `langmem`, `zep`, `chatgpt`, `claude`, `jsonl` or `markdown`.
        where: The file, folder or archive; for `langmem` the address of the PostgreSQL database.
        owners: The user, or a choice where the source names several owners.
        prefix: For `langmem`, the first labels of the namespaces; the next label is the owner, and the last one, unless
            `{user}` stands in the prefix for the owner.
        restore: True for a backup of your own: the origins of its memories are trusted.
        dry_run: Count and write nothing.
        read_by: The agent that extracts facts from imported conversations; empty for none.
        told: Called with the entries done and the total.

    Returns:
        The counts of all entries by what became of them.

    Raises:
        ValueError: If the system is unknown, the source cannot be read to its end, or its owners do not fit: nothing is
            imported, and the message names cause and cure.
    """
    chosen = ImportOwners(user=owners) if isinstance(owners, str) else owners
    if system == LangGraphItems.name:
        source: ForeignSource = LangGraphItems(where, prefix)
    elif system in _READERS:
        file = await asyncio.to_thread(ImportFile, where)
        if system in _OWN and await asyncio.to_thread(_is_own, file):
            return await _brought_back(memory, file, chosen.of(""), restore=restore, dry_run=dry_run, told=told)
        source = FileSource(system, file)
    else:
        raise ValueError(f"there is no import from {system!r}; there are {', '.join(IMPORTED_SYSTEMS)}")
    if restore:
        raise ValueError("it is no export of this system, and only one can be restored; import it as what a file says")
    try:
        return await import_from(memory, source, chosen, dry_run=dry_run, read_by=read_by, told=told)
    except NothingToImportError as error:
        if isinstance(source, FileSource) and (fitting := await asyncio.to_thread(_fitting, source)):
            raise NothingToImportError(f"{error}; it looks like what --from {fitting} imports") from None
        raise


def _fitting(tried: FileSource) -> str:
    """Return the system that can read the beginning of a file that another reader refused; empty for none."""
    if _is_own(tried.file):
        return "markdown" if any(map(is_header, exported_lines(_head(tried.file)))) else "jsonl"
    for name, read in _READERS.items():
        if name == tried.name:
            continue
        with suppress(ValueError):
            if any(isinstance(one, ForeignEntry) for one in islice(read(tried.file), _HEAD_ENTRIES)):
                return name
    return ""


async def _brought_back(
    memory: MemoryFacade, file: ImportFile, user_id: str, *, restore: bool, dry_run: bool, told: Told
) -> ImportOutcome:
    """Restore an export of this system, which names no owner."""
    if why_no_owner(user_id):
        raise ValueError("an export names nobody: say whose memory it becomes (--user)")
    is_whole = is_header((await asyncio.to_thread(_head, file))[0])
    lines = await asyncio.to_thread(lambda: list(_lines(file) if is_whole else exported_lines(_lines(file))))
    report = await memory.import_user(user_id, lines, restore=restore, dry_run=dry_run, told=told)
    added, known = report.added - report.own_added, report.kept - report.own_kept
    outcome = ImportOutcome(dry_run, Counter({user_id: added}), Counter({user_id: known}), own=report.own_added)
    for line in report.repeated:
        outcome.skip(f"line {line}", _REPEATED)
    return outcome


def _is_own(file: ImportFile) -> bool:
    head = _head(file)
    return any(map(is_header, head[:1])) or any(map(is_header, exported_lines(head)))


def _head(file: ImportFile) -> list[str]:
    """Return the first short lines of a file that are not blank."""
    for name, stream in file.parts(_TEXT):
        text = text_stream(stream)
        try:
            return [line.strip() for _ in range(_HEAD) if (line := text.readline(_SHORT)).strip()]
        except UnicodeDecodeError as error:
            raise _not_text(name, error) from None
    return []


def _lines(file: ImportFile) -> Iterator[str]:
    for name, stream in file.parts(_TEXT):
        try:
            # not by str.splitlines, which cuts at more than line ends
            yield from (line.rstrip("\r\n") for line in text_stream(stream))
        except UnicodeDecodeError as error:
            raise _not_text(name, error) from None


def _not_text(name: str, error: UnicodeDecodeError) -> ValueError:
    return ValueError(f"{name}: is not UTF-8 ({error.reason}); save it as UTF-8")
