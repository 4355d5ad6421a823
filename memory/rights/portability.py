"""A user's memory as a file: JSON Lines that name no user, and that come back as they went.

The first line says what the file is; each other line is one record: {"in": scope, "record": {...}}. The threads
themselves are not in it; what was said in them is.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory.merging.speakers import speaker_changes
from react_mem.memory.model.changes import Change, put
from react_mem.memory.model.records import Message, Record
from react_mem.memory.scopes.scope import checked
from react_mem.memory.store.owned import in_pages
from react_mem.memory.store.transactions import transact

VERSION = 1
_HEADER = {"format": "react-mem memory", "version": VERSION}

_BATCH = 1_000
"""Records of one write: LangGraph's own PostgreSQL store takes 65,535 parameters at most, six a record."""


_Line: TypeAlias = tuple[Record, dict[str, Any]]
"""A record of an export, and how it stands there."""


@dataclass(frozen=True)
class ImportReport:
    """Result of an import.

    Args:
        added: Records that are new.
        kept: Records that were there already and stay as they are.
    """

    added: int
    kept: int


async def export_user(store: BaseStore, user_id: str) -> AsyncIterator[str]:
    """Yield everything that is remembered about a user, a JSON object a line, without line ends.

    The lines are in the order of their scopes and ids. Of a large memory a part is held at a time: what is written
    meanwhile may be among them or not, all else is.

    Args:
        store: The store.
        user_id: The owner.
    """
    async for lines in exported(store, user_id):
        for line in lines:
            yield line


async def exported(store: BaseStore, user_id: str) -> AsyncIterator[Sequence[str]]:
    """Yield the lines of `export_user`, some hundred at a time."""
    yield [_line(_HEADER)]
    async for items in in_pages(store, user_id):
        yield await asyncio.to_thread(_lines, items)


async def import_user(store: BaseStore, user_id: str, lines: Iterable[str] | AsyncIterable[str]) -> ImportReport:
    """Bring an export back, for the same user or for another one.

    Nothing is overwritten: a record that is there already may be newer than the export. Whatever is added is marked as
    imported: it is remembered as what a file says, and changes nothing that the user said. An import that was
    interrupted can be repeated. The conversations that an export names count as the user's own afterwards, so do not
    import what a stranger made for somebody else.

    Args:
        store: The store.
        user_id: The owner of what is imported.
        lines: What `export_user` yielded.

    Returns:
        How many records were added.

    Raises:
        ValueError: If a line is not one of an export; the message names it, and nothing has been imported.
    """
    given = [line async for line in lines] if isinstance(lines, AsyncIterable) else lines
    numbered = [(number, line) for number, line in enumerate(given, start=1) if line.strip()]
    if not numbered or _object(*numbered[0]) != _HEADER:
        raise ValueError(f"line 1: is not the first line of an export, {_line(_HEADER)}")
    records = [_record(number, line) for number, line in numbered[1:]]
    added = 0
    for start in range(0, len(records), _BATCH):
        added += await _add(store, user_id, records[start : start + _BATCH])
    return ImportReport(added, len(records) - added)


async def _add(store: BaseStore, user_id: str, lines: Sequence[_Line]) -> int:
    writes = [
        # as it was exported, not as this version would write it, but for who vouches for it
        put(user_id, record)._replace(value=record.as_imported({**value, "kind": record.kind}))
        for record, value in lines
    ]

    async def step() -> tuple[int, list[Change]]:
        found = await store.abatch([GetOp(write.namespace, write.key) for write in writes])
        changes = {(write.namespace, write.key): write for write, known in zip(writes, found, strict=True) if not known}
        messages = [record for record, _ in lines if isinstance(record, Message)]
        return len(changes), [*changes.values(), *speaker_changes(store, user_id, messages)]

    return await transact(store, user_id, step)


def _lines(items: Iterable[Item]) -> list[str]:
    return [_line({"in": item.namespace[2], "record": item.value}) for item in items]


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _object(number: int, line: str) -> dict[str, Any]:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    try:
        value = json.loads(line, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"line {number}: is not JSON ({error}): {line.strip()[:60]!r}") from None
    if not isinstance(value, dict):
        raise ValueError(f"line {number}: is not a JSON object: {line.strip()[:60]!r}")
    return value


def _record(number: int, line: str) -> _Line:
    value = _object(number, line)
    if value.keys() != {"in", "record"} or not isinstance(value["record"], dict):
        raise ValueError(f'line {number}: must be {{"in": scope, "record": {{...}}}}, got {line.strip()[:60]!r}')
    place, data = value["in"], value["record"]
    try:
        return checked(place, data), data
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from None
