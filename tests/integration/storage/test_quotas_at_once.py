"""Processes that use up one user's quota at once get together exactly what there is, also where memory is sealed."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from react_mem.memory.model.policy import QuotaSettings
from react_mem.memory.store import room as counting
from tests.support.databases import open_memory_store, word_model
from tests.support.taking import take

LIMIT = 20


async def another_process(url: str, wanted: int, sealing: str) -> asyncio.subprocess.Process:
    """Start a process that will take messages, and return when it is about to."""
    command = [sys.executable, "-m", "tests.support.taking", url, str(LIMIT), str(wanted), sealing]
    process = await asyncio.create_subprocess_exec(*command, stdin=-1, stdout=-1, stderr=-1)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    return process


async def taken_by(process: asyncio.subprocess.Process) -> int:
    out, err = await process.communicate(b"begin\n")
    assert process.returncode == 0, err.decode()
    return int(out)


@pytest.mark.parametrize("sealing", ["plain", "sealed"])
async def test_processes_at_once_get_together_what_there_is(database_url: str, sealing: str) -> None:
    async with open_memory_store(database_url, word_model(), sealed=sealing == "sealed"):
        pass
    # as many as there are, less one: neither uses it up alone
    processes = await asyncio.gather(*(another_process(database_url, LIMIT - 1, sealing) for _ in range(2)))
    got = await asyncio.gather(*map(taken_by, processes))
    assert sum(got) == LIMIT
    # and a process that comes later finds it used up
    assert await take(database_url, LIMIT, 3, sealed=sealing == "sealed") == 0


async def test_a_count_revises_no_index(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "now", lambda: datetime(2026, 3, 1, tzinfo=UTC))
    async with open_memory_store(database_url, word_model(), sealed=False) as store:
        await counting.take_message(store, "ann", QuotaSettings(messages_a_day=2))
        item: Any = await store.aget(("memory", "ann", "meta"), "quotas")
        assert item.value == {"day": "2026-03-01", "messages_a_day": 1}
        async with store.pool.connection() as conn:
            [row] = await (await conn.execute("SELECT count(*) AS vectors FROM store_vectors")).fetchall()
        assert row["vectors"] == 0
