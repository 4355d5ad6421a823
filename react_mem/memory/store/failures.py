"""Errors of the database driver as errors of ours, which name the cause and the cure.

A message has no statement, no value and no password in it: it reaches logs, and people who watch a turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolClosed

from react_mem.errors import DatabaseFull, DatabaseReadOnly, DatabaseUnavailable, StorageError
from react_mem.memory.llm.causes import scrub

_LOST = ("57P0", "08000", "08003", "08006", "53300")
"""SQLSTATEs, or prefixes: the server stops or starts, the connection is broken, there are too many connections."""
_CHECK_IT = "Check that it runs and that DATABASE_URL is right, or unset DATABASE_URL to use the embedded database."


def place_of(url: str, name: str = "DATABASE_URL") -> str:
    """Return host, port and database of a URL or libpq's key=value form of it, without its password.

    Every URL is checked here before a connection. A DatabaseUnavailable says that the URL, `name` in the error, is
    none, or that a part of its password would be taken for a host or a database.
    """
    parts = _read(url)
    if parts is None:
        raise DatabaseUnavailable(
            f"{name} is not a PostgreSQL URL. It looks like postgresql://user:password@host:5432/database, without a "
            "driver such as `+psycopg`, and with special characters of the password percent-encoded: %40 for @, %2F "
            "for /, %25 for %. In the form key=value a password with spaces stands in single quotes."
        )
    return f"{parts.get('host') or 'localhost'}:{parts.get('port') or 5432}/{parts.get('dbname') or ''}"


def _read(url: str) -> Mapping[str, Any] | None:
    """Return the parts of a URL, or None instead of an error: the parser's errors quote the password."""
    if url.startswith(("postgresql://", "postgres://")):
        before, _, behind = url.partition("://")[2].partition("@")
        # libpq ends the password at the first @, and takes all for a host where a / stands before that
        if "@" in behind or (behind and "/" in before):
            return None
    try:
        parts = conninfo_to_dict(url)
    except (psycopg.Error, ValueError):
        return None
    return parts if re.fullmatch(r"[\d,]*", str(parts.get("port") or "")) else None


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Raise a DatabaseUnavailable where the driver reports that the database is gone, full or read-only."""
    try:
        yield
    except psycopg.Error as error:
        meaning = _meaning_of(error, place)
        if meaning is None:
            raise
        raise meaning from error


def not_available(cause: str, place: str) -> DatabaseUnavailable:
    """Return the error that no connection can be made, with its cause."""
    # the client's own words may end as a question
    ended = cause if cause.rstrip().endswith((".", "?", "!")) else f"{cause}."
    return DatabaseUnavailable(f"The database at {place} is not available: {ended} {_CHECK_IT}")


def no_connection(failure: Exception | None, place: str, seconds: float) -> DatabaseUnavailable:
    """Return the error that a pool has no connection after some seconds.

    `failure` is the error of the last attempt to connect; None if the attempt has not ended.
    """
    if isinstance(failure, DatabaseFull):
        return DatabaseFull(str(failure))
    if isinstance(failure, StorageError):
        return DatabaseUnavailable(str(failure))  # the embedded server does not start, and has said why
    return not_available(_says(failure) if failure else f"no answer within {seconds:.0f} seconds", place)


def all_in_use(connections: int, place: str, seconds: float) -> DatabaseUnavailable:
    """Return the error that all connections of a pool were busy for too long."""
    return DatabaseUnavailable(
        f"All {connections} connections to the database at {place} were in use for {seconds:.0f} seconds. Raise "
        "DATABASE_POOL_MAX, or have fewer conversations at once."
    )


def _meaning_of(error: psycopg.Error, place: str) -> DatabaseUnavailable | None:
    if isinstance(error, errors.DiskFull):
        return DatabaseFull(
            f"The disk of the database at {place} is full ({_says(error)}). What was being written is not stored; "
            "what was stored before is intact. Free space on it, and go on."
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return DatabaseReadOnly(
            f"The database at {place} takes no writes ({_says(error)}). What was being written is not stored. Point "
            "DATABASE_URL at the primary server and not at a replica, or turn default_transaction_read_only off."
        )
    if isinstance(error, PoolClosed):
        return DatabaseUnavailable(
            "This memory is closed: the block of `async with open_memory()` or `open_agent()` has ended. Use it within "
            "the block, or open it again."
        )
    # Without a code the driver itself speaks: the server is gone and has said nothing.
    gone = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
    if (error.sqlstate or "").startswith(_LOST) or (gone and not isinstance(error, errors.PipelineAborted)):
        return DatabaseUnavailable(
            f"The connection to the database at {place} was lost ({_says(error)}). What was being written may not be "
            "stored, all before it is. The next attempt connects again; if it fails too, check that the database runs."
        )
    return None


def _says(error: Exception) -> str:
    said = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return scrub((said or str(error).strip() or type(error).__name__).splitlines()[0])
