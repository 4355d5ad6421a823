"""Cosines of vectors in half precision, the same for equal vectors wherever they stand.

NumPy converts half precision one number at a time (measured: 10,000 vectors of 384 in 9 ms). Shifting the bits to their
single-precision positions gives the number times 2^-112, exactly; with the other vector times 2^112 the products are
right again (1.5 ms).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
