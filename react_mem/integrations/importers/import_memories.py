"""Entry of the imports: open the source of a system, or an export of this one, and import it."""

from __future__ import annotations

import asyncio
import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

import psycopg
from langgraph.store.base import BaseStore, Item
from langgraph.store.postgres.aio import AsyncPostgresStore

from react_mem.integrations.importers import as_records
from react_mem.integrations.importers.chat_exports import chatgpt_entries, claude_entries
from react_mem.integrations.importers.import_files import ImportFile, text_lines, text_of, written_at
from react_mem.integrations.importers.importer import import_from
from react_mem.integrations.importers.memory_files import jsonl_entries, markdown_entries, mem0_entries, zep_entries
from react_mem.memory import MemoryFacade
from react_mem.memory.records import checked, exported_lines, is_header, place_of, read_all

# Items of any LangGraph store, such as LangMem's memories, read with LangGraph's own PostgreSQL store.

_TEXTS = ("content", "text", "memory", "fact")
_MAX_CONTENT = 1_000_000
_OWNERS_PLACE = re.compile(r"\{\w*\}")
_LOOKED_AT = 1_000  # Namespaces that are listed to suggest a prefix
_SHOWN = 8


class LangGraphItems:
    """Items of a store, or of the database at an address, below a prefix of namespaces, which marks the owner."""

    name = "langmem"
    personal = False

    def __init__(self, where: BaseStore | str, prefix: tuple[str, ...] = ()) -> None:
        places = [place for place, label in enumerate(prefix) if _OWNERS_PLACE.fullmatch(label)]
        self._where = where
        self._prefix = prefix
        self._above = prefix[: places[0]] if places else prefix
        self._below = prefix[places[0] + 1 :] if places else ()
        self._is_placed = bool(places)

    async def batches(self) -> AsyncIterator[as_records.Entries]:
        """Yield the items, a page at a time; ValueError without such a store, or if the prefix identifies no owners."""
        found, depth = False, len(self._above) + 1
        try:
            if isinstance(self._where, str):
                # refused before it connects
                place_of(self._where, "the address")
                opening: Any = AsyncPostgresStore.from_conn_string(self._where)
            else:
                opening = nullcontext(self._where)
            async with opening as store:
                if not self._prefix:
                    raise ValueError(f"say which label of the namespaces is the owner's: {await _choices(store)}")
                async for page in read_all(store, self._above, page=as_records.BATCH):
                    meant = [item for item in page if item.namespace[depth:][: len(self._below)] == self._below]
                    deep = (one.namespace for one in meant if not self._is_placed and len(one.namespace) > depth)
                    if deeper := next(deep, None):
                        raise ValueError(
                            f"whose its memories are cannot be told: {'.'.join(deeper)!r:.200} goes on behind the "
                            f"label {deeper[len(self._above)]!r:.60}, which would be the owner; {await _choices(store)}"
                        )
                    found = found or bool(meant)
                    yield [self._entry(item) for item in meant]
                if not found:
                    raise ValueError(f"has nothing below {'.'.join(self._prefix)!r:.200}; {await _choices(store)}")
        except psycopg.errors.UndefinedTable:
            raise ValueError(
                "the database has no LangGraph store (no table `store` where it is looked for); name the schema in the "
                "address, as ?options=-csearch_path%3Dname"
            ) from None
        except psycopg.Error as error:
            # its text may name the address, with the password
            raise ValueError(f"the database cannot be read ({type(error).__name__}); check its address") from None

    def _entry(self, item: Item) -> as_records.ForeignEntry | as_records.UnusableEntry:
        rest = item.namespace[len(self._above) :]
        at, misdated = written_at(item.created_at.isoformat())
        said: dict[str, Any] = {
            "id": "/".join([*item.namespace, item.key]),
            "owner": rest[0] if rest else "",
            "at": at,
            "misdated": misdated,
            "updated_at": item.updated_at,
            "notes": {"namespace": list(item.namespace)},
        }
        return as_records.ForeignEntry(**_told(item.value), **said)


async def _choices(store: BaseStore) -> str:
    namespaces = await store.alist_namespaces(limit=_LOOKED_AT)
    if not namespaces:
        return "the store is empty"
    below = Counter(namespace[:-1] or namespace for namespace in namespaces)
    shown = [f"{'.'.join(labels)!r:.100} ({count})" for labels, count in below.most_common(_SHOWN)]
    more = f" and {len(below) - _SHOWN} more" if len(below) > _SHOWN else ""
    return f"{_HOW_TO_SAY}. There are namespaces below {', '.join(shown)}{more}"


_HOW_TO_SAY = (
    "--prefix names the labels before the owner's, as in --prefix memories; where more follow behind it, {user} stands "
    "in its place, as in --prefix 'memories.{user}'"
)


def text_in(value: Mapping[str, Any]) -> str:
    """Return the text of an item in any known form; of another one its fields as JSON."""
    return str(_told(value)["text"])


def _told(value: Mapping[str, Any]) -> dict[str, Any]:
    kind, content = text_of(value.get("kind")), value.get("content", value)
    if not isinstance(content, Mapping):
        return {"text": text_of(content)}
    if text_of(content.get("observation")):
        told = {name: text_of(content.get(name)) for name in ("observation", "thoughts", "action", "result")}
        steps = tuple(filter(None, [told["thoughts"], told["action"]]))
        return {"text": told["observation"], "kind": "episode", "steps": steps, "outcome": told["result"]}
    triple = [text_of(content.get(name)) for name in ("subject", "predicate", "object")]
    if all(triple):
        return {"text": " ".join(triple), "about": triple[0]}
    text = next((text for name in _TEXTS if (text := text_of(content.get(name))).strip()), "")
    if not text and content:
        fields = json.dumps(dict(content), ensure_ascii=False, indent=1, default=str)[:_MAX_CONTENT]
        return {"text": fields, "kind": "document", "title": kind}
    return {"text": text}


# Readers of the systems with files: from a file to its entries
_READERS: Mapping[str, Callable[[ImportFile], Iterator[as_records.Entry]]] = {
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

    async def batches(self) -> AsyncIterator[as_records.Entries]:
        """Yield the entries of the file, in batches; ValueError names place, cause and cure."""
        entries = _READERS[self.name](self.file)
        while batch := await asyncio.to_thread(self._next, entries):
            yield batch

    def _next(self, entries: Iterator[as_records.Entry]) -> as_records.Entries:
        try:
            return list(islice(entries, as_records.BATCH))
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise ValueError(f"{self.file.name}: the archive is damaged ({error}); download it again") from None
        except OSError as error:
            raise ValueError(f"{self.file.name} cannot be read: {error.strerror or error}") from None


@checked()
async def import_memories(
    memory: MemoryFacade,
    system: str,
    where: str,
    owners: as_records.ImportOwners | str,
    *,
    prefix: tuple[str, ...] = (),
    restore: bool = False,
    dry_run: bool = False,
    read_by: str = "",
    told: as_records.Told = as_records.nobody_listens,
) -> as_records.ImportOutcome:
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
    chosen = as_records.ImportOwners(user=owners) if isinstance(owners, str) else owners
    if system == LangGraphItems.name:
        source: as_records.ForeignSource = LangGraphItems(where, prefix)
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
    except as_records.NothingToImportError as error:
        if isinstance(source, FileSource) and (fitting := await asyncio.to_thread(_fitting, source)):
            raise as_records.NothingToImportError(f"{error}; it looks like what --from {fitting} imports") from None
        raise


def _fitting(tried: FileSource) -> str:
    """Return the system that can read the beginning of a file that another reader refused; empty for none."""
    if _is_own(tried.file):
        return "markdown" if any(map(is_header, exported_lines(_head(tried.file)))) else "jsonl"
    for name, read in _READERS.items():
        if name == tried.name:
            continue
        with suppress(ValueError):
            if any(isinstance(one, as_records.ForeignEntry) for one in islice(read(tried.file), _HEAD_ENTRIES)):
                return name
    return ""


async def _brought_back(
    memory: MemoryFacade, file: ImportFile, user_id: str, *, restore: bool, dry_run: bool, told: as_records.Told
) -> as_records.ImportOutcome:
    """Restore an export of this system, which names no owner."""
    if as_records.why_no_owner(user_id):
        raise ValueError("an export names nobody: say whose memory it becomes (--user)")
    is_whole = is_header((await asyncio.to_thread(_head, file))[0])
    lines = await asyncio.to_thread(lambda: list(_lines(file) if is_whole else exported_lines(_lines(file))))
    report = await memory.import_user(user_id, lines, restore=restore, dry_run=dry_run, told=told)
    added, known = report.added - report.own_added, report.kept - report.own_kept
    counts = Counter({user_id: added}), Counter({user_id: known})
    outcome = as_records.ImportOutcome(dry_run, *counts, own=report.own_added)
    for line in report.repeated:
        outcome.skip(f"line {line}", _REPEATED)
    return outcome


def _is_own(file: ImportFile) -> bool:
    head = _head(file)
    return any(map(is_header, head[:1])) or any(map(is_header, exported_lines(head)))


def _head(file: ImportFile) -> list[str]:
    """Return the first short lines of a file that are not blank."""
    for name, stream in file.parts(_TEXT):
        return [line.strip() for line in islice(text_lines(stream, name, _SHORT), _HEAD) if line.strip()]
    return []


def _lines(file: ImportFile) -> Iterator[str]:
    for name, stream in file.parts(_TEXT):
        yield from (line.rstrip("\r\n") for line in text_lines(stream, name))
