"""Row-level security: statements about some owners run in a role that sees the rows of these alone.

Whatever a statement forgets to ask for, the database refuses. The role and the owners hold for one transaction, so that
it works behind a pooler too, and they are sent along with the statements, so that it takes no round trip.

Who works across owners, as migrations, maintenance and workers do, keeps the role that the process has logged in with.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, nullcontext
from typing import LiteralString, Protocol, cast

from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow

from react_mem.memory.model.namespaces import owner_within
from react_mem.memory.store.stored_text import text_array

APPLICATION_ROLE = "react_mem_app"
"""Role that reads and writes for owners. Nobody logs in as it."""

REFUSALS = errors.InsufficientPrivilege, errors.UndefinedTable, errors.UndefinedFunction
"""Errors of a statement in that role once it has been left nothing; of a schema it may not use, it finds no table."""

POLICIES = EVERYBODY, OWNED = "react_mem_everybody", "react_mem_owned"
"""Policies of a table: whom nothing is kept from, and from whom everything is that is not of the owners named."""

_CONFINE: LiteralString = "SELECT set_config('role', %s, TRUE), set_config('react_mem.owners', %s, TRUE)"
_UNCONFINE: LiteralString = "SELECT set_config('role', 'none', TRUE)"


class Confinable(Protocol):
    """A connection that knows whether it is within `walled`."""

    is_confined: bool


@asynccontextmanager
async def walled(
    conn: AsyncConnection[DictRow], owners: Collection[str], *, together: bool = False
) -> AsyncIterator[None]:
    """Run statements that see rows of some owners alone; what they find is fetched behind it.

    Within, there is no other pipeline and no other transaction: either would end this one, and the wall with it.

    Args:
        conn: An autocommit connection outside a transaction.
        owners: The owners.
        together: Whether there are several statements, which are sent in one round trip with or without a wall.
    """
    if not has_wall(conn):
        async with conn.pipeline() if together else nullcontext():
            yield
        return
    confined = cast("Confinable", conn)
    async with conn.pipeline():
        await confine(conn, owners)
        confined.is_confined = True
        try:
            yield
        finally:
            confined.is_confined = False


@asynccontextmanager
async def walled_within(conn: AsyncConnection[DictRow], path: str) -> AsyncIterator[None]:
    """Run a statement about a namespace and those below it, walled if all of them are one owner's.

    Args:
        conn: An autocommit connection outside a transaction.
        path: The namespace, its labels joined by dots.
    """
    owner = owner_within(path)
    async with walled(conn, [owner]) if owner is not None else nullcontext():
        yield


async def confine(conn: AsyncConnection[DictRow], owners: Collection[str]) -> None:
    """Have a transaction see rows of some owners alone, from here on until it ends.

    Args:
        conn: A connection in a transaction, or in a pipeline.
        owners: The owners.
    """
    if has_wall(conn):
        await conn.execute(_CONFINE, (APPLICATION_ROLE, text_array(owners)))


@asynccontextmanager
async def unwalled(conn: AsyncConnection[DictRow], owners: Collection[str]) -> AsyncIterator[None]:
    """Run statements that see the rows of everybody, among others that are walled.

    Args:
        conn: A connection within `walled`.
        owners: Whose rows the others see.
    """
    if has_wall(conn):
        await conn.execute(_UNCONFINE)
    yield
    await confine(conn, owners)


def has_wall(conn: AsyncConnection[DictRow]) -> bool:
    """Return whether the database of a connection has the role and its policies, and the pool uses them."""
    return bool(getattr(conn, "has_wall", False))
