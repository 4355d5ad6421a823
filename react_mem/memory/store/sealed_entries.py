"""Sealed rows: of the index (words and vector, sealed separately), and of items (a value with a readable skeleton).

A vector that could not be computed yet is added later without sealing the words again. Opening a value that
was changed, moved, or sealed with an unknown key raises SealError.
"""

from __future__ import annotations

import json
import logging
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from react_mem.errors import SealError
from react_mem.memory.index.recall import microseconds
from react_mem.memory.index.texts import NO_PLACE, NO_TIME, IndexedTexts, TextColumns
from react_mem.memory.model.namespaces import ROOT, WORK
from react_mem.memory.store.key_ring import SEALED as SEALED
from react_mem.memory.store.key_ring import OwnerKey
from react_mem.memory.store.writes import IndexRow

_FACTS = struct.Struct(">fqqI")
"""Number of words, place, time, and size of the plain key; the key and the words follow."""

_EPOCH = 946_684_800_000_000
"""Microseconds from 1970 to 2000, PostgreSQL's epoch."""

_Facts = tuple[float, int, int]

_WORDS, _VECTOR = "words", "vector"

log = logging.getLogger(__name__)


def sealed_row(key: OwnerKey, row: IndexRow) -> IndexRow:
    """Return an index row with full vector as a sealed row. Blocking: some 20 us."""
    stored, item = key.keyed(row.key), row.key.encode("utf-8", "surrogatepass")
    words = (row.words or "{}")[1:-1]
    numbers = np.array(words.split(",") if words else [], dtype=np.int64).astype(">i4").tobytes()
    said_at = NO_TIME if row.said_at is None else microseconds(row.said_at) - _EPOCH
    facts = _FACTS.pack(row.length, -1 if row.place is None else row.place, said_at, len(item))
    plain = facts + item + numbers
    halves = b""
    if row.embedding is not None:
        halves = np.frombuffer(row.embedding, dtype=">f4", offset=4).astype(">f2").tobytes()
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
        sealed_vector=key.seal(halves, _bound(row.prefix, stored, _VECTOR, row.field_name)) if halves else None,
    )


def resealed_row(key: OwnerKey, row: IndexRow) -> IndexRow:
    """Return a sealed index row, sealed again with the current data key. Blocking: some 20 us."""
    parts = []
    for part, sealed in ((_WORDS, row.sealed), (_VECTOR, row.sealed_vector)):
        bound = _bound(row.prefix, row.key, part, row.field_name)
        parts.append(None if sealed is None else key.seal(key.open(sealed, bound), bound))
    return row._replace(sealed=parts[0], sealed_vector=parts[1])


def opened_vector(key: OwnerKey, prefix: str, stored: str, field_name: str, sealed: bytes) -> bytes:
    """Return a sealed vector as a `vector` in binary form."""
    halves = np.frombuffer(key.open(sealed, _bound(prefix, stored, _VECTOR, field_name)), dtype=">f2")
    return struct.pack(">HH", len(halves), 0) + halves.astype(">f4").tobytes()


def opened_rows(
    key: OwnerKey, rows: Sequence[dict[str, Any]], known: Mapping[str, IndexedTexts], *, sure: bool = False
) -> None:
    """Open sealed index rows in place, as `columns`, without the texts that do not open. Blocking: some 10 us a text.

    A SealError says that a key is unknown, unless it is `sure` that nobody has it. `rows` are those of
    `owner_texts.changes_statement`; `known` are the namespaces of the index that they update.
    """
    opened: dict[str, set[str]] = {}
    for row in rows:
        if row["prefix"] is not None and not row.get("present"):
            if row.get("is_sealed"):
                row["columns"] = _columns(key, row, sure)
            named = row["columns"].keys if "columns" in row else json.loads(row["keys"])
            opened.setdefault(row["prefix"], set()).update(named)
    for row in rows:
        if row.get("present"):
            prefix = row["prefix"]
            texts = known.get(prefix)
            there = {texts.key(text) for text in texts.order.tolist()} if texts is not None else set()
            own = {key.keyed(item): item for item in opened.get(prefix, set()) | there}
            row["keys"] = json.dumps([own.get(stored, stored) for stored in json.loads(row["keys"])])


def _columns(key: OwnerKey, row: dict[str, Any], sure: bool) -> TextColumns:
    prefix = row["prefix"]
    sealed = _split(row["sealed"], row["sealed_sizes"])
    vectors = _split(row["sealed_vectors"], row["sealed_vector_sizes"])
    found = []
    for stored, name, facts, vector in zip(
        json.loads(row["keys"]), json.loads(row["field_names"]), sealed, vectors, strict=True
    ):
        try:
            half = None if vector is None else key.open(vector, _bound(prefix, stored, _VECTOR, name))
            found.append((*_opened(key, prefix, stored, name, facts or b""), name, half))
        except SealError as error:
            if error.version is not None and not sure:
                raise
            log.warning("a text does not open, and its record is found by no search: its key is %r", stored)
    # ties are broken by the order of rows, which plain rows have by key: sort by the plain key here too
    found.sort(key=lambda one: (one[0], one[3]))
    halves = [half for *_, half in found if half is not None]
    embedded = np.array([half is not None for *_, half in found], dtype=np.bool_)
    numbers = np.zeros((len(found), row["dims"]), dtype=np.float16)
    numbers[embedded] = np.frombuffer(b"".join(halves), dtype=">f2").reshape(-1, row["dims"])
    words = [of_text for _, _, of_text, *_ in found]
    places = np.array([place for _, (_, place, _), *_ in found], dtype=np.int64)
    said_at = np.array([said_at for _, (_, _, said_at), *_ in found], dtype=np.int64)
    return TextColumns(
        keys=[item for item, *_ in found],
        field_names=[name for _, _, _, name, _ in found],
        vectors=numbers,
        embedded=embedded,
        places=np.where(places < 0, NO_PLACE, places),
        said_at=np.where(said_at == NO_TIME, NO_TIME, said_at + _EPOCH),
        lengths=np.array([length for _, (length, _, _), *_ in found], dtype=np.float32),
        unread=np.zeros(len(found), dtype=np.bool_),
        words=np.frombuffer(b"".join(words), dtype=">i4").astype(np.int32),
        word_ends=np.cumsum([len(of_text) // 4 for of_text in words]),
    )


def _opened(key: OwnerKey, prefix: str, stored: str, name: str, sealed: bytes) -> tuple[str, _Facts, bytes]:
    """Return an item's plain key; the number of its words, its place and its time; and its words, four bytes each."""
    plain = key.open(sealed, _bound(prefix, stored, _WORDS, name))
    length, place, said_at, size = _FACTS.unpack_from(plain)
    end = _FACTS.size + size
    return plain[_FACTS.size : end].decode("utf-8", "surrogatepass"), (length, place, said_at), plain[end:]


def _split(packed: bytes | None, sizes: bytes) -> list[bytes | None]:
    """Return the parts of concatenated bytes; None for a negative size."""
    found: list[bytes | None] = []
    start = 0
    for size in np.frombuffer(sizes, dtype=">i4").tolist():
        found.append(None if size < 0 else (packed or b"")[start : start + size])
        start += max(size, 0)
    return found


def _bound(prefix: str, stored: str, part: str, field_name: str) -> bytes:
    return f"{prefix}\0{stored}/{part}/{field_name}".encode("utf-8", "surrogatepass")


# Skeleton of a sealed value: the few of its fields that the database reads, ids among them keyed.

PLAIN = frozenset(
    (
        *("kind", "level", "turn", "created_at", "status", "current", "retired_at", "verbatim", "unread", "concluded"),
        *("chain", "open", "ended", "attempts", "failures", "agent", "agent_id", "due_at", "lease_by"),
    )
)
"""Readable fields: kinds, states, times, counts, and names of agents and workers."""

KEYED = frozenset(("id", "session_id", "session", "run_id", "task_type"))
"""Fields with one id, replaced by its keyed hash, which is the same within an owner."""

LINKS = (
    *("source_ids", "linked_steps", "depends_on", "needs", "superseded_by", "links", "episodes"),
    "task_preferences",
)
"""Fields with ids of other records, as in the database's function `memory_target_keys`."""

ALIKE = "alike"
"""Field with ids of other records and how alike they are."""


def has_skeleton(prefix: str) -> bool:
    """Return true if values of a namespace have a skeleton; an application's own values and bookkeeping have none.

    >>> has_skeleton("memory.ann.semantic"), has_skeleton("memory_work.ann"), has_skeleton("users.ann")
    (True, True, False)
    """
    return prefix.partition(".")[0] in (ROOT, WORK)


def skeleton_of(prefix: str, value: Mapping[str, Any], keyed: Callable[[str], str]) -> dict[str, Any]:
    """Return the fields of a value that stay readable for the database, with ids hashed by `keyed`.

    >>> skeleton_of("memory.ann.semantic", {"kind": "fact", "text": "tea", "source_ids": ["m1:0"]}, str.upper)
    {'kind': 'fact', 'source_ids': ['M1']}
    """
    if not has_skeleton(prefix):
        return {}
    found: dict[str, Any] = {}
    for name, part in value.items():
        if name in PLAIN:
            if part is None or isinstance(part, str | int | float):
                found[name] = part
        elif name in KEYED:
            if isinstance(part, str):
                found[name] = keyed(part) if part else ""
        elif name in LINKS:
            found |= _links(name, part, keyed)
        elif name == ALIKE and isinstance(part, Mapping):
            found[name] = dict.fromkeys(sorted(map(keyed, part)), 0)
    return found


def _links(name: str, named: Any, keyed: Callable[[str], str]) -> dict[str, Any]:
    if isinstance(named, str):
        named = [named]
    if not isinstance(named, list | tuple):
        return {}
    ids = [one.get("to") if isinstance(one, Mapping) else one for one in named]
    # of a part of a message, the message
    return {
        name: [keyed(id_.partition(":")[0] if name == "source_ids" else id_) for id_ in ids if isinstance(id_, str)]
    }


# Sealed items: a row of `store` under a keyed id; its value is a skeleton and the sealed value.

_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def is_sealed(value: Any) -> bool:
    """Return true if a stored value is sealed."""
    return isinstance(value, Mapping) and isinstance(value.get(SEALED), str)


def sealed_value(
    key: OwnerKey, prefix: str, item: str, value: Mapping[str, Any], *, version: int | None = None
) -> dict[str, Any]:
    """Return a storable value sealed, always with the same result. Blocking, in proportion to its length.

    `item` is the item's plain key, `version` the data key, by default the current one.
    """
    stored = key.keyed(item)
    plain = _canonical([item, value]).encode()
    sealed = key.seal(plain, _bound_of_sealed_items(prefix, stored), version=version)
    return {**skeleton_of(prefix, value, key.keyed), SEALED: b64encode(sealed).decode()}


def opened_value(key: OwnerKey, prefix: str, stored: str, value: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return an item's plain key and its opened value; `stored` is the key of its row."""
    item, opened = json.loads(opened_json(key, prefix, stored, value[SEALED]))
    return item, opened


def opened_json(key: OwnerKey, prefix: str, stored: str, sealed: str) -> bytes:
    """Return the opened JSON of the text in the field `SEALED`: an item's plain key and its value."""
    try:
        data = b64decode(sealed, validate=True)
    except ValueError:
        raise SealError("A sealed value is damaged: it is not base64.") from None
    return key.open(data, _bound_of_sealed_items(prefix, stored))


def _canonical(value: Any) -> str:
    try:
        return _encoder.encode(value)
    except TypeError:
        # names that are numbers and names that are text have no order before they are JSON
        return _canonical(json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False)))


def _bound_of_sealed_items(prefix: str, stored: str) -> bytes:
    # no namespace holds NUL, and keyed ids are of one length
    return f"{prefix}\0{stored}/value".encode()
