"""A database of the version before owners is brought up to date while it is read and written, whatever ends it."""

from __future__ import annotations

import asyncio
import itertools
import logging
import re
from typing import Any

import pytest

from react_mem.memory.store import migration_steps, migrations
from react_mem.memory.store.embeddings import EmbeddingModel
from tests.support.databases import open_memory_store, word_model
from tests.support.version_before import BESIDE, WRONG, connect, delete, make, stock_store, write

MODEL = word_model(16)
ROWS, OWNERS, BATCH = 60, 6, 25
NEWEST = migrations.MIGRATIONS
_STEP = "SELECT step FROM memory_migration_steps WHERE v = 22"


class KilledError(Exception):
    """The process that brings the database up to date ends here."""


@pytest.fixture
async def before(database_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a database of that version, which is brought up to date in small batches."""
    await make(database_url, MODEL, ROWS, OWNERS)
    small = (
        (number, re.sub(r"LIMIT [25]000\b", f"LIMIT {BATCH}", text)) for number, text in NEWEST if number <= BESIDE
    )
    monkeypatch.setattr(migrations, "MIGRATIONS", tuple(small))
    monkeypatch.setattr(migration_steps, "_POLL", 0.01)
    monkeypatch.setattr(migration_steps, "_PAUSE", 0.01)
    return database_url


async def bring_up_to_date(url: str, model: EmbeddingModel = MODEL) -> None:
    async with await connect(url) as conn:
        await migrations.migrate(conn, model, checkpoints=True)


async def nothing_is_wrong(url: str) -> None:
    async with await connect(url) as conn:
        row = await (await conn.execute(WRONG)).fetchone()
        assert row is not None
        assert set(row.values()) == {0}, row


async def test_it_goes_on_where_it_was_killed_and_what_was_written_between_is_whole(
    before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish, patiently = migration_steps._finish, migration_steps.patiently
    interrupted: set[int] = set()
    left: set[str] = set()
    steps = migration_steps.steps_of(dict(migrations.MIGRATIONS)[22])

    async def before_it_is_recorded(conn: Any, number: int, place: int) -> None:
        await finish(conn, number, place)
        if place not in interrupted:
            interrupted.add(place)
            raise KilledError

    async def after_a_transaction(conn: Any, queue: Any, work: Any) -> Any:
        await patiently(conn, queue, work)
        raise KilledError

    monkeypatch.setattr(migration_steps, "_finish", before_it_is_recorded)
    monkeypatch.setattr(migration_steps, "patiently", after_a_transaction)
    vector = str(MODEL.embeddings.embed_query("green tea"))
    async with await connect(before) as conn, stock_store(before, MODEL) as stock:
        for killed in itertools.count():
            try:
                await bring_up_to_date(before)
                break
            except KilledError:
                assert killed < 60, "it begins again from the start"
            # over what was there and anew, by both
            await write(conn, f"memory.u{killed % OWNERS}.dialog", [f"k{killed}", f"new{killed}"], "a kettle", vector)
            await stock.aput(("app", "u0", "notes"), f"k{killed}", {"text": "white tea"})
            if killed % 2:
                await delete(conn, f"memory.u{(killed - 1) % OWNERS}.dialog", [f"new{killed - 1}"])
                await stock.adelete(("app", "u0", "notes"), f"k{killed - 1}")
            row = await (await conn.execute(_STEP)).fetchone()
            assert row is not None
            kind, sql = steps[row["step"]] if row["step"] < len(steps) else ("", "")
            if kind == "index" and row["step"] % 2:
                # as an index is left that was being built
                built = sql.partition("CONCURRENTLY ")[2].split()[0]
                invalid = "UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = to_regclass(%s)"
                if built not in left:
                    left.add(built)
                    await conn.execute(invalid, (built,))
        assert left
        assert interrupted == set(range(len(steps)))
        await nothing_is_wrong(before)
        rows = await (await conn.execute("SELECT key FROM store WHERE key LIKE 'new%'")).fetchall()
        assert {row["key"] for row in rows} >= {f"new{number}" for number in range(1, killed, 2)}
    monkeypatch.undo()
    async with open_memory_store(before, MODEL) as store:
        await store.aput(("memory", "u1", "dialog"), "k1", {"text": "the red car"})
        assert [hit.key for hit in await store.asearch(("memory", "u1"), query="the red car", limit=1)] == ["k1"]
        async with await connect(before) as conn:
            row = await (await conn.execute("SELECT count(words) AS words FROM store_vectors")).fetchone()
            assert row is not None
            assert row["words"]


async def test_who_holds_a_table_is_waited_for_without_stopping_the_others(
    before: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = asyncio.Event()

    class Waits(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            waits.set()

    handler = Waits()
    migration_steps.log.addHandler(handler)
    try:
        async with await connect(before) as reader, await connect(before) as other:
            async with reader.transaction():
                await reader.execute("SELECT count(*) FROM store_vectors")
                migrating = asyncio.create_task(bring_up_to_date(before))
                await waits.wait()
                await other.execute("SET statement_timeout = '5s'")
                await write(other, "memory.u1.dialog", ["k1"], "tea", str(MODEL.embeddings.embed_query("tea")))
                assert not migrating.done()
            await migrating
    finally:
        migration_steps.log.removeHandler(handler)
    await nothing_is_wrong(before)


async def test_several_processes_do_it_together_while_others_write(before: str) -> None:
    vector = str(MODEL.embeddings.embed_query("green tea"))
    done, written = asyncio.Event(), 0

    async def go_on_writing() -> None:
        nonlocal written
        async with await connect(before) as conn, stock_store(before, MODEL) as stock:
            while not done.is_set():
                # what was there before, and something new
                prefix = f"memory.u{written % OWNERS}.dialog"
                await write(conn, prefix, [f"k{written % OWNERS}", f"new{written}"], "a kettle", vector)
                await stock.aput(("app", "u0", "notes"), f"k{written}", {"text": "white tea"})
                if written % 5 == 0:
                    await delete(conn, prefix, [f"new{written}"])
                written += 1

    writing = asyncio.create_task(go_on_writing())
    await asyncio.gather(*(bring_up_to_date(before) for _ in range(3)))
    done.set()
    await writing
    assert written
    await nothing_is_wrong(before)
    # who comes late, still with what it was to do, does nothing again
    async with await connect(before) as conn:
        await migration_steps.run_steps(conn, 22, dict(migrations.MIGRATIONS)[22])
    await nothing_is_wrong(before)
