"""Ledger of an owner's imports: hashes of the imported entries, without their words.

It tells a new entry from one that was imported, and corrected or forgotten since: that one does not come back. The
ledger is erased with all of the owner's memories.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from react_mem.integrations.importers.as_records import FORGOTTEN, KEPT, OLDER, SAID, digest_of
from react_mem.memory import Fact, Message, Origin, Record
from react_mem.memory.records import (
    KINDS,
    Change,
    in_any_order,
    kind_named,
    meta_namespace,
    record_id,
    revived,
    succeeded,
)

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


# Updates at the source: an entry that was imported before has other words there now, under the same id. The new words
# replace the old ones, unless somebody has changed or repeated the memory here since. Pure functions from stored
# records to records to write.

_WORDS = ("text", "title", "steps", "outcome")  # Fields of documents and episodes with words


@dataclass(frozen=True)
class SourceUpdate:
    """Decision about an entry that was imported before: records to write, and a replaced record of another kind.

    `refused` is the reason for keeping other words than the source's; empty where the words agree.
    """

    writes: Sequence[Record] = ()
    replaced: Record | None = None
    refused: str = ""


KNOWN = SourceUpdate()  # Decision about an entry with the words that are stored


def entry_of(record: Record) -> tuple[Any, ...]:
    """Return the identity of the entry that a record was imported from."""
    return (record.meta.get("source"), record.meta.get("id"), record.session_id)


def says_the_same(before: Record, record: Record) -> bool:
    """Return true if two records of one id have the same words; the id of facts and messages implies it."""
    return isinstance(before, Fact | Message) or words_of(before) == words_of(record)


def words_of(record: Record) -> tuple[Any, ...]:
    """Return the words of a record, by the fields of documents and episodes."""
    return tuple(getattr(record, name, None) for name in _WORDS)


def of_same_words(
    before: Record, record: Record, stored: Mapping[str, Fact], *, dated: bool, at: datetime
) -> SourceUpdate:
    """Decide about an entry with the words of its last import: it may have ended there, or be stated again.

    `stored` are the facts that may be involved, by id; `dated` is true where the source dates the entry.
    """
    if isinstance(before, Message) and isinstance(record, Message):
        return KNOWN if before.content == record.content else SourceUpdate(refused=SAID)
    if not isinstance(before, Fact) or not isinstance(record, Fact) or record.said_at < before.said_at:
        return KNOWN
    if before.current:
        times = ("current", "valid_from", "valid_to", "retired_at")
        says = {name: getattr(record, name) for name in times}
        if says == {name: getattr(before, name) for name in times}:
            return KNOWN
        if is_touched(before):
            return SourceUpdate(refused=KEPT)
        if not record.current:
            says["retired_at"] = record.retired_at or at
        return SourceUpdate([before.model_copy(update={**says, "said_at": record.said_at})])
    heir = stored.get(before.superseded_by or "")
    # without a date of its own nobody can tell which of the two it says now
    if heir is None or not heir.current or not record.current or not dated or record.said_at <= heir.said_at:
        return KNOWN
    if is_touched(heir) or entry_of(heir) != entry_of(record):
        return KNOWN
    again = before.model_copy(update={**revived(before, at), "said_at": record.said_at, "valid_to": record.valid_to})
    return SourceUpdate(succeeded(stored, heir, again, record.said_at, at))


def of_other_words(
    priors: Sequence[Record], record: Record, known: Record | None, stored: Mapping[str, Fact], *, at: datetime
) -> SourceUpdate:
    """Decide about an entry with other words than at its last import.

    `priors` are the records imported from it, `known` a stored record with the new words from anywhere.
    """
    if not priors:
        return KNOWN if known is not None else SourceUpdate(refused=FORGOTTEN)
    believed = [prior for prior in priors if not isinstance(prior, Fact) or prior.current]
    if not believed:
        # whoever ended it: its successor may have been forgotten
        return KNOWN if known is not None else SourceUpdate(refused=KEPT)
    prior = max(believed, key=_said_at)
    if isinstance(known, Fact) and not known.current:
        # it was said to be over, or never so
        return KNOWN
    if is_touched(prior):
        return SourceUpdate(refused=KEPT)
    if _said_at(record) < _said_at(prior):
        return SourceUpdate(refused=OLDER)
    new = record if known is None else known
    if isinstance(prior, Fact):
        later = isinstance(record, Fact) and record.said_at > prior.said_at
        since, heir = _said_at(record) if later else at, new if isinstance(new, Fact) else None
        return SourceUpdate([*([] if heir else [new]), *succeeded(stored, prior, heir, since, at)])
    if known is not None or prior.kind != record.kind:
        return SourceUpdate([] if known is not None else [record], replaced=prior)
    # under the id that it has, by which others may refer to it
    changed = record.model_copy(update={"id": prior.id})
    return KNOWN if says_the_same(prior, changed) else SourceUpdate([changed])


def is_touched(record: Record) -> bool:
    """Return true if a record was changed, confirmed or withdrawn here since its import."""
    if record.origin is not Origin.IMPORT:
        return True
    return isinstance(record, Fact) and bool(record.source_ids or record.wordings or record.withdrawn)


def _said_at(record: Record) -> datetime:
    return record.said_at if isinstance(record, Fact) else record.created_at
