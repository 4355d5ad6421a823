"""Cosines of vectors in half precision, bit for bit as pgvector computes them.

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

_ALONE = 250_000
"""Multiplications of one product of matrices: beyond, OpenBLAS wakes its threads, which costs more than they save."""

_BETWEEN = 13
"""Difference of the exponents' positions in the two formats, in bits."""

_SIGN_AND_NUMBER = np.int32(-0x70002000)
"""Mask of the shifted number without the copies of its sign bit."""

_SCALE = np.float32(2.0**112)

_LANES = 8
"""Parallel sums of pgvector: the order of the additions decides the last bits."""


def in_half_precision(vector: Any) -> Halves:
    """Round a vector as the database does: to single precision, then to half."""
    return np.asarray(vector, dtype=np.float32).astype(np.float16)


def dot_products(vectors: Halves, other: Halves) -> NDArray[np.float32]:
    """Return the dot products of the rows with a vector, in single precision."""
    found = np.empty(len(vectors), dtype=np.float32)
    scaled = other.astype(np.float32) * _SCALE
    moved = np.empty((min(_AT_ONCE, len(vectors)), len(other)), dtype=np.int32)
    for start in range(0, len(vectors), _AT_ONCE):
        part = vectors[start : start + _AT_ONCE]
        np.dot(_widened(part, moved[: len(part)]), scaled, out=found[start : start + len(part)])
    return found


def exact_products(vectors: Halves, other: Halves) -> NDArray[np.float32]:
    """Return the dot products of some hundred rows with a vector, bit for bit as pgvector."""
    scaled = other.astype(np.float32) * _SCALE
    steps, left = _in_steps(vectors)
    even = scaled[: len(scaled) - left.shape[1]].reshape(len(steps), _LANES)
    return _added(steps * np.tile(even, len(vectors)), left * scaled[even.size :])


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
    """Return the squared lengths of the rows, bit for bit as pgvector."""
    found = np.empty(len(vectors), dtype=np.float32)
    for start in range(0, len(vectors), _AT_ONCE):
        steps, left = (part * _SCALE for part in _in_steps(vectors[start : start + _AT_ONCE]))
        found[start : start + _AT_ONCE] = _added(steps * steps, left * left)
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


def _in_steps(vectors: Halves) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the numbers of vectors, times 2^-112, in the order of pgvector's summation.

    The first array has a row per step with `_LANES` numbers of each vector in turn; the second a row per vector with
    the remaining numbers.
    """
    rows, dims = vectors.shape
    even = dims - dims % _LANES
    # turned while a number takes two bytes, and the numbers of a step as one
    whole = np.ascontiguousarray(vectors[:, :even]).view(f"V{_LANES * vectors.itemsize}") if rows and even else None
    turned = vectors[:0, :0] if whole is None else whole.T.copy().view(np.float16)
    parts = turned.reshape(even // _LANES, rows * _LANES), vectors[:, even:]
    steps, left = (_widened(part, np.empty(part.shape, dtype=np.int32)) for part in parts)
    return steps, left


def _added(steps: NDArray[np.float32], left: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the sums of the products: of the steps lane by lane, then of the lanes in halves, then of the rest."""
    lanes = np.add.reduce(steps, axis=0).reshape(len(left), _LANES)
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    found: NDArray[np.float32] = lanes[:, 0]
    for column in left.T:
        found = found + column
    return found
