"""Ledger of an owner's imports: hashes of the imported entries, without their words.

It tells a new entry from one that was imported, and corrected or forgotten since: that one does not come back. The
ledger is erased with all of the owner's memories.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any

from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from react_mem.integrations.importers.as_records import (
    MAX_TEXT,
    OWNER_ELSEWHERE,
    Entries,
    ForeignEntry,
    ImportOutcome,
    ImportOwners,
    NothingToImportError,
    UnusableEntry,
    digest_of,
    names_shown,
)
from react_mem.memory.records import KINDS, Change, in_any_order, kind_named, meta_namespace, record_id

_KIND = "imported"

BUCKET = 3
"""Hexadecimal digits that name a bucket: at most 4,096 items of an owner, however much is imported."""


async def imported_before(store: BaseStore, user_id: str, digests: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the ledger's buckets for some entries, given by `digest_of`, by the beginning of their digests."""
    buckets = sorted({digest[:BUCKET] for digest in digests})
    namespace = meta_namespace(user_id)
    found = await store.abatch([GetOp(namespace, _key(bucket)) for bucket in buckets]) if buckets else []
    return {
        bucket: frozenset(item.value["entries"]) if isinstance(item, Item) else frozenset()
        for bucket, item in zip(buckets, found, strict=True)
    }


def noting(user_id: str, ledger: dict[str, frozenset[str]], digests: Collection[str]) -> list[Change]:
    """Return the writes that note entries in the buckets that `imported_before` returned for them."""
    changes: list[Change] = []
    for bucket, known in ledger.items():
        after = known.union(digest for digest in digests if digest.startswith(bucket))
        if after != known:
            value = {"kind": _KIND, "entries": sorted(after)}
            changes.append(PutOp(meta_namespace(user_id), _key(bucket), value, index=False))
    return changes


def _key(bucket: str) -> str:
    return record_id(_KIND, bucket)


# Earlier imports from a source, as an owner has them: which records came of which entry.

DOCUMENT = KINDS["document"]
EPISODE = KINDS["episode"]
FACT = KINDS["fact"]

_CHANGEABLE = (FACT, DOCUMENT, EPISODE)
"""Kinds whose ids depend on their words; the id of a message depends on its entry."""


EarlierImports = defaultdict[str, set[tuple[str, str]]]
"""Kinds and ids of an owner's records, by a digest of the entry that they were imported from."""


async def earlier_imports(store: BaseStore, user_id: str, source: str) -> EarlierImports:
    """Return an owner's records from a source."""
    earlier = EarlierImports(set)
    for namespace in {kind.namespace(user_id) for kind in _CHANGEABLE}:
        async for items in in_any_order(store, namespace):
            for item in items:
                value: dict[str, Any] = item.value
                kind, meta = kind_named(value.get("kind")), value.get("meta") or {}
                if kind in _CHANGEABLE and meta.get("source") == source:
                    entry = digest_of(*map(str, (source, meta.get("id"), value.get("session_id"))))
                    earlier[entry].add((kind.name, item.key))
    return earlier


# First reading of a source: a check for usable entries and owners before anything is written.


class FirstReading:
    """First reading of a source, which checks for usable entries and owners before anything is written."""

    def __init__(self) -> None:
        self.total = 0
        self._named: set[tuple[str, str]] = set()
        self._nobody: set[str] = set()
        self._says_of_nobody = False
        self._is_elsewhere = False
        self._unusable = ImportOutcome()

    def take_in(self, batch: Entries) -> None:
        """Count the entries of a batch, and collect their owners."""
        self.total += len(batch)
        for entry in batch:
            if isinstance(entry, UnusableEntry):
                self._unusable.skip(entry.place, entry.reason)
            elif reason := why_unfit(entry):
                self._unusable.skip(entry.called, reason)
            elif entry.owner:
                self._named.add((entry.owner, entry.owner_also))
                if not entry.is_persons:
                    self._nobody.add(entry.owner)
            elif entry.owner_is_elsewhere:
                self._is_elsewhere = True
            else:
                self._says_of_nobody = True

    def owners(self, chosen: ImportOwners, *, personal: bool) -> ImportOwners:
        """Return the checked choice of owners.

        Raises ValueError if nothing would become anybody's memory, or the owner is ambiguous.
        """
        if not self.total:
            raise NothingToImportError("has nothing in it that could be imported")
        if not (self._named or self._says_of_nobody or self._is_elsewhere):
            raise NothingToImportError(
                f"none of it can become a memory: {'; '.join(self._unusable.skipped_in_words())}"
            )
        named = {name for name, _ in self._named}
        owners = chosen.check(named, personal=personal, nobody=self._nobody)
        is_anybodys = (
            (self._says_of_nobody and owners.of(""))
            or (self._is_elsewhere and owners.of("", elsewhere=True))
            or any(owners.of(*names) for names in self._named)
        )
        if not is_anybodys and self._is_elsewhere and not self._named and not self._says_of_nobody:
            raise ValueError(f"none of it can become a memory: each {OWNER_ELSEWHERE}")
        if not is_anybodys:
            whose = f"those of {names_shown(named)}" if named else "those of nobody, whom --map names as =USER"
            raise ValueError(f"none of its memories is anybody's who was named: they are {whose}")
        return owners


def why_unfit(entry: ForeignEntry) -> str:
    """Return the reason why an entry becomes no memory of any owner; empty for a usable one."""
    if not entry.text.strip():
        return "says nothing"
    if len(entry.text) > MAX_TEXT:
        return f"has more than {MAX_TEXT:,} characters"
    return ""
