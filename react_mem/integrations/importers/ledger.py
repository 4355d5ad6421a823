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
    ForeignEntry,
    ForeignSource,
    ImportOutcome,
    ImportOwners,
    NothingToImportError,
    Told,
    UnusableEntry,
    digest_of,
    names_shown,
)
from react_mem.memory.records import KINDS, Change, in_any_order, kind_named, meta_namespace, record_id

_KIND = "imported"
BUCKET = 3  # Hexadecimal digits that name a bucket: at most 4,096 items of an owner, however much is imported


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

# Kinds whose ids depend on their words; the id of a message depends on its entry
_CHANGEABLE = (FACT, DOCUMENT, EPISODE)


# Kinds and ids of an owner's records, by a digest of the entry that they were imported from
EarlierImports = defaultdict[str, set[tuple[str, str]]]


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


async def checked_owners(source: ForeignSource, chosen: ImportOwners, told: Told) -> tuple[ImportOwners, int]:
    """Read a source to its end, and return the checked choice of owners, and the number of entries.

    Raises ValueError if nothing would become anybody's memory, or the owner is ambiguous.
    """
    total, unusable = 0, ImportOutcome()
    names, nobody = set[tuple[str, str]](), set[str]()
    is_nobodys = is_elsewhere = False
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
                is_elsewhere = is_elsewhere or entry.owner_is_elsewhere
                is_nobodys = is_nobodys or not entry.owner_is_elsewhere
        told(0, total)
    if not total:
        raise NothingToImportError("has nothing in it that could be imported")
    if not (names or is_nobodys or is_elsewhere):
        raise NothingToImportError(f"none of it can become a memory: {'; '.join(unusable.skipped_in_words())}")
    named = {name for name, _ in names}
    owners = chosen.check(named, personal=source.personal, nobody=nobody)
    is_anybodys = (
        (is_nobodys and owners.of(""))
        or (is_elsewhere and owners.of("", elsewhere=True))
        or any(owners.of(*both) for both in names)
    )
    if not is_anybodys and is_elsewhere and not names and not is_nobodys:
        raise ValueError(f"none of it can become a memory: each {OWNER_ELSEWHERE}")
    if not is_anybodys:
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
