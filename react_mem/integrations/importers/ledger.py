"""Ledger of what an owner has imported: which entries of which source, without a word of them.

It is what tells a memory that was never imported from one that was, and was corrected or forgotten since: that does not
come back. It goes with the owner, when all of theirs is erased.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from react_mem.memory.records import Change, meta_namespace, record_id

_KIND = "imported"

_BUCKET = 3
"""Hexadecimal digits by which entries share an item: an owner has 4,096 items at most, however much they import."""


async def imported_before(store: BaseStore, user_id: str, digests: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the ledger's part about some entries: what is in it, by the bucket of each.

    Args:
        store: The store.
        user_id: The owner.
        digests: The entries, by `digest_of`.
    """
    buckets = sorted({digest[:_BUCKET] for digest in digests})
    namespace = meta_namespace(user_id)
    found = await store.abatch([GetOp(namespace, _key(bucket)) for bucket in buckets]) if buckets else []
    return {
        bucket: frozenset(item.value["entries"]) if isinstance(item, Item) else frozenset()
        for bucket, item in zip(buckets, found, strict=True)
    }


def is_noted(ledger: dict[str, frozenset[str]], digest: str) -> bool:
    """Return whether an entry has been imported before, as far as this part of the ledger goes."""
    return digest in ledger[digest[:_BUCKET]]


def noting(user_id: str, ledger: dict[str, frozenset[str]], digests: Collection[str]) -> list[Change]:
    """Return the writes that note entries as imported.

    Args:
        user_id: The owner.
        ledger: What `imported_before` returned for them.
        digests: The entries.
    """
    changes: list[Change] = []
    for bucket, known in ledger.items():
        after = known.union(digest for digest in digests if digest.startswith(bucket))
        if after != known:
            value = {"kind": _KIND, "entries": sorted(after)}
            changes.append(PutOp(meta_namespace(user_id), _key(bucket), value, index=False))
    return changes


def _key(bucket: str) -> str:
    return record_id(_KIND, bucket)
