"""The index of one namespace in this process: immutable segments of packed vectors, words and keys."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Cosines of vectors in half precision, the same for equal vectors wherever they stand.

Floats = NDArray[np.float64]
Halves = NDArray[np.float16]
Rows = NDArray[np.int64]

_AT_ONCE = 512
"""Vectors of a step: the intermediate results stay in the processor's cache."""

_TOGETHER = 16
"""OpenBLAS adds up the last of other numbers of rows in another order."""

_ALONE = 250_000
"""Multiplications of one product of matrices: beyond, OpenBLAS wakes its threads, which costs more than they save."""

_BETWEEN = 13
"""Difference of the exponents' positions in the two formats, in bits."""

_SIGN_AND_NUMBER = np.int32(-0x70002000)
"""Mask of the shifted number without the copies of its sign bit."""

_SCALE = np.float32(2.0**112)


def in_half_precision(vector: Any) -> Halves:
    """Round a vector as the database does: to single precision, then to half."""
    return np.asarray(vector, dtype=np.float32).astype(np.float16)


def dot_products(vectors: Halves, other: Halves) -> NDArray[np.float32]:
    """Return the dot products of the rows with a vector, in single precision."""
    size = -(-len(vectors) // _TOGETHER) * _TOGETHER
    found = np.empty(size, dtype=np.float32)
    scaled = other.astype(np.float32) * _SCALE
    moved = np.zeros((min(_AT_ONCE, size), len(other)), dtype=np.int32)
    for start in range(0, len(vectors), _AT_ONCE):
        part = vectors[start : start + _AT_ONCE]
        _widened(part, moved[: len(part)])
        end = min(start + _AT_ONCE, size)
        np.dot(moved[: end - start].view(np.float32), scaled, out=found[start:end])
    return found[: len(vectors)]


def products_between(vectors: Halves, others: Halves) -> NDArray[np.float32]:
    """Return the matrix of dot products of some hundred rows with some tens of others, in single precision."""
    found = np.empty((len(vectors), len(others)), dtype=np.float32)
    scaled = _widened(others, np.empty(others.shape, dtype=np.int32)).T * _SCALE * _SCALE
    wide = _widened(vectors, np.empty(vectors.shape, dtype=np.int32))
    at_once = max(1, _ALONE // max(1, scaled.size))
    for start in range(0, len(vectors), at_once):
        np.dot(wide[start : start + at_once], scaled, out=found[start : start + at_once])
    return found


def squared_lengths(vectors: Halves) -> NDArray[np.float32]:
    """Return the squared lengths of the rows, in single precision."""
    found = np.empty(len(vectors), dtype=np.float32)
    for start in range(0, len(vectors), _AT_ONCE):
        wide = vectors[start : start + _AT_ONCE].astype(np.float32)
        np.einsum("ij,ij->i", wide, wide, out=found[start : start + _AT_ONCE])
    return found


def cosines(products: NDArray[np.float32], squares: NDArray[np.float32], square: np.float32) -> Floats:
    """Return cosines from dot products and squared lengths; NaN for a missing vector or one of length 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found = products / np.sqrt(squares.astype(np.float64) * float(square))
    return 1 - (1 - np.clip(found, -1, 1))  # as the database, which keeps distances


def _widened(vectors: Halves, moved: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return vectors in single precision, times 2^-112, in the memory of `moved`."""
    np.copyto(moved, vectors.view(np.int16))
    np.left_shift(moved, _BETWEEN, out=moved)
    np.bitwise_and(moved, _SIGN_AND_NUMBER, out=moved)
    return moved.view(np.float32)


# Many strings in one piece of memory: a Python string takes fifty bytes more than its text.


class PackedStrings:
    """Strings by number; of surrogates only pairs are restored.

    >>> packed = PackedStrings(["tea", "", "cà phê"])
    >>> packed[2], len(packed)
    ('cà phê', 3)
    """

    __slots__ = ("_data", "_ends")

    def __init__(self, strings: Iterable[str]) -> None:
        parts = [string.encode("utf-8", "surrogatepass") for string in strings]
        self._data = b"".join(parts)
        self._ends: NDArray[np.int64] = np.cumsum([0, *map(len, parts)], dtype=np.int64)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, number: int) -> str:
        return self._data[self._ends[number] : self._ends[number + 1]].decode("utf-8", "surrogatepass")

    @property
    def nbytes(self) -> int:
        return len(self._data) + self._ends.nbytes


NO_PLACE = np.iinfo(np.int64).max
"""Place of a text outside of a conversation."""

NO_TIME = np.iinfo(np.int64).min
"""Time of a text without one."""

_MARKS_KEPT = 16
"""Cached masks, a byte a text each: every search asks for the same few."""


@dataclass(frozen=True)
class TextColumns:
    """Index entries as columns, a row per entry; in any order, each (key, field name) once.

    Vectors are arbitrary where not `embedded`; `places` are positions in the conversation (or `NO_PLACE`), `said_at`
    microseconds since 1970 (or `NO_TIME`), and `lengths` numbers of words (0 for unknown). `words` are the numbers of
    all texts' words and marks, text after text, each up to its end in `word_ends`; of an `unread` text only the marks.
    """

    keys: Sequence[str]
    field_names: Sequence[str]
    vectors: Halves
    embedded: NDArray[np.bool_]
    places: Rows
    said_at: Rows
    lengths: NDArray[np.float32]
    unread: NDArray[np.bool_]
    words: NDArray[np.int32]
    word_ends: Rows

    def per_text(self) -> list[NDArray[Any]]:
        """Return the columns that an index keeps, first the squared lengths of the vectors; NaN for none."""
        squares = np.where(self.embedded, squared_lengths(self.vectors), np.float32(np.nan))
        return [squares, self.places, self.said_at, self.lengths, self.unread]


class Segment:
    """Vectors, words and keys of some texts, which are numbered from 0.

    `postings` are pairs of a word's and a text's number, as `word << 32 | text`, in any order.
    """

    def __init__(self, keys: Sequence[str], field_names: Sequence[str], vectors: Halves, postings: Rows) -> None:
        self.keys = PackedStrings(keys)
        self.vectors = np.ascontiguousarray(vectors)
        numbers: dict[str, int] = {}
        self._fields = np.fromiter((numbers.setdefault(name, len(numbers)) for name in field_names), np.int32)
        self._names: tuple[str, ...] = tuple(numbers)
        hashes = np.fromiter(map(hash, keys), np.int64)
        self._by_hash = np.argsort(hashes, kind="stable").astype(np.int32)
        self._hashes = hashes[self._by_hash]
        # np.unique hashes, which takes ten times as long as sorting
        rising = np.sort(postings)
        distinct = rising[np.diff(rising, prepend=-1) != 0]
        of_words = distinct >> 32
        self._texts = (distinct & 0xFFFF_FFFF).astype(np.int32)
        firsts = np.flatnonzero(np.diff(of_words, prepend=-1))
        self._words = of_words[firsts].astype(np.int32)
        self._starts = np.append(firsts, len(distinct)).astype(np.int32)
        self._marked: dict[int, NDArray[np.bool_]] = {}

    @classmethod
    def of(cls, columns: TextColumns) -> Segment:
        texts = np.repeat(np.arange(len(columns.keys)), np.diff(columns.word_ends, prepend=0))
        return cls(columns.keys, columns.field_names, columns.vectors, columns.words.astype(np.int64) << 32 | texts)

    @classmethod
    def merged(cls, parts: Sequence[tuple[Segment, Rows]]) -> Segment:
        """Merge segments, in order, each with the sorted numbers of the texts to keep."""
        keys: list[str] = []
        names: list[str] = []
        postings: list[Rows] = []
        for segment, kept in parts:
            renumbered = np.full(len(segment), -1)
            renumbered[kept] = np.arange(len(keys), len(keys) + len(kept))
            texts = renumbered[segment._texts]
            words = np.repeat(segment._words.astype(np.int64), np.diff(segment._starts))
            postings.append((words << 32 | texts)[texts >= 0])
            keys += map(segment.keys.__getitem__, kept.tolist())
            names += map(segment.field_name, kept.tolist())
        vectors = np.concatenate([segment.vectors[kept] for segment, kept in parts])
        return cls(keys, names, vectors, np.concatenate(postings))

    def __len__(self) -> int:
        return len(self.keys)

    def field_name(self, text: int) -> str:
        return self._names[int(self._fields[text])]

    def texts_with(self, words: NDArray[np.int32]) -> tuple[NDArray[np.int32], Rows]:
        """Return the sorted texts with each word, word after word, and the count for each word."""
        places = self._words.searchsorted(words)
        firsts = self._starts[places]
        # behind the last word there is none
        known = self._words[np.minimum(places, len(self._words) - 1)] == words if len(self._words) else False
        counts = np.where(known, self._starts[np.minimum(places + 1, len(self._words))] - firsts, 0)
        pieces = [
            self._texts[first : first + count]
            for first, count in zip(firsts.tolist(), counts.tolist(), strict=True)
            if count
        ]
        return np.concatenate(pieces) if pieces else self._texts[:0], counts

    def marked(self, mark: int) -> NDArray[np.bool_]:
        """Return a mask of the texts with a mark; the last few masks are cached."""
        if (found := self._marked.get(mark)) is None:
            # a list made at once, since several threads may search
            for other in list(self._marked)[: 1 - _MARKS_KEPT]:
                self._marked.pop(other, None)
            found = np.zeros(len(self), dtype=np.bool_)
            place = int(self._words.searchsorted(mark))
            if place < len(self._words) and self._words[place] == mark:
                found[self._texts[self._starts[place] : self._starts[place + 1]]] = True
            self._marked[mark] = found
        return found

    def texts_of(self, keys: Sequence[str]) -> Iterator[int]:
        """Yield the texts of items."""
        hashes = np.fromiter(map(hash, keys), np.int64)
        firsts = np.searchsorted(self._hashes, hashes).tolist()
        lasts = np.searchsorted(self._hashes, hashes, side="right").tolist()
        for key, first, last in zip(keys, firsts, lasts, strict=True):
            yield from (text for text in self._by_hash[first:last].tolist() if self.keys[text] == key)

    @property
    def nbytes(self) -> int:
        """Size in bytes, with a full cache of masks."""
        arrays = (self.vectors, self._fields, self._hashes, self._by_hash, self._words, self._starts, self._texts)
        return self.keys.nbytes + sum(array.nbytes for array in arrays) + _MARKS_KEPT * len(self)


_SMALL = 256
"""Size up to which a segment is merged with changes: copying it costs less than one more segment in each search."""

_GROWTH = 4
"""Ratio of a segment to its successors from which it stays apart. A text is copied once per power of this ratio, and a
search visits as many segments.
"""

_DEAD_SHARE = 4
"""A segment with more than one dead text in so many is copied without them."""

_NONE = np.zeros(0, dtype=np.int64)
_NONE_MARKED = np.zeros(0, dtype=np.bool_)

Entries = Iterable[tuple[str, str]]


class IndexedTexts:
    """Texts of one namespace, immutable, so that a search may run in a thread.

    A change returns another index that shares the unchanged segments. Texts are numbered; `order` lists the live ones
    by place, and no answer has dead ones.

    10,000 texts of 384 dimensions take 0.1 s to build and 1 ms to change, now and then 0.1 s: use a thread for more
    than a thousand. `columns` (`TextColumns.per_text`) are over the texts of all segments; `alive` is the mask of the
    live ones.
    """

    def __init__(self, segments: Sequence[Segment], columns: Sequence[NDArray[Any]], alive: NDArray[np.bool_]) -> None:
        self._segments = tuple(segments)
        self._bases: list[int] = [0, *np.cumsum([len(segment) for segment in segments]).tolist()]
        self._columns = tuple(columns)
        self.squares, self.places, self.said_at, self.lengths, self.unread = self._columns
        self.alive = None if alive.all() else alive
        order = np.argsort(self.places, kind="stable")
        self.order: Rows = order if self.alive is None else order[alive[order]]
        self.ranks: Rows = np.full(len(alive), -1)
        self.ranks[self.order] = np.arange(len(self.order))
        in_order = self.places[self.order]
        self.ordered_places: Rows = in_order[: np.searchsorted(in_order, NO_PLACE)]
        self.total_length = float(self.lengths[self.order].sum(dtype=np.float64))

    @classmethod
    def of(cls, columns: TextColumns) -> IndexedTexts:
        segments = [Segment.of(columns)] if columns.keys else []
        return cls(segments, columns.per_text(), np.ones(len(columns.keys), dtype=bool))

    def with_changes(self, changed: TextColumns, present: Entries | None = None) -> IndexedTexts:
        """Return the index with new or rewritten entries, and of the others those present; None if none is gone."""
        alive = np.ones(self.size, dtype=bool) if self.alive is None else self.alive.copy()
        written = set(zip(changed.keys, changed.field_names, strict=True))
        replaced = [text for text in self.texts_of(dict.fromkeys(changed.keys)) if alive[text]]
        alive[[text for text in replaced if (self.key(text), self.field_name(text)) in written]] = False
        if present is not None:
            left = set(present)
            there = np.flatnonzero(alive).tolist()
            alive[[text for text in there if (self.key(text), self.field_name(text)) not in left]] = False
        segments, sources = self._compacted(alive, len(changed.keys))
        if changed.keys:
            # together with the last, if that was left out for it
            *_, last = segments
            segments[-1] = [*last, (Segment.of(changed), np.arange(len(changed.keys)))]
        pairs = zip(self._columns, changed.per_text(), strict=True)
        columns = [np.concatenate([old[sources], new]) for old, new in pairs]
        # a segment of which all is kept stays as it is
        whole = [len(parts) == 1 and len(parts[0][1]) == len(parts[0][0]) for parts in segments]
        return IndexedTexts(
            [parts[0][0] if same else Segment.merged(parts) for parts, same in zip(segments, whole, strict=True)],
            columns,
            np.concatenate([alive[sources], np.ones(len(changed.keys), dtype=bool)]),
        )

    def _compacted(self, alive: NDArray[np.bool_], new: int) -> tuple[list[list[tuple[Segment, Rows]]], Rows]:
        """Return the groups of segments to merge, each with its texts to keep, and the numbers of these texts.

        The last group has room for `new` texts, if any.
        """
        groups: list[list[tuple[Segment, Rows]]] = [[]] if new else []
        sources: list[Rows] = []
        size, is_open = new, bool(new)
        for segment, base in zip(reversed(self._segments), reversed(self._bases[:-1]), strict=True):
            of_it = alive[base : base + len(segment)]
            there = int(of_it.sum())
            joins = is_open and (there <= _SMALL or there < _GROWTH * size)
            copied = joins or (len(segment) - there) * _DEAD_SHARE > len(segment)
            kept = np.flatnonzero(of_it) if copied else np.arange(len(segment))
            sources.insert(0, kept + base)
            if joins:
                groups[0].insert(0, (segment, kept))
                size += there
            elif there:
                is_open = False
                groups.insert(0, [(segment, kept)])
            else:
                sources.pop(0)
        return groups, np.concatenate(sources) if sources else np.zeros(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.order)

    @property
    def size(self) -> int:
        """Number of texts, dead ones included."""
        return self._bases[-1]

    @property
    def nbytes(self) -> int:
        """Size in bytes, shared segments included."""
        arrays = (*self._columns, self.order, self.ranks)
        return sum(array.nbytes for array in arrays) + sum(segment.nbytes for segment in self._segments)

    def key(self, text: int) -> str:
        number = self._segment_of(text)
        return self._segments[number].keys[text - self._bases[number]]

    def field_name(self, text: int) -> str:
        number = self._segment_of(text)
        return self._segments[number].field_name(text - self._bases[number])

    def texts_of(self, keys: Iterable[str]) -> list[int]:
        """Return the texts of items, dead ones included."""
        if not (wanted := list(keys)):
            return []
        pairs = zip(self._segments, self._bases, strict=False)
        return [text + base for segment, base in pairs for text in segment.texts_of(wanted)]

    def texts_with(self, words: NDArray[np.int32]) -> tuple[Rows, Rows]:
        """Return the texts with each word, and beside each text the position of the word in `words`.

        For one text the words come in the given order.
        """
        found = [segment.texts_with(words) for segment in self._segments]
        texts = np.concatenate([_NONE, *(part + base for (part, _), base in zip(found, self._bases, strict=False))])
        asked = np.arange(len(words))
        of_words = np.concatenate([_NONE, *(np.repeat(asked, counts) for _, counts in found)])
        if self.alive is None:
            return texts, of_words
        there = self.alive[texts]
        return texts[there], of_words[there]

    def marked(self, mark: int) -> NDArray[np.bool_]:
        """Return a read-only mask of the texts with a mark."""
        parts = [segment.marked(mark) for segment in self._segments]
        return parts[0] if len(parts) == 1 else np.concatenate([_NONE_MARKED, *parts])

    def products(self, other: Halves) -> NDArray[np.float32]:
        """Return the dot products of all vectors with another, in single precision; arbitrary for missing vectors."""
        for segment in self._segments:
            if segment.vectors.shape[1] != len(other):
                raise ValueError(f"The texts have vectors of {segment.vectors.shape[1]} numbers, not {len(other)}.")
        parts = [dot_products(segment.vectors, other) for segment in self._segments]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)

    def vectors(self, texts: Rows) -> Halves:
        """Return the vectors of some texts; arbitrary for missing vectors."""
        if len(self._segments) == 1:
            return self._segments[0].vectors[texts]
        dims = self._segments[0].vectors.shape[1] if self._segments else 0
        vectors = np.empty((len(texts), dims), dtype=np.float16)
        for segment, base in zip(self._segments, self._bases, strict=False):
            here = np.flatnonzero((texts >= base) & (texts < base + len(segment)))
            vectors[here] = segment.vectors[texts[here] - base]
        return vectors

    def _segment_of(self, text: int) -> int:
        return bisect_right(self._bases, text) - 1
