"""A Citus cluster for tests: `CITUS_URL` is its coordinator, and a superuser of every node.

Where it is set, the databases of the tests of storage are distributed over its nodes.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

import pytest
from psycopg import AsyncConnection
from psycopg.sql import SQL, Identifier

CITUS_URL = os.environ.get("CITUS_URL", "")

needs_citus = pytest.mark.skipif(not CITUS_URL, reason="CITUS_URL names no coordinator of a Citus cluster")
one_server = pytest.mark.skipif(bool(CITUS_URL), reason="CITUS_URL is set, and this is about one server")

FIRST_DISTRIBUTED = 23
"""The number of the newest migration when a database could first be distributed."""


class Node(NamedTuple):
    """A node of the cluster."""

    host: str
    port: int

    def url(self, database: str) -> str:
        """Return the URL of a database on it, as the coordinator's user."""
        parts = urlsplit(CITUS_URL)
        user = parts.netloc.rpartition("@")[0]
        place = f"{self.host}:{self.port}"
        return urlunsplit(parts._replace(netloc=f"{user}@{place}" if user else place, path=f"/{database}"))


async def nodes(url: str = CITUS_URL) -> list[Node]:
    """Return the nodes of a cluster, the coordinator first."""
    async with await AsyncConnection.connect(url, autocommit=True) as conn:
        found = await conn.execute(
            "SELECT nodename, nodeport FROM pg_dist_node WHERE noderole = 'primary' ORDER BY groupid"
        )
        return [Node(*row) for row in await found.fetchall()]


@asynccontextmanager
async def database_on_all() -> AsyncIterator[str]:
    """Make a database on every node, joined to a cluster of its own, and drop it afterwards."""
    name = f"test_{uuid.uuid4().hex}"
    cluster = await nodes()
    await asyncio.gather(*(_make(node, name) for node in cluster))
    first, *others = cluster
    try:
        async with await AsyncConnection.connect(first.url(name), autocommit=True) as conn:
            # a few: making them is most of the time of a small test
            await conn.execute(SQL("ALTER DATABASE {} SET citus.shard_count = 4").format(Identifier(name)))
            await conn.execute("SELECT citus_set_coordinator_host(%s, %s)", (first.host, first.port))
            for node in others:
                await conn.execute("SELECT citus_add_node(%s, %s)", (node.host, node.port))
        yield first.url(name)
    finally:
        for node in cluster:
            async with await AsyncConnection.connect(node.url("postgres"), autocommit=True) as conn:
                await conn.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))


@asynccontextmanager
async def schema_on_all(url: str) -> AsyncIterator[str]:
    """Make a schema in a database of a cluster, and drop it afterwards: that takes a fraction of a database's time."""
    name = f"test_{uuid.uuid4().hex}"
    async with await AsyncConnection.connect(url, autocommit=True) as conn:
        await conn.execute(SQL("CREATE SCHEMA {}").format(Identifier(name)))
    try:
        yield f"{url}?options=-csearch_path%3D{name}%2Cpublic"
    finally:
        async with await AsyncConnection.connect(url, autocommit=True) as conn:
            await conn.execute("SET client_min_messages = warning")
            await conn.execute(SQL("DROP SCHEMA {} CASCADE").format(Identifier(name)))


async def _make(node: Node, name: str) -> None:
    async with await AsyncConnection.connect(node.url("postgres"), autocommit=True) as conn:
        await conn.execute("SET client_min_messages = warning")
        await conn.execute(SQL("CREATE DATABASE {} STRATEGY file_copy").format(Identifier(name)))
    async with await AsyncConnection.connect(node.url(name), autocommit=True) as conn:
        await conn.execute("CREATE EXTENSION citus")
        await conn.execute("CREATE EXTENSION vector")
