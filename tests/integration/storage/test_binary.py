"""Values in PostgreSQL's binary form are what the server reads."""

from __future__ import annotations

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from react_mem.memory.store import serialisation as binary
from react_mem.memory.store.writes import read_vector_oid
from tests.support.citus import one_server


@one_server
async def test_the_server_reads_what_was_meant(database_url: str) -> None:
    async with await AsyncConnection.connect(database_url, autocommit=True, row_factory=dict_row) as conn:
        await conn.execute("CREATE EXTENSION vector")
        vector_oid = await read_vector_oid(conn)

        async def read(elements: list[bytes | None], of: str) -> list[str | None]:
            array = binary.array(vector_oid, elements)
            row = await (await conn.execute(f"SELECT %s::{of}[]::text[] AS found", (array,))).fetchone()
            assert row is not None
            return row["found"]

        assert await read([binary.vector([0.5, -2, 0]), None], "vector") == ["[0.5,-2,0]", None]
        assert await read([], "vector") == []
