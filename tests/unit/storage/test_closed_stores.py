"""What a store leaves behind in its event loop when it is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, cast

import pytest
from langgraph.store.base import Op, Result

from react_mem.memory.store import priority as lanes
from react_mem.memory.store.priority import LanedStore


class Answering(LanedStore):
    """A store that finds nothing; where it hangs, it does not even say so."""

    hangs = False

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        if self.hangs:
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        return [None for _ in ops]


@pytest.mark.parametrize("reads", [0, 1, 3])
async def test_a_closed_store_leaves_no_task_and_answers_what_waits(reads: int) -> None:
    before = asyncio.all_tasks()
    async with Answering(cast("Any", None)) as store:
        waiting = [asyncio.ensure_future(store.aget(("memory",), str(key))) for key in range(reads)]
        await asyncio.sleep(0)
    assert await asyncio.gather(*waiting) == [None] * reads
    assert asyncio.all_tasks() == before


async def test_a_store_that_hangs_is_closed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "_CLOSING_SECONDS", 0.01)
    before = asyncio.all_tasks()
    async with Answering(cast("Any", None)) as store:
        store.hangs = True
        waiting = asyncio.ensure_future(store.aget(("memory",), "1"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert asyncio.all_tasks() - before == {waiting}
    waiting.cancel()


async def test_a_store_that_is_used_again_after_its_end_answers() -> None:
    async with Answering(cast("Any", None)) as store:
        pass
    assert await store.aget(("memory",), "1") is None
    async with store:
        pass
