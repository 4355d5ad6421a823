"""Statistics of a series (percentiles, bootstrap intervals), and the memory of this process."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

RESAMPLES = 10_000
"""Draws with replacement: the ends of an interval are then stable to a tenth of a point."""

_DRAWN_AT_ONCE = 100
_STATUS = Path("/proc/self/status")


def percentile(values: Iterable[float], percent: int) -> float:
    """Return the nearest-rank percentile.

    >>> percentile([4, 1, 2, 3], 50), percentile([4, 1, 2, 3], 95)
    (2, 4)
    """
    ordered = sorted(values)
    return round(ordered[-(-percent * len(ordered) // 100) - 1], 2)


def p50_p95(name: str, values: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile.

    >>> p50_p95("turn", [1, 2, 3])
    {'turn_p50_ms': 2, 'turn_p95_ms': 3}
    """
    return {f"{name}_p{percent}_ms": percentile(values, percent) for percent in (50, 95)}


def interval(
    values: np.ndarray[Any, np.dtype[np.float64]], together: Sequence[str] | None = None
) -> tuple[float, float, float]:
    """Return the mean in its 95 % bootstrap interval, as (low, mean, high).

    Args:
        together: Cluster of each value; by default each value is drawn by itself.

    >>> interval(np.array([0.0, 1.0, 0.0, 1.0]), ["a", "a", "b", "b"])
    (0.5, 0.5, 0.5)
    """
    places = np.arange(values.size) if together is None else np.unique(together, return_inverse=True)[1]
    sums, sizes = np.bincount(places, weights=values), np.bincount(places)
    chance = np.random.default_rng(1)
    means = []
    for _ in range(RESAMPLES // _DRAWN_AT_ONCE):
        drawn = chance.integers(sums.size, size=(_DRAWN_AT_ONCE, sums.size))
        means.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return round(float(low), 4), round(float(values.mean()), 4), round(float(high), 4)


def unit(vectors: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(vectors, dtype=np.float32)
    found: np.ndarray[Any, Any] = array / np.linalg.norm(array, axis=-1, keepdims=True)
    return found


def reset_peak() -> None:
    """Reset the peak memory of this process. Only works on Linux; elsewhere the peak covers the whole run."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_rss_bytes() -> int:
    """Return the peak memory of this process, without the database server."""
    if _STATUS.exists():
        [peak] = [line for line in _STATUS.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:")]
        return int(peak.split()[1]) * 1024
    peak_rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak_rss if sys.platform == "darwin" else peak_rss * 1024
