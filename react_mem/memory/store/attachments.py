"""Attachments of messages: an owner's images, sounds and files, each kept once, under the hash of what is in it.

A message names them by that hash. They lie apart from memory, in pieces, so that nobody who reads, lists or searches
memories reads them along. They are written before the messages that name them, and go with the last of these.
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
from react_mem.memory.model.receipt import Change, write
from react_mem.memory.model.records import now, with_zone
from react_mem.memory.store.owned import WHOLE

ATTACHMENT_BYTES = 50 * 2**20
"""Bytes that an owner's attachments may take together, where nobody says otherwise."""

MAX_ATTACHMENT = 5 * 2**20
"""Bytes of one attachment: a photo of a telephone, a few minutes of speech, a paper."""

_PIECE = 2**18
"""Characters of base64 that are decoded, or made JSON, before others have their turn: less than a millisecond."""

_PIECES_AT_ONCE = 8

_STORED_BY = timedelta(hours=1)
"""Time after which nobody is still storing the message that an attachment was written for."""

HIDDEN = "hidden"
"""The kind of notes of what is hidden."""

_SIZES, _PIECES = "sizes", "pieces"

_REF = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Attachment:
    """File that is attached to a message.

    Args:
        ref: Name by which messages refer to it: `sha256:` and the hash of its bytes.
        size: How many bytes it has.
        pieces: The bytes, as base64.
    """

    ref: str
    size: int
    pieces: tuple[str, ...]

    @classmethod
    def of(cls, data: str) -> Self:
        """Return what base64 stands for, with or without line ends and padding. It takes a while; not on an event loop.

        Raises:
            ValueError: If it is not base64.

        >>> Attachment.of("aGVs\\nbG8").size, Attachment.of("aGVsbG8=").pieces
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
    """Return how many bytes the attachments of an owner may take in a store: what the store says, else the default."""
    return int(getattr(store, "attachment_bytes", ATTACHMENT_BYTES))


async def sizes(store: BaseStore, user_id: str) -> dict[str, int]:
    """Return the sizes of an owner's attachments, by their references."""
    return {item.key: int(item.value["bytes"]) for item in await _kept(store, user_id)}


async def _kept(store: BaseStore, user_id: str) -> Sequence[Item]:
    return await store.asearch(attachments_namespace(user_id, _SIZES), limit=WHOLE, refresh_ttl=False)


async def attach(store: BaseStore, user_id: str, given: Iterable[Attachment]) -> set[str]:
    """Keep attachments for which an owner has room.

    Turns that are stored in the same moment do not see each other's: together they may go beyond the limit.

    Args:
        store: The store; where nothing is given, nothing is read from it.
        user_id: The owner.
        given: The attachments.

    Returns:
        The references of those that are kept, before or now.
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
    """Write an attachment a few pieces at a time, so that nobody waits for megabytes that are sent at once."""
    changes = [
        PutOp(attachments_namespace(user_id, _PIECES), key, {"data": piece}, index=False)
        for key, piece in zip(_keys(one.ref, one.size), one.pieces, strict=True)
    ]
    # last: what has a size is there as a whole
    changes.append(PutOp(attachments_namespace(user_id, _SIZES), one.ref, {"bytes": one.size}, index=False))
    for start in range(0, len(changes), _PIECES_AT_ONCE):
        await write(store, changes[start : start + _PIECES_AT_ONCE])


async def read_attachment(store: BaseStore, user_id: str, ref: str) -> list[str] | None:
    """Return an attachment of an owner as pieces of base64; None where they have no such.

    Args:
        store: The store.
        user_id: The owner.
        ref: What a message names it by.
    """
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
    """Return what pieces of base64 stand for."""
    return await asyncio.to_thread(lambda: b"".join(map(b64decode, pieces)))


async def unattached(store: BaseStore, user_id: str, items: Iterable[Item], changes: Sequence[Change]) -> list[Change]:
    """Return the removal of the attachments that no message names any more once some changes are written.

    Args:
        store: The store.
        user_id: The owner.
        items: Everything of the owner, with what is set aside.
        changes: The changes; of two of one item the last counts.
    """
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
        # one that no message ever named is of a turn that is being stored, or was when its process died
        if item.key not in named and (item.key in before or now() - with_zone(item.updated_at) > _STORED_BY):
            gone.append(PutOp(item.namespace, item.key, None))
            pieces = _keys(item.key, int(item.value["bytes"]))
            gone += [PutOp(attachments_namespace(user_id, _PIECES), key, None) for key in pieces]
    return gone


async def hidden_notes(store: BaseStore, user_id: str) -> list[Item]:
    """Return what is kept of hidden records of an owner, which may be brought back: see `memory.rights.hidden`."""
    chosen = {"kind": HIDDEN}
    return list(await store.asearch(meta_namespace(user_id), filter=chosen, limit=WHOLE, refresh_ttl=False))


async def erase_attachments(store: BaseStore, user_id: str) -> None:
    """Remove all attachments of an owner, those among them that were only written in part."""
    left = await store.asearch(attachments_namespace(user_id), limit=WHOLE, refresh_ttl=False)
    if left:
        await store.abatch([PutOp(item.namespace, item.key, None) for item in left])


def refs_in(value: Mapping[str, Any]) -> set[str]:
    """Return the attachments that a record, as JSON, names.

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
    """Return the keys of an attachment's pieces; one of no bytes has none."""
    length = -(-size // 3) * 4
    return [f"{ref}.{number:03}" for number in range(-(-length // _PIECE))]
