"""Processor time that a PostgreSQL server on this machine takes, by what the kernel counts for its backends.

The embedded server comes without pg_stat_statements, and that counts time that passes, waiting included. Linux says of
each process how many nanoseconds it was on a processor: what else the machine does changes little of it. Background
processes of the server (autovacuum, the writer) are left out, as they work for whatever came before.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from psycopg import AsyncConnection

_BACKENDS = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"


class DatabaseCpu:
    """The processor time of a server's backends since this began to look.

    Args:
        conn: A connection of its own, which is not counted.
    """

    def __init__(self, conn: AsyncConnection) -> None:
        self._conn = conn
        self._spent: dict[int, int] = {}

    async def milliseconds(self) -> float:
        """Return what all backends have taken up to now, those that have ended included as they were last seen."""
        found = await self._conn.execute(_BACKENDS)
        for (pid,) in await found.fetchall():
            self._spent[pid] = _on_processor(pid) or self._spent.get(pid, 0)
        return sum(self._spent.values()) / 1e6


@asynccontextmanager
async def watch_database(url: str) -> AsyncIterator[DatabaseCpu | None]:
    """Watch a server that runs on this machine.

    Args:
        url: A database of it.

    Yields:
        Its processor time; None where the kernel does not tell.
    """
    async with await AsyncConnection.connect(url, autocommit=True) as conn:
        yield DatabaseCpu(conn) if _on_processor(conn.info.backend_pid) is not None else None


def _on_processor(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0])
    except OSError:
        return None
