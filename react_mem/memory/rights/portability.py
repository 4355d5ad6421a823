"""Export and import of a user's memory: JSON Lines that name no user and come back unchanged.

The first line says what the file is; each other line is one record: {"in": scope, "record": {...}}. Attachments come
last, as {"in": "attachments", "record": {"ref", "data"}} with base64 data. Threads are not exported, but their messages
are.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, TypeAlias, TypeVar

from langgraph.store.base import BaseStore, GetOp, Item

from react_mem.memory.merging.authors import speaker_changes
from react_mem.memory.merging.blocks import without_data
from react_mem.memory.model.kinds import PENDING, kind_named, kind_of
from react_mem.memory.model.namespaces import Namespace, off_loop
from react_mem.memory.model.operations import Change, put
from react_mem.memory.model.records import Message, Record, now
from react_mem.memory.model.states import PendingTurn
from react_mem.memory.rights.holds import FacadePart
from react_mem.memory.scopes.scope import checked
from react_mem.memory.store.attachments import MAX_ATTACHMENT, Attachment, attach, read_attachment, refs_in, sizes
from react_mem.memory.store.audit_log import ALL, AuditAction, note_action
from react_mem.memory.store.capabilities import in_pages
from react_mem.memory.store.room import make_room, stored_of
from react_mem.memory.store.stored_text import storable
from react_mem.memory.store.transactions import transact
from react_mem.memory.work.items import Work, put_work

VERSION = 1
_HEADER = {"format": "react-mem memory", "version": VERSION}
_ATTACHMENTS = "attachments"  # name in the place of a scope for a line with an attachment
_MAX_DATA = MAX_ATTACHMENT * 2  # characters read of an attachment's data
_Line: TypeAlias = tuple[Record, dict[str, Any]]  # record of an export, and its JSON there
_Place: TypeAlias = tuple[Namespace, str]

Told = Callable[[int, int | None], None]
"""Progress callback: called with the entries done and their total, None where unknown."""

BATCH = 200  # entries of one transaction, at most
MAX_PORTION = 50_000  # characters of one transaction, which block the event loop for some 15 ms
Part = TypeVar("Part")


def nobody_listens(_done: int, _total: int | None) -> None:
    """Ignore the progress."""


def portions(
    parts: Iterable[Part], size: Callable[[Part], int], same: Callable[[Part], object] | None = None
) -> Iterator[list[Part]]:
    """Yield batches of parts in order by their characters (`size`); a part above the limit is a batch of its own.

    No two parts of a batch have the `same` key, where there is one.

    >>> [*portions(["a" * 30_000, "b" * 30_000, "c"], len)] == [["a" * 30_000], ["b" * 30_000, "c"]]
    True
    >>> [*portions(["a", "b", "a"], len, str)]
    [['a', 'b'], ['a']]
    """
    portion: list[Part] = []
    chars = 0
    seen: set[object] = set()
    for part in parts:
        more, name = size(part), same(part) if same else None
        if portion and (len(portion) == BATCH or chars + more > MAX_PORTION or name in seen):
            yield portion
            portion, chars = [], 0
            seen.clear()
        portion.append(part)
        chars += more
        if same:
            seen.add(name)
    if portion:
        yield portion


@dataclass(frozen=True)
class ImportReport:
    """Result of an import.

    `kept` records existed already and stay unchanged; `own_added` and `own_kept` are the internal ones among both.
    `repeated` has the numbers of ignored lines: an earlier line has another record of the same id.
    """

    added: int
    kept: int
    own_added: int = 0
    own_kept: int = 0
    repeated: tuple[int, ...] = ()


class Portability(FacadePart):
    """Export and import of all memories of an owner."""

    async def export_user(self, user_id: str, told: Told = nobody_listens) -> AsyncIterator[str]:
        """Yield all memories of a user as JSON Lines, without line ends.

        The lines name no user. Importing them into an empty database marks all of it as imported; exporting and
        importing that again gives the same bytes.

        Args:
            told: Called with the number of exported records, and an estimate of all.
        """
        # to count them takes a query, which nobody pays for who does not look
        total = 0 if told is nobody_listens else (await stored_of(self.store, user_id)).memories
        told(0, total)
        done, count = -1, 0
        named: set[str] = set()
        try:
            async for lines in exported(self.store, user_id, named):
                for line in lines:
                    count += 1
                    yield line
                done += len(lines)
                told(done, max(done, total))
            total = done + len(named)
            for place, ref in enumerate(sorted(named), start=done + 1):
                told(place, total)
                pieces = await read_attachment(self.store, user_id, ref)
                if pieces is not None:
                    record = {"ref": ref, "data": "".join(pieces)}
                    count += 1
                    yield await asyncio.to_thread(_line, {"in": _ATTACHMENTS, "record": record})
        finally:
            note_action(self.store, user_id, AuditAction.EXPORT, {ALL: count})

    async def import_user(
        self,
        user_id: str,
        lines: Iterable[str] | AsyncIterable[str],
        *,
        restore: bool = False,
        dry_run: bool = False,
        told: Told = nobody_listens,
    ) -> ImportReport:
        """Import an export, for the same user or for another one; existing records stay unchanged.

        Args:
            restore: True for a backup of your own: its records keep their origins; otherwise their origin is `import`.
            told: Called with the number of finished records, and of all.

        Raises:
            ValueError: If a line is not one of an export, or the policy's quotas leave no room (`MemoryFull`); nothing
                has been imported then.
        """
        given = [line async for line in lines] if isinstance(lines, AsyncIterable) else lines
        numbered = [(number, line) for number, line in enumerate(given, start=1) if line.strip()]
        if not numbered or _object(*numbered[0]) != _HEADER:
            raise ValueError(f"line 1: is not the first line of an export, {_line(_HEADER)}")
        records: list[_Line] = []
        repeated: list[int] = []
        first: dict[tuple[str, str], dict[str, Any]] = {}
        attached: dict[str, Attachment] = {}
        for number, line in numbered[1:]:
            one = await off_loop(len(line), partial(_read, number, line))
            if isinstance(one, Attachment):
                attached[one.ref] = one
            elif first.setdefault((one[0].kind, one[0].id), one[1]) == one[1]:
                records.append(one)
            else:
                repeated.append(number)
        if not dry_run:
            pieces = [one.pieces for one in attached.values()]
            await make_room(self.store, user_id, self.policy.quotas, [*(data for _, data in records), *pieces])
            if named := {ref for _, data in records for ref in refs_in(data)}:
                there = await attach(self.store, user_id, [one for ref, one in attached.items() if ref in named])
                there |= (await sizes(self.store, user_id)).keys()
                records = [_with_what_is_there(line, there) for line in records]
        added: dict[_Place, Record] = {}
        done = 0
        for portion in portions(records, lambda line: len(line[0].text)):
            added |= await _add(self.store, user_id, portion, restore=restore, dry_run=dry_run)
            done += len(portion)
            if not dry_run:
                told(done, len(records))
        own = sum(not kind_named(record.kind).listed for record in added.values())
        if not dry_run:
            note_action(self.store, user_id, AuditAction.IMPORT, {ALL: len(added)})
        all_own = sum(not kind_named(record.kind).listed for record, _ in records)
        return ImportReport(len(added), len(records) - len(added), own, all_own - own, tuple(repeated))


async def exported(store: BaseStore, user_id: str, named: set[str] | None = None) -> AsyncIterator[Sequence[str]]:
    """Yield the lines of an export before the attachments, in portions; `named` collects their references."""
    yield [_line(_HEADER)]
    async for items in in_pages(store, user_id):
        if named is not None:
            named.update(ref for item in items for ref in refs_in(item.value))
        yield await asyncio.to_thread(_lines, items)


def is_header(line: str) -> bool:
    """Return true if a line is the first one of an export, of any version."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("format") == _HEADER["format"]


def own_records(lines: Iterable[str]) -> int:
    """Return the number of internal records among the lines of an export, without its first line."""
    entries = [entry for entry in map(json.loads, lines) if "in" in entry]
    return sum(entry["in"] == _ATTACHMENTS or not kind_of(entry["record"]).listed for entry in entries)


async def _add(
    store: BaseStore, user_id: str, lines: Sequence[_Line], *, restore: bool, dry_run: bool
) -> dict[_Place, Record]:
    """Write the records that are new, unless it is a dry run, and return them by place."""
    # as it was exported, not as this version would write it
    exported = [(record, {**value, "kind": record.kind}) for record, value in lines]
    writes = [
        put(user_id, record)._replace(value=value if restore else record.as_imported(value))
        for record, value in exported
    ]

    async def step() -> tuple[dict[_Place, Record], list[Change]]:
        found = await store.abatch([GetOp(write.namespace, write.key) for write in writes])
        added = [(write, line[0]) for write, known, line in zip(writes, found, lines, strict=True) if not known]
        new = {(write.namespace, write.key): record for write, record in added}
        if dry_run:
            return new, []
        changes = {(write.namespace, write.key): write for write, _ in added}
        messages = [record for record, _ in lines if isinstance(record, Message)]
        return new, [*changes.values(), *speaker_changes(store, user_id, messages)]

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


def _read(number: int, line: str) -> _Line | Attachment:
    value = _object(number, line)
    if value.keys() != {"in", "record"} or not isinstance(value["record"], dict):
        raise ValueError(f'line {number}: must be {{"in": scope, "record": {{...}}}}, got {line.strip()[:60]!r}')
    place, data = value["in"], value["record"]
    if place != _ATTACHMENTS:
        try:
            record = checked(place, data)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
        if storable(record.id) != record.id:
            # replaced, it could be another record's
            raise ValueError(f"line {number}: the record's id holds NUL or half a character; give it another")
        return record, data
    try:
        attachment = Attachment.of(str(data["data"])[:_MAX_DATA])
    except (KeyError, ValueError):
        raise ValueError(f"line {number}: an attachment must have its data as base64") from None
    if attachment.ref != data.get("ref") or attachment.size > MAX_ATTACHMENT:
        raise ValueError(f"line {number}: an attachment must be what its ref says, of {MAX_ATTACHMENT} bytes at most")
    return attachment


def _with_what_is_there(line: _Line, there: Collection[str]) -> _Line:
    """Return a record without references to attachments that the user does not have."""
    record, value = line
    missing = refs_in(value).difference(there)
    if not missing or not isinstance(record, Message):
        return line
    content = without_data(value["content"], missing)
    return record.model_copy(update={"content": content}), {**value, "content": content}


# Turns of imported messages, which a worker extracts from as from any pending turn.

_MAX_NOTE = 600  # characters of a note, as of any pending turn
_CONTEXT = 2  # messages before a turn, likewise


def turns_to_read(user_id: str, agent_id: str, messages: Sequence[Message]) -> list[Change]:
    """Return the writes that note turns, each from a message of the user on, for extraction by an agent's worker."""
    sessions: dict[str, list[Message]] = {}
    for message in messages:
        sessions.setdefault(message.session_id, []).append(message)
    changes: list[Change] = []
    for session_id, said in sessions.items():
        said.sort(key=lambda message: message.turn)
        starts = [place for place, message in enumerate(said) if message.role == "user"]
        for start, end in zip(starts, [*starts[1:], len(said)], strict=True):
            ids = tuple(message.id for message in said[start:end])
            note = PendingTurn(
                id=PENDING.id(*ids),
                text=said[start].text[:_MAX_NOTE],
                origin=said[start].origin,
                session_id=session_id,
                agent_id=agent_id,
                source_ids=ids,
                context_ids=tuple(message.id for message in said[max(0, start - _CONTEXT) : start]),
            )
            changes.append(put(user_id, note))
        if starts:
            due = int(now().timestamp() * 1000)
            changes.append(put_work(user_id, Work(kind="extract", agent=agent_id, session=session_id, due_at=due)))
    return changes
