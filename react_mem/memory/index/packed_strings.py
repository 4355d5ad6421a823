"""Many strings in one piece of memory: a Python string takes fifty bytes more than its text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray


class PackedStrings:
    """Strings by number.

    Args:
        strings: The strings; of surrogates only pairs come back as they are.

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
        """Return how many there are."""
        return len(self._ends) - 1

    def __getitem__(self, number: int) -> str:
        """Return a string."""
        return self._data[self._ends[number] : self._ends[number + 1]].decode("utf-8", "surrogatepass")

    def take(self, numbers: Iterable[int]) -> Sequence[str]:
        """Return some of them."""
        return [self[number] for number in numbers]

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        return len(self._data) + self._ends.nbytes
