"""Attachments of messages: images, sounds and files of an owner, deduplicated by content hash.

A message refers to an attachment by its hash. The bytes are stored outside memory, in pieces, so that reads,
lists and searches never load them. They are written before the messages that refer to them, and removed with
the last of these.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self, cast

from langgraph.store.base import BaseStore, GetOp, Item, PutOp

from react_mem.memory.model.namespaces import attachments_namespace, meta_namespace
from react_mem.memory.model.operations import Change, write
from react_mem.memory.model.records import now, with_zone
from react_mem.memory.store.capabilities import WHOLE

ATTACHMENT_BYTES = 50 * 2**20
"""Default limit in bytes of an owner's attachments together."""

MAX_ATTACHMENT = 5 * 2**20
"""Most bytes of one attachment: a photo of a phone, a few minutes of speech, a paper."""

_PIECE = 2**18
"""Characters of base64 that are decoded or serialised at once, in less than a millisecond."""

_PIECES_AT_ONCE = 8

_STORED_BY = timedelta(hours=1)
"""Age from which an attachment without a message is an orphan: no turn takes that long."""

HIDDEN = "hidden"
"""Kind of the notes of hidden records."""

_SIZES, _PIECES = "sizes", "pieces"

_REF = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Attachment:
    """Attached file: its bytes in pieces of base64, with their size and reference (`sha256:` and the hash)."""

    ref: str
    size: int
    pieces: tuple[str, ...]

    @classmethod
    def of(cls, data: str) -> Self:
        r"""Return the attachment of a base64 text, with or without line ends and padding. Slow; not for an event loop.

        A ValueError says that it is not base64.

        >>> Attachment.of("aGVs\nbG8").size, Attachment.of("aGVsbG8=").pieces
        (5, ('aGVsbG8=',))
        """
        text = "".join(data.split()) if any(space in data for space in " \n\r\t") else data
        text = text.replace("-", "+").replace("_", "/").rstrip("=")
        text += "=" * (-len(text) % 4)
        pieces = tuple(text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
        digest, size = hashlib.sha256(), 0
        for piece in pieces:
            part = b64decode(piece, validate=True)
            digest.update(part)
            size += len(part)
        return cls(f"sha256:{digest.hexdigest()}", size, pieces)


def limit_of(store: BaseStore) -> int:
    """Return the most bytes that an owner's attachments may take in a store."""
    return int(getattr(store, "attachment_bytes", ATTACHMENT_BYTES))


async def sizes(store: BaseStore, user_id: str) -> dict[str, int]:
    """Return the sizes of an owner's attachments, by reference."""
    return {item.key: int(item.value["bytes"]) for item in await _kept(store, user_id)}


async def _kept(store: BaseStore, user_id: str) -> Sequence[Item]:
    return await store.asearch(attachments_namespace(user_id, _SIZES), limit=WHOLE, refresh_ttl=False)


async def attach(store: BaseStore, user_id: str, given: Iterable[Attachment]) -> set[str]:
    """Store the attachments that fit within an owner's limit, and return the references of all that are stored.

    Concurrent turns do not see each other's attachments: together they may exceed the limit.
    """
    new = list(given)
    known = await sizes(store, user_id) if new else {}
    room = limit_of(store) - sum(known.values())
    for one in new:
        if one.ref not in known and one.size <= room:
            await _put(store, user_id, one)
            known[one.ref] = one.size
            room -= one.size
    return {one.ref for one in new if one.ref in known}


async def _put(store: BaseStore, user_id: str, one: Attachment) -> None:
    """Write an attachment a few pieces at a time, so that no other write waits for megabytes."""
    changes = [
        PutOp(attachments_namespace(user_id, _PIECES), key, {"data": piece}, index=False)
        for key, piece in zip(_keys(one.ref, one.size), one.pieces, strict=True)
    ]
    # last: a stored size means a complete attachment
    changes.append(PutOp(attachments_namespace(user_id, _SIZES), one.ref, {"bytes": one.size}, index=False))
    for start in range(0, len(changes), _PIECES_AT_ONCE):
        await write(store, changes[start : start + _PIECES_AT_ONCE])


async def read_attachment(store: BaseStore, user_id: str, ref: str) -> list[str] | None:
    """Return an owner's attachment as pieces of base64, or None if there is none."""
    size = await store.aget(attachments_namespace(user_id, _SIZES), ref, refresh_ttl=False)
    if size is None:
        return None
    keys = _keys(ref, int(size.value["bytes"]))
    found = cast(
        "list[Item | None]",
        await store.abatch([GetOp(attachments_namespace(user_id, _PIECES), key, refresh_ttl=False) for key in keys]),
    )
    return [str(item.value["data"]) for item in found if item is not None]


async def bytes_of(pieces: Sequence[str]) -> bytes:
    """Return the bytes of base64 pieces."""
    return await asyncio.to_thread(lambda: b"".join(map(b64decode, pieces)))


async def unattached(store: BaseStore, user_id: str, items: Iterable[Item], changes: Sequence[Change]) -> list[Change]:
    """Return the removal of the attachments that no message refers to after some changes to all items of an owner."""
    after = {(change.namespace, change.key): change.value for change in changes}
    before: set[str] = set()
    named: set[str] = set()
    for note in await hidden_notes(store, user_id):
        kept = after.get((note.namespace, note.key), note.value) or {"records": ()}
        named |= {ref for one in kept["records"] for ref in refs_in(one["before"] or {})}
    for item in items:
        if refs := refs_in(item.value):
            before |= refs
            named |= refs_in(after.get((item.namespace, item.key), item.value) or {})
    gone: list[Change] = []
    for item in await _kept(store, user_id):
        # an attachment without any message belongs to an unfinished turn, or to one of a dead process
        if item.key not in named and (item.key in before or now() - with_zone(item.updated_at) > _STORED_BY):
            gone.append(PutOp(item.namespace, item.key, None))
            pieces = _keys(item.key, int(item.value["bytes"]))
            gone += [PutOp(attachments_namespace(user_id, _PIECES), key, None) for key in pieces]
    return gone


async def hidden_notes(store: BaseStore, user_id: str) -> list[Item]:
    """Return the notes of an owner's hidden records, which can be restored: see `memory.rights.hidden`."""
    chosen = {"kind": HIDDEN}
    return list(await store.asearch(meta_namespace(user_id), filter=chosen, limit=WHOLE, refresh_ttl=False))


async def erase_attachments(store: BaseStore, user_id: str) -> None:
    """Remove all attachments of an owner, including partly written ones."""
    left = await store.asearch(attachments_namespace(user_id), limit=WHOLE, refresh_ttl=False)
    if left:
        await store.abatch([PutOp(item.namespace, item.key, None) for item in left])


def refs_in(value: Mapping[str, Any]) -> set[str]:
    """Return the attachments that a record, as JSON, refers to.

    >>> refs_in({"content": [{"type": "text", "text": "Hi"}, {"type": "image", "ref": "sha256:" + 64 * "0"}]}) == {
    ...     "sha256:" + 64 * "0"
    ... }
    True
    """
    content = value.get("content")
    if not isinstance(content, list):
        return set()
    named = (str(block.get("ref") or "") for block in content if isinstance(block, Mapping))
    return {ref for ref in named if _REF.fullmatch(ref)}


def _keys(ref: str, size: int) -> list[str]:
    """Return the keys of an attachment's pieces; an empty one has none."""
    length = -(-size // 3) * 4
    return [f"{ref}.{number:03}" for number in range(-(-length // _PIECE))]
