"""An immutable piece of an index: the packed vectors, words and keys of some texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from react_mem.memory.index.half_precision import Halves, Rows, squared_lengths

# Many strings in one piece of memory: a Python string takes fifty bytes more than its text.


class PackedStrings:
    """Strings by number; of surrogates only pairs are restored.

    >>> packed = PackedStrings(["tea", "", "cà phê"])
    >>> packed[2], len(packed), list(packed.take([1, 0]))
    ('cà phê', 3, ['', 'tea'])
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

    def take(self, numbers: Iterable[int]) -> Sequence[str]:
        return [self[number] for number in numbers]

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

    Args:
        keys: The items' keys.
        field_names: The items' fields and pieces.
        vectors: Vectors in half precision; arbitrary where `embedded` is false.
        places: Position in the conversation; `NO_PLACE` for none.
        said_at: Time in microseconds since 1970; `NO_TIME` for unknown.
        lengths: Number of words; 0 for unknown.
        unread: True while the words are unknown: then `words` has the marks alone.
        words: Numbers of all texts' words and marks, text after text, in any order.
        word_ends: End of each text in `words`.
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

    def squares(self) -> NDArray[np.float32]:
        """Return the squared lengths of the vectors; NaN for none."""
        return np.where(self.embedded, squared_lengths(self.vectors), np.float32(np.nan))


class Segment:
    """Vectors, words and keys of some texts, which are numbered from 0.

    Args:
        keys: The items' keys.
        field_names: The items' fields and pieces.
        vectors: Vectors in half precision.
        postings: Pairs of a word's and a text's number, as `word << 32 | text`, in any order.
    """

    __slots__ = (
        "_by_hash",
        "_fields",
        "_hashes",
        "_marked",
        "_names",
        "_starts",
        "_texts",
        "_words",
        "keys",
        "vectors",
    )

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
            keys += segment.keys.take(kept.tolist())
            names += [segment.field_name(text) for text in kept.tolist()]
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

    def texts_of(self, keys: Iterable[str]) -> Iterator[tuple[str, int]]:
        """Yield the texts of items, with their keys."""
        wanted = list(keys)
        hashes = np.fromiter(map(hash, wanted), np.int64)
        firsts = np.searchsorted(self._hashes, hashes).tolist()
        lasts = np.searchsorted(self._hashes, hashes, side="right").tolist()
        for key, first, last in zip(wanted, firsts, lasts, strict=True):
            for place in range(first, last):
                text = int(self._by_hash[place])
                if self.keys[text] == key:
                    yield key, text

    @property
    def nbytes(self) -> int:
        """Size in bytes, with a full cache of masks."""
        arrays = (self.vectors, self._fields, self._hashes, self._by_hash, self._words, self._starts, self._texts)
        return self.keys.nbytes + sum(array.nbytes for array in arrays) + _MARKS_KEPT * len(self)
