"""Importer: writes the entries of another system as memories, each once, in batches.

The source is read twice: first to refuse it as a whole, then to write each batch in one transaction with its note in
the ledger, so that a repeated import continues an interrupted one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from langgraph.store.base import BaseStore, GetOp, Item
from pydantic import ValidationError

from react_mem.errors import MemoryFull
from react_mem.integrations.importers.as_records import (
    MAX_TEXT,
    ForeignEntry,
    ForeignSource,
    ImportOutcome,
    ImportOwners,
    NothingToImportError,
    Told,
    UnusableEntry,
    as_record,
    digest_of,
    is_unnoted,
    names_shown,
    nobody_listens,
    why_no_owner,
)
from react_mem.integrations.importers.ledger import (
    BUCKET,
    KNOWN,
    EarlierImports,
    SourceUpdate,
    earlier_imports,
    entry_of,
    imported_before,
    noting,
    of_other_words,
    of_same_words,
    says_the_same,
    words_of,
)
from react_mem.memory import Fact, MemoryFacade, MemoryPolicy, Message, Origin, Record, records

# Reason for skipping a second text under one id, which would replace the first at each import, and be replaced
_REPEATED = "has the id of an earlier entry of this import, which counts, and no later date; give each an id of its own"

_NO_USERS = "is of an agent, an app or a run, and of no user; --map says whose it becomes"

_FULL = "does not fit: its owner has as much as the quotas allow; import it again when there is room"


async def import_from(
    memory: MemoryFacade,
    source: ForeignSource,
    owners: ImportOwners,
    *,
    dry_run: bool = False,
    read_by: str = "",
    told: Told = nobody_listens,
) -> ImportOutcome:
    """Import a source, each entry once; forgotten entries stay forgotten, and entries beyond the quotas are skipped.

    A newer version of an entry replaces the imported one, unless that was changed here since. The worker of the
    agent `read_by` extracts facts from the conversations at its next run. Raises ValueError if the source cannot be
    read to its end, has nothing usable, or names unmapped owners: nothing is imported.
    """
    owners, total = await checked_owners(source, owners, told)
    importing = _Importing(memory.store, source.name, memory.policy, dry_run, read_by)
    done = 0
    async for batch in source.batches():
        by_owner: dict[str, list[ForeignEntry]] = {}
        for entry in batch:
            if isinstance(entry, UnusableEntry):
                importing.outcome.skip(entry.place, entry.reason)
                continue
            user_id = owners.of(entry.owner, entry.owner_also)
            mine = entry.is_persons or owners.user or owners.mapped
            if reason := why_unfit(entry) or (why_no_owner(user_id) if mine else _NO_USERS):
                importing.outcome.skip(entry.called, reason)
                continue
            by_owner.setdefault(user_id, []).append(entry)
        for user_id, entries in by_owner.items():
            for portion in records.portions(entries, _size, importing.digest):
                await importing.write(user_id, portion)
        done += len(batch)
        told(done, max(done, total))
    outcome = importing.outcome
    for user_id, added in (outcome.added + outcome.updated).items():
        if not dry_run:
            records.note_action(memory.store, user_id, records.AuditAction.IMPORT, {"all": added})
    return outcome


def _size(entry: ForeignEntry) -> int:
    return len(entry.text) + len(entry.outcome) + sum(map(len, entry.steps))


@dataclass
class _Decided:
    """Decision about a batch of one owner's entries: records to write, by id, and counts of entries.

    `removed` are records that one of another kind replaces, `fresh` entries that are noted in the ledger for the
    first time, `replaceable` entries whose records another text would replace, with their digests.
    """

    new: dict[str, Record] = field(default_factory=dict)
    changed: dict[str, Record] = field(default_factory=dict)
    removed: list[Record] = field(default_factory=list)
    updated: int = 0
    known: int = 0
    same: int = 0
    fresh: list[ForeignEntry] = field(default_factory=list)
    unfit: list[tuple[ForeignEntry, str]] = field(default_factory=list)
    undated: int = 0
    unnoted: int = 0
    replaceable: list[tuple[str, ForeignEntry, Record]] = field(default_factory=list)


class _Importing:
    def __init__(self, store: BaseStore, source: str, policy: MemoryPolicy, dry_run: bool, read_by: str) -> None:
        self.outcome = ImportOutcome(dry_run=dry_run)
        self._store = store
        self._source = source
        self._quotas = policy.quotas
        self._read_by = read_by
        self._would_be: set[int] = set()  # hashes of records that a dry run would have written
        # hashes of the entries noted in the ledger by this import: another one of the same id was not known before
        self._noted: set[int] = set()
        self._said: dict[int, tuple[int, datetime | None]] = {}  # hash of words, and date, of each replaceable entry
        self._earlier: dict[str, EarlierImports] = {}

    def digest(self, entry: ForeignEntry) -> str:
        """Return the key of an entry in the ledger."""
        return digest_of(self._source, entry.kind, entry.conversation, entry.id)

    async def write(self, user_id: str, entries: Sequence[ForeignEntry]) -> None:
        """Write checked entries of one owner in one transaction."""

        async def step() -> tuple[tuple[_Decided, int], list[records.Change]]:
            decided, noted = await self._decide(user_id, entries)
            new = [*decided.new.values()]
            messages = [record for record in new if isinstance(record, Message)]
            work = records.turns_to_read(user_id, self._read_by, messages) if self._read_by else []
            turns = sum(message.role == "user" for message in messages) if self._read_by else 0
            if self.outcome.dry_run:
                return (decided, turns), []
            written = [*new, *decided.changed.values()]
            # history needs no more room
            more = [record for record in written if not isinstance(record, Fact) or record.current]
            await records.make_room(self._store, user_id, self._quotas, more)
            facts = [record for record in written if isinstance(record, Fact)]
            changes = [
                *(records.delete(user_id, records.kind_named(record.kind), record.id) for record in decided.removed),
                *await records.fact_changes(self._store, user_id, facts),
                *(records.put(user_id, record) for record in written if not isinstance(record, Fact)),
                *records.speaker_changes(self._store, user_id, messages),
                *work,
                *noted,
            ]
            return (decided, turns), changes

        outcome = self.outcome
        try:
            decided, turns = await records.transact(self._store, user_id, step)
        except MemoryFull:
            for entry in entries:
                outcome.skip(entry.called, _FULL)
            return
        self._noted.update(hash((user_id, self.digest(entry))) for entry in decided.fresh)
        for digest, entry, record in decided.replaceable:
            key = hash((user_id, digest))
            dates = filter(None, (self._said.get(key, (0, None))[1], entry.at))
            self._said[key] = (hash(words_of(record)), max(dates, default=None))
        if outcome.dry_run:
            self._would_be.update(hash((user_id, id_)) for id_ in (*decided.new, *decided.changed))
        if user_id in self._earlier:
            for written in (*decided.new.values(), *decided.changed.values()):
                self._earlier[user_id][digest_of(*map(str, entry_of(written)))].add((written.kind, written.id))
        outcome.added[user_id] += len(decided.new)
        outcome.updated[user_id] += decided.updated
        outcome.known[user_id] += decided.known
        outcome.same[user_id] += decided.same
        outcome.kinds.update(Counter(record.kind for record in decided.new.values()))
        outcome.undated += decided.undated
        outcome.unnoted += decided.unnoted
        outcome.to_read += turns
        for entry, reason in decided.unfit:
            outcome.skip(entry.called, reason)

    async def _decide(self, user_id: str, entries: Sequence[ForeignEntry]) -> tuple[_Decided, list[records.Change]]:
        decided = _Decided()
        made = await asyncio.to_thread(_records, self._source, entries, decided.unfit)
        digests = [self.digest(entry) for entry, _ in made]
        ledger = await imported_before(self._store, user_id, digests)
        there = await self._there(user_id, {(record.kind, record.id) for _, record in made})
        for (entry, record), digest in zip(made, digests, strict=True):
            if self._is_repeated(user_id, digest, entry, record):
                decided.unfit.append((entry, _REPEATED))
                continue
            if not isinstance(record, Fact | Message):
                decided.replaceable.append((digest, entry, record))
            before = _record(there.get(record.id))
            is_noted = digest in ledger[digest[:BUCKET]]
            if not is_noted:
                decided.fresh.append(entry)
            if is_noted:
                update = await self._update(user_id, entry, record, before)
                decided.same += update is KNOWN and hash((user_id, digest)) in self._noted
                decided.unnoted += any(one.text == record.text and is_unnoted(entry, one) for one in update.writes)
                _take_in(decided, entry, update)
            elif before is None and record.id not in decided.new and hash((user_id, record.id)) not in self._would_be:
                decided.new[record.id] = record
                decided.undated += entry.misdated
                decided.unnoted += is_unnoted(entry, record)
            else:
                decided.known += 1
                decided.same += 1
                fact = decided.new.get(record.id) if before is None else before
                if again := _said_again(fact, record):
                    (decided.changed if before else decided.new)[record.id] = again
        return decided, noting(user_id, ledger, digests)

    def _is_repeated(self, user_id: str, digest: str, entry: ForeignEntry, record: Record) -> bool:
        """Return true if this import had another text under the same id, and this one has no later date."""
        words = hash(words_of(record))
        said, at = self._said.get(hash((user_id, digest)), (words, None))
        return words != said and not (at and entry.at and entry.at > at)

    async def _there(self, user_id: str, named: Collection[tuple[str, str]]) -> dict[str, Item]:
        gets = [GetOp(records.kind_named(kind).namespace(user_id), id_) for kind, id_ in named]
        found = await self._store.abatch(gets) if gets else []
        return {item.key: item for item in found if isinstance(item, Item)}

    async def _update(self, user_id: str, entry: ForeignEntry, record: Record, before: Record | None) -> SourceUpdate:
        at = datetime.now(UTC)
        if before is not None and entry_of(before) == entry_of(record):
            if not says_the_same(before, record):
                # it keeps the id that it was first imported with
                return of_other_words([before], record, None, {}, at=at)
            stored = {}
            if isinstance(before, Fact) and not before.current:
                stored = await records.load_facts(self._store, user_id, (), [before.id])
            return of_same_words(before, record, stored, dated=bool(entry.at or entry.updated_at), at=at)
        if user_id not in self._earlier:
            self._earlier[user_id] = await earlier_imports(self._store, user_id, self._source)
        found = await self._there(user_id, self._earlier[user_id].get(digest_of(*map(str, entry_of(record))), ()))
        priors = [one for item in found.values() if (one := _record(item)) and one.id != record.id]
        stored = await records.load_facts(self._store, user_id, (), [one.id for one in priors if isinstance(one, Fact)])
        return of_other_words(priors, record, before, stored, at=at)


def _records(
    source: str, entries: Sequence[ForeignEntry], unfit: list[tuple[ForeignEntry, str]]
) -> list[tuple[ForeignEntry, Record]]:
    made = []
    for entry in entries:
        try:
            made.append((entry, as_record(source, entry).discreet()))
        except ValidationError as error:
            field_ = ".".join(map(str, error.errors()[0]["loc"]))
            unfit.append((entry, f"makes no {entry.kind}: {field_}"))
    return made


def _record(item: Item | None) -> Record | None:
    return None if item is None else records.kind_named(item.value.get("kind")).record.from_value(item.value)


def _take_in(decided: _Decided, entry: ForeignEntry, update: SourceUpdate) -> None:
    if update.refused:
        decided.unfit.append((entry, update.refused))
    elif update is KNOWN:
        decided.known += 1
    else:
        decided.updated += 1
        decided.changed.update((record.id, record) for record in update.writes)
        if update.replaced:
            decided.removed.append(update.replaced)


def _said_again(fact: Record | None, record: Record) -> Fact | None:
    """Return a fact that its own source had ended and states again later; None if the user ended or changed it."""
    if not isinstance(fact, Fact) or not isinstance(record, Fact) or fact.current or not record.current:
        return None
    ended_here = fact.superseded_by or fact.ended_by or fact.origin is not Origin.IMPORT or fact.is_withdrawn
    if ended_here or record.said_at <= (fact.ending.said_at or fact.said_at):
        return None
    return fact.model_copy(update={**records.revived(fact, record.said_at), "said_at": record.said_at})


# First reading of a source: a check for usable entries and owners before anything is written.


async def checked_owners(source: ForeignSource, chosen: ImportOwners, told: Told) -> tuple[ImportOwners, int]:
    """Read a source to its end; return the checked owners and the number of entries. ValueError names a problem."""
    total, unusable = 0, ImportOutcome()
    names, nobody = set[tuple[str, str]](), set[str]()
    is_nobodys = False
    async for batch in source.batches():
        total += len(batch)
        for entry in batch:
            if isinstance(entry, UnusableEntry):
                unusable.skip(entry.place, entry.reason)
            elif reason := why_unfit(entry):
                unusable.skip(entry.called, reason)
            elif entry.owner:
                names.add((entry.owner, entry.owner_also))
                nobody |= set() if entry.is_persons else {entry.owner}
            else:
                is_nobodys = True
        told(0, total)
    if not total:
        raise NothingToImportError("has nothing in it that could be imported")
    if not (names or is_nobodys):
        raise NothingToImportError(f"none of it can become a memory: {'; '.join(unusable.skipped_in_words())}")
    named = {name for name, _ in names}
    # what is an agent's keeps nothing else out
    others = is_nobodys or named - nobody
    owners = chosen.check(named - nobody or named, personal=source.personal, nobody=() if others else nobody)
    if not ((is_nobodys and owners.of("")) or any(owners.of(*both) for both in names)):
        whose = f"those of {names_shown(named)}" if named else "those of nobody, whom --map names as =USER"
        raise ValueError(f"none of its memories is anybody's who was named: they are {whose}")
    return owners, total


def why_unfit(entry: ForeignEntry) -> str:
    """Return the reason why an entry becomes no memory of any owner; empty for a usable one."""
    if not entry.text.strip():
        return "says nothing"
    if len(entry.text) > MAX_TEXT:
        return f"has more than {MAX_TEXT:,} characters"
    return ""
