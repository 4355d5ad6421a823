"""Index of one owner in a process, and the statement that reads it or its changes.

Every write of an owner bumps the owner's revision in its own transaction, and stamps its rows with it. So an index of
the database finds the changes since a revision; a first read asks for the changes since none. Rows come packed into a
few values: one by one, reading would take ten times as long.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, cached_property
from typing import Any, LiteralString

import numpy as np
from numpy.typing import NDArray
from psycopg.rows import DictRow

from react_mem.memory.index.texts import NO_PLACE, NO_TIME, IndexedTexts, TextColumns

AT_ONCE = 20_000
"""Texts that are read as one value a column: 20 MB. More are read in parts, so that no value is copied for long."""

EVERY = 2**31 - 1
"""No limit."""

_NOTHING = -1
"""Revision before every other."""

_BYTES_OF_AN_OWNER = 2_000

_BYTES_BESIDE_A_VECTOR = 300
"""Bytes of a text of thirty words, without its vector."""

_HEADER = 2
"""Two-byte numbers before those of a vector in binary form: its length, and an unused one."""

_NONE = np.zeros(0, dtype=np.int64)

_ARRAY_HEADER, _EMPTY_ARRAY = 5, 3
"""Four-byte numbers before those of an array in binary form; all that an empty array has."""

_EPOCH = 946_684_800_000_000
"""Microseconds from 1970 to 2000, PostgreSQL's zero."""

COLUMNS: LiteralString = """
    v.prefix, count(*) AS texts, json_agg(v.key)::text AS keys, json_agg(v.field_name)::text AS field_names,
    string_agg(boolsend(v.half IS NOT NULL), '') AS with_vector,
    string_agg(halfvec_send(v.half), '') AS halves,
    string_agg(int4send(COALESCE(cardinality(v.words), -1)), '') AS word_counts,
    string_agg(array_send(v.words), '') AS words,
    string_agg(float4send(COALESCE(v.length, 0)), '') AS lengths,
    string_agg(int8send(COALESCE(v.place, -1)), '') AS places,
    string_agg(timestamptz_send(COALESCE(v.said_at, '-infinity')), '') AS said_at
"""
"""Packed rows of the index, `v`; to be read in binary form."""

_CHANGES: LiteralString = """
    WITH state AS MATERIALIZED (
        SELECT m.name AS model, m.dims, m.epoch, pg_postmaster_start_time() AS started,
            COALESCE(o.revision, 0) AS revision, COALESCE(o.removed, 0) AS removed
        FROM memory_embedding m LEFT JOIN memory_owners o ON o.owner = %(owner)s
    )
    SELECT state.*, FALSE AS present, c.* FROM state LEFT JOIN LATERAL (
        SELECT {columns}
        FROM (
            SELECT * FROM store_vectors v
            WHERE v.owner = %(owner)s AND v.revision > %(since)s AND v.prefix <> ALL(%(large)s::text[])
            LIMIT %(most)s
        ) v
        GROUP BY {group}
    ) c ON TRUE
    UNION ALL
    SELECT state.*, TRUE, p.prefix, 0, p.keys, p.field_names, NULL, NULL, NULL, NULL, NULL, NULL, NULL{nothing}
    FROM state, LATERAL (
        SELECT v.prefix, json_agg(v.key)::text AS keys, json_agg(v.field_name)::text AS field_names
        FROM store_vectors v
        WHERE state.removed > %(since)s AND %(since)s > -1
            AND v.owner = %(owner)s AND v.prefix <> ALL(%(large)s::text[])
        GROUP BY v.prefix
    ) p
"""
"""One statement, so that the revision is that of the rows."""

_SEALED_COLUMNS: LiteralString = """,
    v.sealed IS NOT NULL AS is_sealed, string_agg(v.sealed, '') AS sealed,
    string_agg(int4send(COALESCE(octet_length(v.sealed), -1)), '') AS sealed_sizes,
    string_agg(v.sealed_vector, '') AS sealed_vectors,
    string_agg(int4send(COALESCE(octet_length(v.sealed_vector), -1)), '') AS sealed_vector_sizes
"""
"""Further columns, where rows may be encrypted; encrypted and plain rows come apart."""


@cache
def _changes(*, sealed: bool, in_parts: bool) -> LiteralString:
    # by the namespace alone rows are put together as they come; by a part as well they have to be sorted, on disk
    group: LiteralString = "v.prefix, hashtext(v.key) & %(parts)s" if in_parts else "v.prefix"
    if not sealed:
        return _CHANGES.format(columns=COLUMNS, group=group, nothing="")
    nothing: LiteralString = ", NULL, NULL, NULL, NULL, NULL"
    return _CHANGES.format(columns=COLUMNS + _SEALED_COLUMNS, group=group + ", v.sealed IS NOT NULL", nothing=nothing)


SIZES: LiteralString = "SELECT v.prefix, count(*) AS texts FROM store_vectors v WHERE v.owner = %s GROUP BY v.prefix"


@dataclass(frozen=True)
class OwnerTexts:
    """Immutable index of one owner at one revision: the texts of each namespace, by its prefix.

    Re-embedding everything begins another `epoch`. A standby that took over, or a restored backup, may have given the
    same revisions to other writes, which the start time of the server tells. `large` has the prefixes of namespaces
    that are too large for a process.
    """

    owner: str
    model: str
    epoch: int
    started: datetime
    revision: int
    namespaces: Mapping[str, IndexedTexts]
    large: frozenset[str] = frozenset()

    @cached_property
    def nbytes(self) -> int:
        return _BYTES_OF_AN_OWNER + sum(texts.nbytes for texts in self.namespaces.values())

    def within(self, path: str) -> list[str]:
        """Return the prefixes of the namespaces at a path and below it that are in this index."""
        return [prefix for prefix in self.namespaces if _is_within(prefix, path)]

    def reaches_large(self, path: str) -> bool:
        """Return true if one of the large namespaces is at a path or below it."""
        return any(_is_within(prefix, path) for prefix in self.large)

    def without_large(self, limit: int) -> OwnerTexts:
        """Return the index without the namespaces that have more than `limit` texts."""
        large = {prefix for prefix, texts in self.namespaces.items() if len(texts) > limit}
        if not large:
            return self
        kept = {prefix: texts for prefix, texts in self.namespaces.items() if prefix not in large}
        return replace(self, namespaces=kept, large=self.large | large)

    def follows(self, other: OwnerTexts) -> bool:
        """Return true if this index is as new as another, or newer."""
        return (self.epoch, self.started, self.revision) >= (other.epoch, other.started, other.revision)


def _is_within(prefix: str, path: str) -> bool:
    return not path or prefix == path or prefix.startswith(path + ".")


def changes_statement(
    owner: str,
    known: OwnerTexts | None = None,
    *,
    large: frozenset[str] = frozenset(),
    texts: int = 0,
    sealed: bool = False,
) -> tuple[LiteralString, dict[str, Any]]:
    """Return the statement that reads an owner's index, or the changes since a known one, and its parameters.

    Its answer has to be read in binary form (see `updated`). `large` namespaces are not read. `texts` is their number,
    if known to exceed `AT_ONCE`. `sealed` rows have to be decrypted by the caller.
    """
    return _changes(sealed=sealed, in_parts=texts > AT_ONCE), {
        "owner": owner,
        "since": _NOTHING if known is None else known.revision,
        "large": sorted(large if known is None else known.large),
        "most": EVERY if texts else AT_ONCE + 1,
        "parts": (1 << (texts // AT_ONCE).bit_length()) - 1,
    }


def updated(
    owner: str, known: OwnerTexts | None, rows: Sequence[DictRow], *, large: frozenset[str] = frozenset()
) -> OwnerTexts:
    """Return the present index. Blocking, in proportion to the changes.

    `rows` answer the `changes_statement` of `known`, which is not void (see `is_void`).
    """
    state = rows[0]
    namespaces = {} if known is None else dict(known.namespaces)
    changed: dict[str, list[TextColumns]] = {}
    present: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        if row["present"]:
            present[row["prefix"]] = list(zip(json.loads(row["keys"]), json.loads(row["field_names"]), strict=True))
        elif row["prefix"] is not None:
            opened = row.get("columns")
            changed.setdefault(row["prefix"], []).append(opened or columns_of(row, state["dims"]))
    removed = known is not None and state["removed"] > known.revision
    for prefix in {*changed, *(namespaces if removed else ())}:
        there = present.get(prefix, []) if removed else None
        if there == []:
            namespaces.pop(prefix, None)
            continue
        new = _joined(changed.get(prefix, []), state["dims"])
        texts = namespaces.get(prefix)
        namespaces[prefix] = IndexedTexts.of(new) if texts is None else texts.with_changes(new, there)
    return OwnerTexts(owner, state["model"], state["epoch"], state["started"], state["revision"], namespaces, large)


def is_void(known: OwnerTexts, rows: Sequence[DictRow]) -> bool:
    """Return true if the index must be read anew, since the changes in `rows` do not lead on from it."""
    state = rows[0]
    if (state["epoch"], state["started"]) != (known.epoch, known.started):
        return True
    # a revision from before: the database has been put back to an older state, or the owner has nothing any more
    return state["revision"] < known.revision or is_cut_off(rows)


def is_cut_off(rows: Sequence[DictRow]) -> bool:
    """Return true if there are more texts than one read returns."""
    return sum(row["texts"] or 0 for row in rows) > AT_ONCE


def bytes_of_a_text(dims: int) -> int:
    """Return the approximate bytes of a text in the index, for vectors of `dims` numbers."""
    return 2 * dims + _BYTES_BESIDE_A_VECTOR


def too_large(sizes: Mapping[str, int], limit: int, room: int) -> frozenset[str]:
    """Return the prefixes of the namespaces that a process does not keep: the largest, until the others fit.

    `limit` is the most texts of a namespace, `room` of all together.

    >>> sorted(too_large({"a": 9, "b": 5, "c": 4, "d": 1}, 8, 6))
    ['a', 'b']
    """
    rest = sum(sizes.values())
    large = set()
    for prefix, texts in sorted(sizes.items(), key=lambda one: (-one[1], one[0])):
        if texts <= limit and rest <= room:
            break
        large.add(prefix)
        rest -= texts
    return frozenset(large)


def columns_of(row: DictRow, dims: int) -> TextColumns:
    """Return rows that were packed as `COLUMNS`, with vectors of `dims` numbers."""
    counts = np.frombuffer(row["word_counts"], dtype=">i4").astype(np.int64)
    embedded = np.frombuffer(row["with_vector"], dtype=np.bool_)
    vectors = np.zeros((len(counts), dims), dtype=np.float16)
    if embedded.any():
        sent = np.frombuffer(row["halves"], dtype=">f2").reshape(-1, _HEADER + dims)
        vectors[slice(None) if embedded.all() else embedded] = sent[:, _HEADER:]
    places = np.frombuffer(row["places"], dtype=">i8").astype(np.int64)
    said_at = np.frombuffer(row["said_at"], dtype=">i8").astype(np.int64)
    return TextColumns(
        keys=json.loads(row["keys"]),
        field_names=json.loads(row["field_names"]),
        vectors=vectors,
        embedded=embedded,
        places=np.where(places < 0, NO_PLACE, places),
        said_at=np.where(said_at == NO_TIME, NO_TIME, said_at + _EPOCH),
        lengths=np.frombuffer(row["lengths"], dtype=">f4").astype(np.float32),
        unread=counts < 0,
        words=_words(row["words"] or b"", counts),
        word_ends=np.cumsum(np.maximum(counts, 0)),
    )


def _words(sent: bytes, counts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the numbers of arrays in binary form, concatenated."""
    numbers = np.frombuffer(sent, dtype=">i4")
    # of each array the numbers and the length of each number take turns
    sizes = np.where(counts > 0, _ARRAY_HEADER + 2 * counts, np.where(counts == 0, _EMPTY_ARRAY, 0))
    starts = (np.cumsum(sizes) - sizes)[counts > 0]
    filled = counts[counts > 0]
    firsts = np.cumsum(filled) - filled
    within = np.arange(int(filled.sum())) - np.repeat(firsts, filled)
    return numbers[np.repeat(starts, filled) + _ARRAY_HEADER + 2 * within + 1].astype(np.int32)


def _joined(parts: Sequence[TextColumns], dims: int) -> TextColumns:
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([0, *(len(part.words) for part in parts)])
    return TextColumns(
        keys=[key for part in parts for key in part.keys],
        field_names=[name for part in parts for name in part.field_names],
        vectors=np.concatenate([np.zeros((0, dims), dtype=np.float16), *(part.vectors for part in parts)]),
        embedded=np.concatenate([np.zeros(0, dtype=np.bool_), *(part.embedded for part in parts)]),
        places=np.concatenate([_NONE, *(part.places for part in parts)]),
        said_at=np.concatenate([_NONE, *(part.said_at for part in parts)]),
        lengths=np.concatenate([np.zeros(0, dtype=np.float32), *(part.lengths for part in parts)]),
        unread=np.concatenate([np.zeros(0, dtype=np.bool_), *(part.unread for part in parts)]),
        words=np.concatenate([np.zeros(0, dtype=np.int32), *(part.words for part in parts)]),
        word_ends=np.concatenate([_NONE, *(part.word_ends + end for part, end in zip(parts, ends, strict=False))]),
    )
