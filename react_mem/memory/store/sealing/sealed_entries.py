"""Sealed rows of the index: what a text is found by, and its vector, each by itself.

A text whose vector could not be made yet is given it later, without its words being sealed anew.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from react_mem.memory.index.segments import NO_TIME
from react_mem.memory.index.weights import microseconds
from react_mem.memory.store.keys.owner_key import OwnerKey
from react_mem.memory.store.writes import IndexRow

_FACTS = struct.Struct(">fqqI")
"""The number of words, the place, the time, and the bytes of the item's own key, which follows, and then the words."""

_EPOCH = 946_684_800_000_000
"""Microseconds from 1970 to 2000, from where PostgreSQL counts."""

_INT4 = 23
"""The type of the words' numbers."""

_Facts = tuple[float, int, int]

_WORDS, _VECTOR = "words", "vector"


def sealed_row(key: OwnerKey, row: IndexRow) -> IndexRow:
    """Return a row of the index as it is stored. Blocking: some 20 us.

    Args:
        key: The owner's.
        row: The row, its vector whole.
    """
    stored, item = key.keyed(row.key), row.key.encode("utf-8", "surrogatepass")
    words = (row.words or "{}")[1:-1]
    numbers = np.array(words.split(",") if words else [], dtype=np.int64).astype(">i4").tobytes()
    said_at = NO_TIME if row.said_at is None else _sent(row.said_at)
    facts = _FACTS.pack(row.length, -1 if row.place is None else row.place, said_at, len(item))
    plain = facts + item + numbers
    return IndexRow(
        row.prefix,
        stored,
        row.field_name,
        embedding=None,
        words=None,
        length=None,
        place=None,
        said_at=None,
        sealed=key.seal(plain, _bound(row.prefix, stored, _WORDS, row.field_name)),
        sealed_vector=None
        if row.embedding is None
        else sealed_vector(key, row.prefix, stored, row.field_name, row.embedding),
    )


def sealed_vector(key: OwnerKey, prefix: str, stored: str, field_name: str, embedding: bytes) -> bytes:
    """Return a vector as it is stored: in half precision, sealed.

    Args:
        key: The owner's.
        prefix: The item's namespace.
        stored: The key of its row.
        field_name: Which of its texts.
        embedding: A `vector` in binary form.
    """
    halves = np.frombuffer(embedding, dtype=">f4", offset=4).astype(">f2").tobytes()
    return key.seal(halves, _bound(prefix, stored, _VECTOR, field_name))


def resealed_row(key: OwnerKey, row: IndexRow) -> IndexRow:
    """Return a sealed row of the index as the data key in use seals it. Blocking: some 20 us.

    Args:
        key: The owner's.
        row: The row as it is stored.

    Raises:
        SealError: If it does not open.
    """
    parts = []
    for part, sealed in ((_WORDS, row.sealed), (_VECTOR, row.sealed_vector)):
        bound = _bound(row.prefix, row.key, part, row.field_name)
        parts.append(None if sealed is None else key.seal(key.open(sealed, bound), bound))
    return row._replace(sealed=parts[0], sealed_vector=parts[1])


def opened_vector(key: OwnerKey, prefix: str, stored: str, field_name: str, sealed: bytes) -> bytes:
    """Return a `vector` in binary form of what is stored of it.

    Raises:
        SealError: If it does not open.
    """
    halves = np.frombuffer(key.open(sealed, _bound(prefix, stored, _VECTOR, field_name)), dtype=">f2")
    return struct.pack(">HH", len(halves), 0) + halves.astype(">f4").tobytes()


def opened_rows(key: OwnerKey, rows: Sequence[dict[str, Any]], own_keys: Callable[[str], list[str]]) -> None:
    """Put in place of what is sealed what `owner_texts.columns_of` reads. Blocking: some 10 us a text.

    Args:
        key: The owner's.
        rows: The answer to `owner_texts.changes_statement`, of rows that may be sealed.
        own_keys: Tells of a namespace the keys of items that are known.

    Raises:
        SealError: If one does not open.
    """
    for row in rows:
        if row.get("is_sealed") and not row.get("present"):
            _open(key, row)
    opened: dict[str, set[str]] = {}
    for row in rows:
        if row["prefix"] is not None and not row.get("present"):
            opened.setdefault(row["prefix"], set()).update(json.loads(row["keys"]))
    for row in rows:
        if row.get("present"):
            prefix = row["prefix"]
            own = {key.keyed(item): item for item in {*opened.get(prefix, ()), *own_keys(prefix)}}
            row["keys"] = json.dumps([own.get(stored, stored) for stored in json.loads(row["keys"])])


def _open(key: OwnerKey, row: dict[str, Any]) -> None:
    prefix = row["prefix"]
    sealed = _split(row["sealed"], row["sealed_sizes"])
    vectors = _split(row["sealed_vectors"], row["sealed_vector_sizes"])
    found = [
        (*_opened(key, prefix, stored, name, facts or b""), name, stored, vector)
        for stored, name, facts, vector in zip(
            json.loads(row["keys"]), json.loads(row["field_names"]), sealed, vectors, strict=True
        )
    ]
    # rows are written by the order of their keys, and equals are taken in the order in which they lie: of those that
    # are sealed, the order of keys is nobody's
    found.sort(key=lambda one: (one[0], one[3]))
    halves = [
        None if vector is None else key.open(vector, _bound(prefix, stored, _VECTOR, name))
        for *_, name, stored, vector in found
    ]
    words = [numbers for _, _, numbers, *_ in found]
    row |= {
        "keys": json.dumps([item for item, *_ in found]),
        "field_names": json.dumps([name for _, _, _, name, *_ in found]),
        "word_counts": np.array([len(numbers) // 4 for numbers in words], dtype=">i4").tobytes(),
        "words": _arrays(words),
        "lengths": np.array([length for _, (length, _, _), *_ in found], dtype=">f4").tobytes(),
        "places": np.array([place for _, (_, place, _), *_ in found], dtype=">i8").tobytes(),
        "said_at": np.array([said_at for _, (_, _, said_at), *_ in found], dtype=">i8").tobytes(),
        "with_vector": bytes([vector is not None for vector in halves]),
        "halves": b"".join(part for each in halves if each is not None for part in (_dims(each), each)),
        "is_sealed": False,
    }


def _opened(key: OwnerKey, prefix: str, stored: str, name: str, sealed: bytes) -> tuple[str, _Facts, bytes]:
    """Return an item's own key; the number of its words, its place and its time; and its words, four bytes each."""
    plain = key.open(sealed, _bound(prefix, stored, _WORDS, name))
    length, place, said_at, size = _FACTS.unpack_from(plain)
    end = _FACTS.size + size
    return plain[_FACTS.size : end].decode("utf-8", "surrogatepass"), (length, place, said_at), plain[end:]


def _arrays(rows: Sequence[bytes]) -> bytes:
    """Return the numbers of rows as arrays in PostgreSQL's binary form, one after another."""
    numbers = np.frombuffer(b"".join(rows), dtype=">i4")
    # each with its length before it
    pairs = np.empty((len(numbers), 2), dtype=">i4")
    pairs[:, 0], pairs[:, 1] = 4, numbers
    packed = pairs.tobytes()
    parts, start = [], 0
    for row in rows:
        count = len(row) // 4
        end = start + 8 * count
        header = (1, 0, _INT4, count, 1) if count else (0, 0, _INT4)
        parts += [struct.pack(f">{len(header)}i", *header), packed[start:end]]
        start = end
    return b"".join(parts)


def _dims(halves: bytes) -> bytes:
    return struct.pack(">HH", len(halves) // 2, 0)


def _split(packed: bytes | None, sizes: bytes) -> list[bytes | None]:
    """Return what was packed one after another; None where there was nothing."""
    found: list[bytes | None] = []
    start = 0
    for size in np.frombuffer(sizes, dtype=">i4").tolist():
        found.append(None if size < 0 else (packed or b"")[start : start + size])
        start += max(size, 0)
    return found


def _sent(at: datetime) -> int:
    return microseconds(at) - _EPOCH


def _bound(prefix: str, stored: str, part: str, field_name: str) -> bytes:
    return f"{prefix}\0{stored}/{part}/{field_name}".encode("utf-8", "surrogatepass")
