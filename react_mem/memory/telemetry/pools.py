"""The health of the connection pools of this process."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from psycopg_pool import AsyncConnectionPool

from react_mem.memory.telemetry.emit import Attributes, observe

_pools: weakref.WeakSet[AsyncConnectionPool[Any]] = weakref.WeakSet()


def watch_pool(pool: AsyncConnectionPool[Any]) -> None:
    """Have a pool's connections and who waits for them observed, for as long as it is open.

    Args:
        pool: The pool.
    """
    _pools.add(pool)


def _stats() -> Iterator[dict[str, int]]:
    for pool in list(_pools):
        if not pool.closed:
            yield pool.get_stats()


def _connections() -> Iterator[tuple[float, Attributes]]:
    for stats in _stats():
        idle = stats.get("pool_available", 0)
        yield idle, {"state": "idle"}
        yield stats.get("pool_size", 0) - idle, {"state": "used"}


def _failures() -> Iterator[tuple[float, Attributes]]:
    for stats in _stats():
        yield stats.get("requests_errors", 0), {"failure": "requests"}
        yield stats.get("connections_errors", 0), {"failure": "connections"}
        yield stats.get("connections_lost", 0) + stats.get("returns_bad", 0), {"failure": "lost"}


def _walls() -> Iterator[tuple[float, Attributes]]:
    for pool in list(_pools):
        if not pool.closed:
            yield bool(getattr(pool, "has_wall", False)), {}


observe("pool.connections", _connections)
observe("pool.limit", lambda: ((stats.get("pool_max", 0), {}) for stats in _stats()))
observe("pool.waiting", lambda: ((stats.get("requests_waiting", 0), {}) for stats in _stats()))
observe("pool.failures", _failures)
observe("pool.row_security", _walls)
